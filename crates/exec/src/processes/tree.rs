//! A process and all its descendants: found even if they left their parents, their group or their
//! session.
//!
//! An orphaned process is given to the nearest ancestor registered for orphans: the one starting all processes (see
//! [`adopt`]). Its tree is identified by its session, by a mark in its environment, or, if it dropped both, because no
//! other tree lived when it started.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitOptions};

use wf_core::machine::LeftProcess;

mod left;
mod pause;

pub(super) use left::has_adopted;
pub use left::{adopt, reap_adopted, running};
pub(crate) use left::{boot_id, detach};
pub(super) use pause::PauseGuard;

/// The variable that marks every process of one tree.
pub const MARK_VARIABLE: &str = "WF_TREE";

/// The number of bytes read of a process' status: enough to include the last field used.
const STAT_BYTES: usize = 512;

/// The maximum number of searches for killed processes, and the pause in between.
const MAX_SEARCHES: usize = 200;
const SEARCH_PAUSE: Duration = Duration::from_millis(5);

/// The maximum number of looks for the environment of a process beginning another program, and the pause in between.
const MAX_LOOKS: usize = 5;
const LOOK_PAUSE: Duration = Duration::from_millis(1);

/// True if orphaned descendants are reparented to this process.
static ADOPTS_ORPHANS: AtomicBool = AtomicBool::new(false);

/// The processes this one started, and not yet ended.
static PROCESS_ROOTS: Mutex<BTreeMap<i32, ProcessRoot>> = Mutex::new(BTreeMap::new());

/// The counter that numbers the process trees of this process.
static STARTED_COUNTER: AtomicU64 = AtomicU64::new(1);

/// The root of a process tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessRoot {
    /// The process that was started, the leader of a session and a group.
    pub(super) pid: i32,
    /// Its start time in clock ticks since boot.
    pub(super) start: u64,
    /// The value of [`MARK_VARIABLE`] in its environment.
    pub(super) mark: String,
}

/// A living process, as reported by the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivingProcess {
    /// The process id.
    pub pid: i32,
    /// True if it has exited and was not reaped.
    pub zombie: bool,
    parent: i32,
    group: i32,
    session: i32,
    /// The start time in clock ticks since boot.
    pub(super) start: u64,
}

impl ProcessRoot {
    /// Registers a process that was just started, with its start time, if known.
    pub(super) fn new(pid: Pid, start: Option<u64>, mark: &str) -> Self {
        let pid = pid.as_raw_nonzero().get();
        let start = start.or_else(|| process_by_id(pid).map(|process| process.start));
        let start = start.unwrap_or(0);
        let root = Self { pid, start, mark: mark.to_owned() };
        roots(|roots| roots.insert(pid, root.clone()));
        root
    }

    /// Records the exit of the process itself, whose number may be reused soon.
    pub(super) fn note_exit(&self) {
        roots(|roots| roots.remove(&self.pid));
    }

    /// Returns the living processes of the tree, its root included.
    pub(super) fn members(&self) -> Vec<LivingProcess> {
        self.among(&all_processes())
    }

    /// True if no process of the tree lives, after the exit of its root. Usually this takes one
    /// system call.
    pub(super) fn is_gone(&self) -> bool {
        if ADOPTS_ORPHANS.load(Ordering::Relaxed) && !has_children() {
            return true;
        }
        let mut seen = BTreeSet::new();
        // A process may have started another one and exited while it was looked at.
        for _ in 0..MAX_SEARCHES {
            let new: Vec<i32> =
                later_than(self.pid).into_iter().filter(|number| seen.insert(*number)).collect();
            if new.is_empty() {
                return true;
            }
            let processes: Vec<LivingProcess> = new.into_iter().filter_map(process_by_id).collect();
            if !self.among(&processes).is_empty() {
                return false;
            }
        }
        false
    }

    /// Sends a signal to all living processes of the tree. A process that is just being started may
    /// be missed, so a caller that kills must look again.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.pid) {
            // A missing group needs no signal, so failure does not matter.
            let _ = rustix::process::kill_process_group(group, signal);
        }
        for member in self.members() {
            if member.group != self.pid {
                member.signal(signal);
            }
        }
    }

    fn among(&self, processes: &[LivingProcess]) -> Vec<LivingProcess> {
        let mut others = roots(|roots| roots.clone());
        others.remove(&self.pid);
        let me = rustix::process::getpid().as_raw_nonzero().get();
        reap(processes, me, &others, self.pid);
        let view = TreeMembership {
            processes,
            root: self,
            others: &others,
            me,
            adopts: ADOPTS_ORPHANS.load(Ordering::Relaxed),
        };
        view.members(&settled_mark_of)
    }
}

