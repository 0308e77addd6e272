//! A pause of what steps left running, while something looks at the workspace.

use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::left::left;
use super::{Living, living};
use crate::exec::Unable;

/// How often it is looked for what still goes on, and the time in between.
const ROUNDS: usize = 250;
const SOON: Duration = Duration::from_millis(2);

static PAUSED: Mutex<Paused> = Mutex::new(Paused {
    looks: 0,
    stopped: Vec::new(),
});

/// What this process has stopped, and for how many.
struct Paused {
    looks: usize,
    stopped: Vec<Living>,
}

/// Everything that steps left running stands still for as long as one of these lives. What is at work, and what
/// it starts, goes on.
#[derive(Debug)]
pub(in crate::exec) struct Pause(());

impl Pause {
    /// Stops it all. Fails if something of it does not stand still, since it starts others faster than they are found.
    ///
    /// What may not be signalled, because it has become another user, is left alone.
    pub(in crate::exec) async fn begin() -> Result<Self, Unable> {
        paused(|paused| paused.looks += 1);
        // From here on, whatever happens, its end lets go on what was stopped.
        let pause = Self(());
        for _ in 0..ROUNDS {
            let mut moving = left();
            moving.retain(|one| !is_still(one) && stop(one));
            if moving.is_empty() {
                return Ok(pause);
            }
            tokio::time::sleep(SOON).await;
        }
        Err(Unable::environmental(
            "what steps left running cannot be stopped for the check: it starts processes all the time",
        ))
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        let stopped = paused(|paused| {
            paused.looks -= 1;
            let ends = paused.looks == 0;
            ends.then(|| std::mem::take(&mut paused.stopped))
        });
        for one in stopped.into_iter().flatten() {
            if living(one.pid).is_some_and(|now| now.start == one.start) {
                one.signal(Signal::CONT);
            }
        }
    }
}

/// Stops a process; false: it is gone, or may not be stopped.
fn stop(one: &Living) -> bool {
    let Some(pid) = Pid::from_raw(one.pid) else {
        return false;
    };
    paused(|paused| {
        if !paused.stopped.contains(one) {
            paused.stopped.push(one.clone());
        }
    });
    !matches!(
        rustix::process::kill_process(pid, Signal::STOP),
        Err(Errno::PERM | Errno::SRCH)
    )
}

/// Whether no thread of a process executes anything before it is told to go on: it is stopped or has ended, or the
/// system does something for it and will stop it then.
fn is_still(one: &Living) -> bool {
    let is_told = paused(|paused| paused.stopped.contains(one));
    let still = if is_told { "TtZXD" } else { "TtZX" };
    let threads = fs::read_dir(format!("/proc/{}/task", one.pid)).into_iter();
    threads.flatten().flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        state.is_none_or(|state| still.contains(state))
    })
}

fn paused<T>(with: impl FnOnce(&mut Paused) -> T) -> T {
    with(&mut PAUSED.lock().unwrap_or_else(PoisonError::into_inner))
}
