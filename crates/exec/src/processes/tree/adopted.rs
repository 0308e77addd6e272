//! The adopted processes: orphaned descendants now children of this process.

use std::fs;
use std::sync::atomic::Ordering;

use rustix::process::{Pid, WaitOptions};

use super::{ADOPTS_ORPHANS, has_children, roots};

/// Registers this process as the parent of all orphaned descendants, so they can be found. Returns false if the system
/// does not support that.
pub fn adopt() -> bool {
    let done = rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    ADOPTS_ORPHANS.store(done, Ordering::Relaxed);
    done
}

/// True if this process has a child it did not start itself, such as a step's background process. This reads one short
/// file.
pub(crate) fn has_adopted() -> bool {
    if !ADOPTS_ORPHANS.load(Ordering::Relaxed) {
        return false;
    }
    let me = std::process::id();
    let Ok(children) = fs::read_to_string(format!("/proc/self/task/{me}/children")) else {
        return has_children();
    };
    let own = roots(|roots| roots.clone());
    let mut children = children.split_whitespace().filter_map(|id| id.parse().ok());
    children.any(|child: i32| !own.contains_key(&child))
}

/// Reaps adopted processes, up to the first zombie that other code waits for.
pub fn reap_adopted() {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    loop {
        let dead = waitid(Id::All, look).ok().as_ref().and_then(WaitStatus::pid);
        let Some(dead) = dead.map(nix::unistd::Pid::as_raw) else {
            return;
        };
        if roots(|roots| roots.contains_key(&dead)) {
            return;
        }
        let _ = rustix::process::waitpid(Pid::from_raw(dead), WaitOptions::NOHANG);
    }
}
