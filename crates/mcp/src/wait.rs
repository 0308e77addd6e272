use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

/// The wish of a client that a call ends, and the process to exit then.
#[derive(Debug, Default)]
pub(crate) struct CallStop {
    state: Mutex<StopWish>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct StopWish {
    /// The call is not to wait any longer.
    hurries: bool,
    /// Nobody wants the answer.
    cancels: bool,
    pid: Option<Pid>,
}

impl CallStop {
    /// Ends the call: its process is asked to exit.
    pub(crate) fn cancel(&self) {
        let mut state = self.lock();
        state.cancels = true;
        state.hurries = true;
        if let Some(pid) = state.pid {
            let _ = kill_process(pid, Signal::TERM);
        }
        self.changed.notify_all();
    }

    /// Lets the call answer without waiting.
    pub(crate) fn hurry(&self) {
        self.lock().hurries = true;
        self.changed.notify_all();
    }

    /// True if nobody wants the answer.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.lock().cancels
    }

    /// Names the process working for the call, which is not waited for yet; `None`: there is no longer one.
    pub(crate) fn watch(&self, pid: Option<Pid>) {
        let mut state = self.lock();
        state.pid = pid;
        if let (true, Some(pid)) = (state.cancels, pid) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Waits; returns false if the call is not to wait any longer.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), time, |state| !state.hurries);
        !waited.unwrap_or_else(PoisonError::into_inner).0.hurries
    }

    fn lock(&self) -> MutexGuard<'_, StopWish> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
