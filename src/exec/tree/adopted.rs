//! What lost its parent, and came to this process.

use std::fs;
use std::sync::atomic::Ordering;

use rustix::process::{Pid, WaitOptions};

use super::{ADOPTS, has_children, roots};

/// Lets everything that loses its parent come to this process, so that it can be found. Says
/// whether the system does that.
pub fn adopt() -> bool {
    let done = rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    ADOPTS.store(done, Ordering::Relaxed);
    done
}

/// Whether something came to this process that it did not start itself: what a step put into the
/// background, perhaps. One short file tells it.
pub(in crate::exec) fn has_adopted() -> bool {
    if !ADOPTS.load(Ordering::Relaxed) {
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

/// Asks for the ends of those that came to this process, as far as nobody else has to ask about
/// another one first.
pub fn reap_adopted() {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    loop {
        let dead = waitid(Id::All, look)
            .ok()
            .as_ref()
            .and_then(WaitStatus::pid);
        let Some(dead) = dead.map(nix::unistd::Pid::as_raw) else {
            return;
        };
        if roots(|roots| roots.contains_key(&dead)) {
            return;
        }
        let _ = rustix::process::waitpid(Pid::from_raw(dead), WaitOptions::NOHANG);
    }
}
