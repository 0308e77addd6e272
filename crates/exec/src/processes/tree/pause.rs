//! A pause of the processes that steps left running, while a check looks at the workspace.

use std::{fs, sync::Mutex, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, Signal},
};

use super::{LivingProcess, left::orphaned_descendants, process_by_id};
use crate::work_error::WorkError;

/// The maximum number of searches for running processes, and the time in between.
const MAX_SEARCHES: usize = 250;
const SEARCH_PAUSE: Duration = Duration::from_millis(2);

static PAUSED_PROCESSES: Mutex<PausedProcesses> =
    Mutex::new(PausedProcesses { pauses: 0, stopped_processes: Vec::new() });

/// The stopped processes, and the number of their pauses.
struct PausedProcesses {
    pauses: usize,
    stopped_processes: Vec<LivingProcess>,
}

/// A guard: while one exists, all processes that steps left running are stopped. Processes at work
/// and their descendants continue.
#[derive(Debug)]
pub(crate) struct PauseGuard(());

impl PauseGuard {
    /// Stops them all. Fails if some keep running because they start others faster than they are found.
    ///
    /// Processes of another user, which cannot be signalled, are left alone.
    pub(crate) async fn begin() -> Result<Self, WorkError> {
        with_paused(|paused| paused.pauses += 1);
        // From here on, dropping it resumes the stopped processes in any case.
        let pause = Self(());
        for _ in 0..MAX_SEARCHES {
            let mut moving = orphaned_descendants();
            moving.retain(|process| !is_still(process) && stop(process));
            if moving.is_empty() {
                return Ok(pause);
            }
            tokio::time::sleep(SEARCH_PAUSE).await;
        }
        Err(WorkError::environmental(
            "cannot pause background processes of earlier steps for the check: they keep \
             starting processes",
        ))
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        let stopped = with_paused(|paused| {
            paused.pauses -= 1;
            let ends = paused.pauses == 0;
            ends.then(|| std::mem::take(&mut paused.stopped_processes))
        });
        for process in stopped.into_iter().flatten() {
            if process_by_id(process.pid).is_some_and(|now| now.start == process.start) {
                process.signal(Signal::CONT);
            }
        }
    }
}

/// Stops a process; false: it is gone, or cannot be stopped.
fn stop(process: &LivingProcess) -> bool {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return false;
    };
    with_paused(|paused| {
        if !paused.stopped_processes.contains(process) {
            paused.stopped_processes.push(process.clone());
        }
    });
    !matches!(rustix::process::kill_process(pid, Signal::STOP), Err(Errno::PERM | Errno::SRCH))
}

/// True if no thread of a process runs before it is resumed: it is stopped or has exited, or is in
/// a system call after which it will stop.
fn is_still(process: &LivingProcess) -> bool {
    let is_told = with_paused(|paused| paused.stopped_processes.contains(process));
    let still = if is_told { "TtZXD" } else { "TtZX" };
    let threads = fs::read_dir(format!("/proc/{}/task", process.pid)).into_iter();
    threads.flatten().flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_none_or(|state| still.contains(state))
    })
}

fn with_paused<T>(with: impl FnOnce(&mut PausedProcesses) -> T) -> T {
    with(&mut crate::runtime::lock_mutex(&PAUSED_PROCESSES))
}