impl LivingProcess {
    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Returns a unique mark for a process tree of this process.
pub(crate) fn own_mark() -> String {
    let number = STARTED_COUNTER.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id())
}

/// Kills every process whose mark matches, except for some, and what they started.
pub fn kill_marked(wanted: impl Fn(&str) -> bool, spared_processes: &[LeftProcess]) {
    let is_marked = |process: &LivingProcess| mark_of(process.pid).is_some_and(|mark| wanted(&mark));
    let is_spared = |candidate: &LivingProcess| {
        spared_processes
            .iter()
            .any(|other| (other.pid, other.start_ticks) == (candidate.pid, candidate.start))
    };
    kill_all(|| left::without_trees(processes_where(&is_marked), &is_spared));
}

/// Terminates all adopted processes that do not outlive this one: first by request, then by a kill after the grace period.
pub fn end_the_rest(grace: Duration) {
    if !ADOPTS_ORPHANS.load(Ordering::Relaxed) || !has_children() {
        return;
    }
    for process in &descendants() {
        process.signal(Signal::TERM);
    }
    let rounds = grace.as_millis() / SEARCH_PAUSE.as_millis().max(1);
    for _ in 0..rounds {
        if descendants().is_empty() {
            return;
        }
        std::thread::sleep(SEARCH_PAUSE);
    }
    kill_all(descendants);
}

/// Returns all living descendants of this process and reaps orphaned zombies.
fn descendants() -> Vec<LivingProcess> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let processes = all_processes();
    reap(&processes, me, &BTreeMap::new(), me);
    let below =
        closure_of(&processes, |process, below| process.parent == me || below.contains(&process.parent));
    let others = left::without_detached(processes);
    others.into_iter().filter(|process| !process.zombie && below.contains(&process.pid)).collect()
}

/// Returns the smallest set of processes closed under a membership rule.
fn closure_of(
    processes: &[LivingProcess],
    belongs: impl Fn(&LivingProcess, &BTreeSet<i32>) -> bool,
) -> BTreeSet<i32> {
    let mut inside = BTreeSet::new();
    loop {
        let before = inside.len();
        for process in processes {
            if !inside.contains(&process.pid) && belongs(process, &inside) {
                inside.insert(process.pid);
            }
        }
        if inside.len() == before {
            return inside;
        }
    }
}

/// Kills all processes of a session whose leader has this start time.
pub fn kill_session(leader: i32, start: u64) {
    // The number may belong to another process and its session by now.
    if process_by_id(leader).is_none_or(|now| now.start == start) {
        let is_of_session = |process: &LivingProcess| process.session == leader && process.start >= start;
        kill_all(|| processes_where(&is_of_session));
    }
}

fn processes_where(wanted: &dyn Fn(&LivingProcess) -> bool) -> Vec<LivingProcess> {
    let living = all_processes().into_iter().filter(|process| !process.zombie);
    living.filter(|process| wanted(process)).collect()
}

/// Kills all processes found, and searches again until there are none: a killed process may have
/// been starting another one.
pub(super) fn kill_all(find: impl Fn() -> Vec<LivingProcess>) {
    for _ in 0..MAX_SEARCHES {
        let processes = find();
        if processes.is_empty() {
            return;
        }
        for process in &processes {
            process.signal(Signal::KILL);
        }
        std::thread::sleep(SEARCH_PAUSE);
    }
}

/// The facts deciding membership.
struct TreeMembership<'a> {
    processes: &'a [LivingProcess],
    root: &'a ProcessRoot,
    others: &'a BTreeMap<i32, ProcessRoot>,
    me: i32,
    /// True if orphaned descendants are reparented to this process; otherwise they can be anywhere.
    adopts: bool,
}

