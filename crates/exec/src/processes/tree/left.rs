//! The processes that steps left running.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Mutex, atomic::Ordering},
};

use rustix::process::{Pid, WaitOptions};

use wf_base::redact::SecretMask;
use wf_core::machine::{LeftProcess, LeftProcesses};

use super::{
    ADOPTS_ORPHANS, LivingProcess, ProcessRoot, all_processes, closure_of, has_children, mark_of,
    process_by_id, roots,
};

/// Returns all living descendants belonging to no process started here and still running.
pub(super) fn orphaned_descendants() -> Vec<LivingProcess> {
    if !has_adopted() {
        return Vec::new();
    }
    let me = rustix::process::getpid().as_raw_nonzero().get();
    orphaned_among(&all_processes(), &roots(|roots| roots.clone()), me, &mark_of)
}

/// The longest kept command line, in characters.
const MAX_COMMAND_CHARS: usize = 200;

/// The processes outliving the run, as they were when their attempts ended.
static DETACHED: Mutex<Vec<LivingProcess>> = Mutex::new(Vec::new());

/// Sets processes apart, which outlive this process with all that they start. They leave its control group, which
/// ends with it.
pub(crate) fn detach(processes: &[LivingProcess]) {
    for process in processes {
        super::super::control_group::expel(process.pid);
    }
    crate::runtime::lock_mutex(&DETACHED).extend(processes.iter().cloned());
}

/// Removes the processes outliving this one, and all below them.
pub(super) fn without_detached(processes: Vec<LivingProcess>) -> Vec<LivingProcess> {
    let roots = crate::runtime::lock_mutex(&DETACHED).clone();
    without_trees(processes, &|process| {
        roots.iter().any(|root| (root.pid, root.start) == (process.pid, process.start))
    })
}

/// Removes some processes, and all below them.
pub(super) fn without_trees(
    mut processes: Vec<LivingProcess>,
    is_root: &dyn Fn(&LivingProcess) -> bool,
) -> Vec<LivingProcess> {
    let closure =
        closure_of(&processes, |process, inside| is_root(process) || inside.contains(&process.parent));
    processes.retain(|process| !closure.contains(&process.pid));
    processes
}

impl LivingProcess {
    /// Describes a process for the record: its command line may hold secrets, and anything else.
    pub(crate) fn describe(&self, masks: &[&SecretMask]) -> LeftProcess {
        let read = |name: &str| fs::read(format!("/proc/{}/{name}", self.pid)).unwrap_or_default();
        let mut command = read("cmdline");
        if command.is_empty() {
            command = read("comm");
        }
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let masked = masks.iter().fold(command.trim().to_owned(), |text, mask| mask.text(&text).into_owned());
        // It stands in one line of a log.
        let plain = masked.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        let command = plain.take(MAX_COMMAND_CHARS).collect();
        LeftProcess { pid: self.pid, start_ticks: self.start, command }
    }
}

/// Returns the identity of this boot; empty if it is unknown.
pub(crate) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns the living ones among the processes left by an attempt.
pub fn running(left: &LeftProcesses) -> Vec<&LeftProcess> {
    let lives = |process: &&LeftProcess| {
        let living = process_by_id(process.pid).filter(|now| !now.zombie);
        living.is_some_and(|now| now.start == process.start_ticks)
    };
    if left.boot_id == boot_id() { left.left.iter().filter(lives).collect() } else { Vec::new() }
}

/// Selects the same from a list of living processes.
pub(super) fn orphaned_among(
    processes: &[LivingProcess],
    roots: &BTreeMap<i32, ProcessRoot>,
    me: i32,
    mark: &dyn Fn(i32) -> Option<String>,
) -> Vec<LivingProcess> {
    let below = closure_of(processes, |one, below| one.parent == me || below.contains(&one.parent));
    let at_work = closure_of(processes, |one, at_work| {
        let is_of = |leader: i32| roots.get(&leader).is_some_and(|root| root.start <= one.start);
        let is_marked = || {
            let mark = mark(one.pid);
            roots.values().any(|root| mark.as_ref() == Some(&root.mark))
        };
        is_of(one.pid)
            || is_of(one.session)
            || at_work.contains(&one.parent)
            || below.contains(&one.pid) && is_marked()
    });
    let over = |process: &&LivingProcess| below.contains(&process.pid) && !at_work.contains(&process.pid);
    processes.iter().filter(over).cloned().collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_described_without_its_secrets_and_known_again() {
        let me = process_by_id(std::process::id().cast_signed()).unwrap();
        let whole = me.describe(&[]);
        assert!(!whole.command.is_empty() && whole.command.chars().count() <= MAX_COMMAND_CHARS);
        let secret: String = whole.command.chars().take(20).collect();
        let masked = me.describe(&[&SecretMask::new([secret.as_str()])]);
        assert!(!masked.command.contains(&secret), "{}", masked.command);
        let left = |boot_id: &str, start_ticks| LeftProcesses {
            left: vec![LeftProcess { start_ticks, ..whole.clone() }],
            boot_id: boot_id.to_owned(),
            ..LeftProcesses::default()
        };
        assert_eq!(running(&left(&boot_id(), me.start)).len(), 1);
        assert_eq!(running(&left(&boot_id(), me.start + 1)).len(), 0, "another process with its number");
        assert_eq!(running(&left("another boot", me.start)).len(), 0);
    }
}
