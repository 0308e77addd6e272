use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::cli::{Exit, Failure};

/// Long enough to hear what has come.
const MOMENT: Duration = Duration::from_millis(1);

/// Whether this process was told to end. A run that goes on hears that itself; this is for what lies
/// between two runs, where nobody else would: once a process has listened, no signal ends it.
#[derive(Debug)]
pub struct Told {
    runtime: Runtime,
    signals: [Signal; 3],
}

impl Told {
    /// Listens from now on.
    pub fn listen() -> Result<Self, Failure> {
        Self::to([
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ])
    }

    fn to([one, two, three]: [SignalKind; 3]) -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::State, format!("cannot listen to signals: {error}"))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let entered = runtime.enter();
        let signals = [
            signal(one).map_err(failed)?,
            signal(two).map_err(failed)?,
            signal(three).map_err(failed)?,
        ];
        drop(entered);
        Ok(Self { runtime, signals })
    }

    /// Whether it was told to end since this was asked before.
    pub fn was_told(&mut self) -> bool {
        let [one, two, three] = &mut self.signals;
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = one.recv() => true,
                _ = two.recv() => true,
                _ = three.recv() => true,
                () = tokio::time::sleep(MOMENT) => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::Told;
    use tokio::signal::unix::SignalKind;

    #[test]
    fn what_was_said_while_nobody_listened_is_heard_later() {
        // One that ends no other test.
        let kinds = [SignalKind::user_defined2(); 3];
        let mut told = Told::to(kinds).unwrap();
        assert!(!told.was_told());
        kill_process(getpid(), Signal::USR2).unwrap();
        // The system delivers it when it comes to it.
        assert!((0..10_000).any(|_| told.was_told()));
    }
}