impl TreeMembership<'_> {
    fn members(&self, mark: &dyn Fn(i32) -> Option<String>) -> Vec<LivingProcess> {
        let inside = closure_of(self.processes, |process, inside| self.belongs(process, inside, mark));
        let living = self.processes.iter().filter(|process| !process.zombie);
        living.filter(|process| inside.contains(&process.pid)).cloned().collect()
    }

    fn belongs(
        &self,
        process: &LivingProcess,
        inside: &BTreeSet<i32>,
        mark: &dyn Fn(i32) -> Option<String>,
    ) -> bool {
        let root = self.root;
        if process.pid == self.me || self.others.contains_key(&process.pid) {
            return false;
        }
        // A process that started before the root has a reused number.
        if process.start < root.start {
            return false;
        }
        let [pid, group, session] = [process.pid, process.group, process.session];
        if pid == root.pid || group == root.pid || session == root.pid {
            return true;
        }
        if inside.contains(&process.parent) {
            return true;
        }
        if self.adopts && process.parent != self.me || self.others.contains_key(&process.session) {
            return false;
        }
        match mark(process.pid) {
            Some(mark) => mark == root.mark,
            None => self.adopts && self.others.values().all(|root| root.start > process.start),
        }
    }
}

/// Reaps adopted processes no other code waits for.
fn reap(processes: &[LivingProcess], me: i32, others: &BTreeMap<i32, ProcessRoot>, root: i32) {
    for dead in processes.iter().filter(|process| process.zombie && process.parent == me) {
        if dead.pid != root && !others.contains_key(&dead.pid) {
            let _ = rustix::process::waitpid(Pid::from_raw(dead.pid), WaitOptions::NOHANG);
        }
    }
}

fn roots<T>(with: impl FnOnce(&mut BTreeMap<i32, ProcessRoot>) -> T) -> T {
    with(&mut crate::runtime::lock_mutex(&PROCESS_ROOTS))
}

/// Returns the number of processes this one started, and not yet exited.
pub(super) fn under_way() -> usize {
    roots(|roots| roots.len())
}

/// True if this process has a child, living or zombie.
pub fn has_children() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

/// Returns every visible process, including zombies.
pub fn all_processes() -> Vec<LivingProcess> {
    numbers().into_iter().filter_map(process_by_id).collect()
}

/// Returns the numbers of processes later than a given one; all if they have wrapped around since.
fn later_than(pid: i32) -> Vec<i32> {
    let last = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last = last.split_whitespace().next_back().and_then(|last| last.parse().ok());
    let began_anew = last.is_none_or(|last: i32| last < pid);
    numbers().into_iter().filter(|number| began_anew || *number > pid).collect()
}

fn numbers() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Returns a process by its number.
pub fn process_by_id(pid: i32) -> Option<LivingProcess> {
    // One system call: the fields used are at the start.
    let mut stat = [0; STAT_BYTES];
    let length =
        fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut stat)).ok()?;
    parse_stat(pid, &String::from_utf8_lossy(stat.get(..length)?))
}

/// Parses a line of `/proc/<id>/stat`: `id (name) state parent group session …`. The name may
/// contain any character.
fn parse_stat(pid: i32, stat: &str) -> Option<LivingProcess> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let state = fields.next()?;
    let mut number = |skip: usize| fields.nth(skip)?.parse::<i64>().ok();
    let small = |number: i64| i32::try_from(number).ok();
    let (parent, group, session) = (number(0)?, number(0)?, number(0)?);
    let (threads, start) = (number(13)?, number(1)?);
    Some(LivingProcess {
        pid,
        // A process whose first thread has exited lives on in the others.
        zombie: matches!(state, "Z" | "X") && threads <= 1,
        parent: small(parent)?,
        group: small(group)?,
        session: small(session)?,
        start: u64::try_from(start).ok()?,
    })
}

/// Returns the mark in the environment of a process. `None` if it changed its environment or may
/// not be inspected.
pub fn mark_of(pid: i32) -> Option<String> {
    mark_in(&environment_of(pid)?)
}

/// Does the same, and waits shortly for a process that is just beginning another program: it has no environment then.
fn settled_mark_of(pid: i32) -> Option<String> {
    for _ in 0..MAX_LOOKS {
        let environ = environment_of(pid)?;
        if !environ.is_empty() {
            return mark_in(&environ);
        }
        std::thread::sleep(LOOK_PAUSE);
    }
    None
}

fn environment_of(pid: i32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ")).ok()
}

fn mark_in(environ: &[u8]) -> Option<String> {
    let mut variables = environ.split(|byte| *byte == 0);
    let mark = variables.find_map(|variable| {
        let value = variable.strip_prefix(MARK_VARIABLE.as_bytes())?;
        value.strip_prefix(b"=")
    })?;
    Some(String::from_utf8_lossy(mark).into_owned())
}

#[cfg(test)]
mod tests;
