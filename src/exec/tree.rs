//! What a process started, and what that started: found even where it left its parents, its
//! group or its session.
//!
//! A process that outlives its parent is given to the nearest ancestor that asked for such: the
//! one that starts all (see [`adopt`]). Whose it was is told by its session, by a mark in its
//! environment, or, where it threw both away, by nobody else having lived when it began.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};

mod adopted;
mod left;
mod pause;

pub(super) use adopted::has_adopted;
pub use adopted::{adopt, reap_adopted};
pub(super) use pause::Pause;

/// The variable that marks every process of one tree.
pub const MARK: &str = "WF_TREE";

/// How much of a process' status is read: more than comes before the last field that is looked at.
const STAT: usize = 512;

/// How often what was killed is looked for again, and the pause in between.
const ROUNDS: usize = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Whether what loses its parent comes to this process.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The processes that this one started and that have not ended.
static ROOTS: Mutex<BTreeMap<i32, Root>> = Mutex::new(BTreeMap::new());

/// Where a tree begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Root {
    /// The process that was started, which leads a session and a group.
    pub(super) pid: i32,
    /// When, in ticks since the boot.
    pub(super) start: u64,
    /// What its environment says in [`MARK`].
    pub(super) mark: String,
}

/// A living process, as the system tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Living {
    /// Its id.
    pub pid: i32,
    /// Whether it has ended and nobody has asked how.
    pub zombie: bool,
    parent: i32,
    group: i32,
    session: i32,
    /// When it began, in ticks since the boot.
    pub(super) start: u64,
}

impl Root {
    /// A process that was just started, and when, if that is known.
    pub(super) fn new(pid: Pid, start: Option<u64>, mark: &str) -> Self {
        let pid = pid.as_raw_nonzero().get();
        let start = start.or_else(|| living(pid).map(|process| process.start));
        let start = start.unwrap_or(0);
        let root = Self {
            pid,
            start,
            mark: mark.to_owned(),
        };
        roots(|roots| roots.insert(pid, root.clone()));
        root
    }

    /// The process itself has ended, and its number may be another's soon.
    pub(super) fn ended(&self) {
        roots(|roots| roots.remove(&self.pid));
    }

    /// What lives of the tree, its root included.
    pub(super) fn members(&self) -> Vec<Living> {
        self.among(&all())
    }

    /// Whether nothing lives of the tree, whose root has ended. Usually one question to the
    /// system answers that.
    pub(super) fn is_gone(&self) -> bool {
        if ADOPTS.load(Ordering::Relaxed) && !has_children() {
            return true;
        }
        self.among(&later_than(self.pid)).is_empty()
    }

    /// Sends a signal to all that lives of the tree. Nobody must be missed because it was just
    /// being started: who kills looks again.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(self.pid) {
            // A group that is gone needs no signal, so failure is no news.
            let _ = rustix::process::kill_process_group(group, signal);
        }
        for member in self.members() {
            if member.group != self.pid {
                member.signal(signal);
            }
        }
    }

    fn among(&self, all: &[Living]) -> Vec<Living> {
        let mut others = roots(|roots| roots.clone());
        others.remove(&self.pid);
        let me = rustix::process::getpid().as_raw_nonzero().get();
        reap(all, me, &others, self.pid);
        let view = View {
            all,
            root: self,
            others: &others,
            me,
            adopts: ADOPTS.load(Ordering::Relaxed),
        };
        view.members(&mark_of)
    }
}

