use std::time::Duration;

use tokio::{
    runtime::Runtime,
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{CliExitCode, CommandError};

/// Long enough to receive pending signals.
const SIGNAL_WAIT: Duration = Duration::from_millis(1);

/// A listener for requests to exit. A run in progress receives them itself; this is for the time
/// between two runs: once a process has listened, no signal ends it.
#[derive(Debug)]
pub struct SignalListener {
    runtime: Runtime,
    signals: [Signal; 3],
}

impl SignalListener {
    /// Listens from now on.
    pub fn listen() -> Result<Self, CommandError> {
        Self::for_signals([SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])
    }

    fn for_signals([one, two, three]: [SignalKind; 3]) -> Result<Self, CommandError> {
        let failed = |error: std::io::Error| {
            CommandError::new(CliExitCode::State, format!("cannot install a signal handler: {error}"))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let entered = runtime.enter();
        let signals =
            [signal(one).map_err(failed)?, signal(two).map_err(failed)?, signal(three).map_err(failed)?];
        drop(entered);
        Ok(Self { runtime, signals })
    }

    /// True if a request to exit arrived since the last call.
    pub fn exit_requested(&mut self) -> bool {
        self.exit_requested_within(SIGNAL_WAIT)
    }

    /// Waits for a request to exit since the last call; false if none arrives in time.
    pub fn exit_requested_within(&mut self, wait: Duration) -> bool {
        let [one, two, three] = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = one.recv() => true,
                _ = two.recv() => true,
                _ = three.recv() => true,
                () = tokio::time::sleep(wait) => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::SignalListener;
    use tokio::signal::unix::SignalKind;

    #[test]
    fn what_was_said_while_nobody_listened_is_heard_later() {
        // A signal that ends no other test.
        let kinds = [SignalKind::user_defined2(); 3];
        let mut signals = SignalListener::for_signals(kinds).unwrap();
        assert!(!signals.exit_requested());
        kill_process(getpid(), Signal::USR2).unwrap();
        // The system delivers it when it comes to it.
        assert!((0..10_000).any(|_| signals.exit_requested()));
    }
}