impl Living {
    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Kills every process with a mark that is wanted.
pub fn kill_marked(wanted: impl Fn(&str) -> bool) {
    let wanted = |one: &Living| mark_of(one.pid).is_some_and(|mark| wanted(&mark));
    kill_all(|| those(&wanted));
}

/// Ends everything that came to this process: asks it to, and kills what has not ended in time.
pub fn end_the_rest(grace: Duration) {
    if !ADOPTS.load(Ordering::Relaxed) || !has_children() {
        return;
    }
    for one in &descendants() {
        one.signal(Signal::TERM);
    }
    let rounds = grace.as_millis() / PAUSE.as_millis().max(1);
    for _ in 0..rounds {
        if descendants().is_empty() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    kill_all(descendants);
}

/// Everything that lives below this process. The dead that nobody else asks about are asked.
fn descendants() -> Vec<Living> {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    let all = all();
    reap(&all, me, &BTreeMap::new(), me);
    let mut inside = BTreeSet::from([me]);
    loop {
        let below = all.iter().filter(|one| inside.contains(&one.parent));
        let more: Vec<i32> = below
            .map(|one| one.pid)
            .filter(|pid| !inside.contains(pid))
            .collect();
        if more.is_empty() {
            break;
        }
        inside.extend(more);
    }
    let living = |one: &Living| !one.zombie && one.pid != me && inside.contains(&one.pid);
    all.into_iter().filter(living).collect()
}

/// Kills what a session holds whose leader began at a certain time.
pub fn kill_session(leader: i32, start: u64) {
    // Another process may have the number by now, and its session with it.
    if living(leader).is_none_or(|now| now.start == start) {
        let wanted = |one: &Living| one.session == leader && one.start >= start;
        kill_all(|| those(&wanted));
    }
}

fn those(wanted: &dyn Fn(&Living) -> bool) -> Vec<Living> {
    let living = all().into_iter().filter(|one| !one.zombie);
    living.filter(|one| wanted(one)).collect()
}

/// Kills what is found, and looks again until nothing is: what was killed may have been starting
/// something.
pub(super) fn kill_all(find: impl Fn() -> Vec<Living>) {
    for _ in 0..ROUNDS {
        let found = find();
        if found.is_empty() {
            return;
        }
        for one in &found {
            one.signal(Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
}

/// What membership is decided from.
struct View<'a> {
    all: &'a [Living],
    root: &'a Root,
    others: &'a BTreeMap<i32, Root>,
    me: i32,
    /// Whether what loses its parent comes to this process; else it can be anywhere.
    adopts: bool,
}

impl View<'_> {
    fn members(&self, mark: &dyn Fn(i32) -> Option<String>) -> Vec<Living> {
        let mut inside: BTreeSet<i32> = BTreeSet::new();
        loop {
            let before = inside.len();
            for process in self.all {
                if !inside.contains(&process.pid) && self.belongs(process, &inside, mark) {
                    inside.insert(process.pid);
                }
            }
            if inside.len() == before {
                break;
            }
        }
        let living = self.all.iter().filter(|process| !process.zombie);
        living
            .filter(|process| inside.contains(&process.pid))
            .cloned()
            .collect()
    }

    fn belongs(
        &self,
        process: &Living,
        inside: &BTreeSet<i32>,
        mark: &dyn Fn(i32) -> Option<String>,
    ) -> bool {
        let root = self.root;
        if process.pid == self.me || self.others.contains_key(&process.pid) {
            return false;
        }
        // A number that was used again belongs to somebody who began before.
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

/// Asks for the ends of those that came to this process and of which nobody else knows.
fn reap(all: &[Living], me: i32, others: &BTreeMap<i32, Root>, root: i32) {
    for dead in all
        .iter()
        .filter(|process| process.zombie && process.parent == me)
    {
        if dead.pid != root && !others.contains_key(&dead.pid) {
            let _ = rustix::process::waitpid(Pid::from_raw(dead.pid), WaitOptions::NOHANG);
        }
    }
}

fn roots<T>(with: impl FnOnce(&mut BTreeMap<i32, Root>) -> T) -> T {
    with(&mut ROOTS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// How many processes this one started that have not ended.
pub(super) fn under_way() -> usize {
    roots(|roots| roots.len())
}

/// Whether this process has a child, be it a dead one.
pub fn has_children() -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::All, look), Err(rustix::io::Errno::CHILD))
}

/// Every process that can be seen, the dead that nobody asked about included.
pub fn all() -> Vec<Living> {
    numbers().into_iter().filter_map(living).collect()
}

/// Those with a number that was given after a certain one; all, where numbers began anew since.
fn later_than(pid: i32) -> Vec<Living> {
    let last = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last = last
        .split_whitespace()
        .next_back()
        .and_then(|last| last.parse().ok());
    let began_anew = last.is_none_or(|last: i32| last < pid);
    let numbers = numbers().into_iter();
    numbers
        .filter(|found| began_anew || *found > pid)
        .filter_map(living)
        .collect()
}

fn numbers() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// A process by its number.
pub fn living(pid: i32) -> Option<Living> {
    // One question to the system; what is looked at is in its beginning.
    let mut stat = [0; STAT];
    let length = fs::File::open(format!("/proc/{pid}/stat"))
        .and_then(|mut file| file.read(&mut stat))
        .ok()?;
    read(pid, &String::from_utf8_lossy(stat.get(..length)?))
}

/// Reads a line of `/proc/<id>/stat`: `id (name) state parent group session …`. The name may
/// contain anything.
fn read(pid: i32, stat: &str) -> Option<Living> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let state = fields.next()?;
    let mut number = |skip: usize| fields.nth(skip)?.parse::<i64>().ok();
    let small = |number: i64| i32::try_from(number).ok();
    let (parent, group, session) = (number(0)?, number(0)?, number(0)?);
    let (threads, start) = (number(13)?, number(1)?);
    Some(Living {
        pid,
        // A process whose first thread has ended lives in its others.
        zombie: matches!(state, "Z" | "X") && threads <= 1,
        parent: small(parent)?,
        group: small(group)?,
        session: small(session)?,
        start: u64::try_from(start).ok()?,
    })
}

/// What a process' environment says it belongs to. Who changed it, or may not be looked at, says
/// nothing.
pub fn mark_of(pid: i32) -> Option<String> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environ.split(|byte| *byte == 0);
    let mark = variables.find_map(|variable| {
        let value = variable.strip_prefix(MARK.as_bytes())?;
        value.strip_prefix(b"=")
    })?;
    Some(String::from_utf8_lossy(mark).into_owned())
}

#[cfg(test)]
mod tests;
