//! The queue for locks: which task of those waiting comes next.
//!
//! A task asking for locks gets a ticket, whose number the database gives out in the transaction recording the wait. So the
//! order of tickets is that of the commits, whatever the clocks of hosts say, and it is durable before anybody can see it. A
//! task has its turn when nobody holds one of its locks, and nobody with an earlier ticket waits for one. Tickets of dead
//! processes are passed over by the rule that frees the locks of dead holders. They keep their numbers: a run that is resumed
//! waits where it waited before.
//!
//! **Invariant:** waiting in order makes no circle. A step running a plan holds its lock while that plan's steps ask for theirs. So a
//! task goes before an earlier ticket with a wait, directly or behind others, for a lock of its own outermost run: to wait for that
//! one would be to wait for itself.

use std::collections::BTreeSet;

use crate::machine::{LockHolder, LockKey};
use wf_base::name::RunId;

/// A task with its locks, or waits for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockEntry {
    pub run: RunId,
    /// The outermost run around it.
    pub outermost: RunId,
    /// The task, as shown: `step[item]`.
    pub place: String,
    pub lock_keys: Vec<LockKey>,
    pub is_held: bool,
}

/// The task keeping another one from its locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockObstacle {
    /// The lock of the waiting task.
    pub key: LockKey,
    /// The task that has it, or comes before.
    pub holder: LockHolder,
    /// The outermost run around that task.
    pub outermost: RunId,
    /// The number of earlier tasks waiting for one of the same locks.
    pub ahead: usize,
}

/// The tasks that have locks or wait for them, in the order of their tickets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TicketQueue {
    /// The tasks.
    pub entries: Vec<LockEntry>,
}

impl LockKey {
    /// True if two tasks of different runs cannot have both at once: the same name, the same path, or a folder and something in it.
    fn excludes(&self, other: &Self) -> bool {
        let is_in = |path: &str, folder: &str| {
            path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        match (self, other) {
            (Self::Name(one), Self::Name(two)) => one == two,
            (Self::File(one), Self::File(two)) => is_in(one, two) || is_in(two, one),
            (Self::Name(_), Self::File(_)) | (Self::File(_), Self::Name(_)) => false,
        }
    }
}

impl LockEntry {
    /// Returns the first of its locks that excludes one of another task, which follows. Tasks of one run share files: its machine
    /// decides about them.
    pub fn contention<'a>(&'a self, other: &'a Self) -> Option<(&'a LockKey, &'a LockKey)> {
        let is_shared = |key: &LockKey| self.run == other.run && matches!(key, LockKey::File(_));
        self.lock_keys.iter().filter(|key| !is_shared(key)).find_map(|own| {
            let theirs = other.lock_keys.iter().find(|theirs| own.excludes(theirs))?;
            Some((own, theirs))
        })
    }
}

impl TicketQueue {
    /// Returns what keeps the task at a position from its locks: a holder, or else the first with an earlier ticket.
    pub fn obstacle(&self, position: usize) -> Option<LockObstacle> {
        let own = self.entries.get(position)?;
        let holders = self.entries.iter().filter(|other| other.is_held);
        let others = holders.chain(self.earlier(position).filter_map(|(at, other)| {
            let passes = self.waits_for(at, &own.outermost);
            (!passes).then_some(other)
        }));
        others.filter(|other| !std::ptr::eq(*other, own)).find_map(|other| {
            let (key, theirs) = own.contention(other)?;
            let (run, place) = (other.run.clone(), other.place.clone());
            let holder = LockHolder { key: theirs.clone(), run, place, waits: !other.is_held };
            let ahead = self.earlier(position).filter(|(_, other)| own.contention(other).is_some()).count();
            Some(LockObstacle { key: key.clone(), holder, outermost: other.outermost.clone(), ahead })
        })
    }

    /// Returns the tasks that wait with earlier tickets than one.
    fn earlier(&self, position: usize) -> impl Iterator<Item = (usize, &LockEntry)> {
        self.entries.iter().enumerate().take(position).filter(|(_, other)| !other.is_held)
    }

    /// True if a task in the queue may be waiting for a holder of an outermost run, directly or behind
    /// others.
    fn waits_for(&self, position: usize, outermost: &RunId) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![position]);
        while let Some(at) = open.pop() {
            let Some(own) = self.entries.get(at).filter(|_| seen.insert(at)) else { continue };
            let blocks = |other_entry: &LockEntry| own.contention(other_entry).is_some();
            open.extend(self.earlier(at).filter(|(_, other)| blocks(other)).map(|(at, _)| at));
            for holder in self.entries.iter().filter(|other| other.is_held && blocks(other)) {
                if holder.outermost == *outermost {
                    return true;
                }
                // The holder may be waiting for what its plan waits for.
                let waits = |entry: &LockEntry| !entry.is_held && entry.outermost == holder.outermost;
                let all = self.entries.iter().enumerate();
                open.extend(all.filter(|(_, entry)| waits(entry)).map(|(at, _)| at));
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u8) -> RunId {
        RunId::from_bytes([number; 16])
    }

    /// A task of a run, with the locks and files that it asks for: a file has a slash.
    fn entry(number: u8, keys: &[&str], is_held: bool) -> LockEntry {
        let key = |key: &&str| match key.strip_prefix('/') {
            Some(path) => LockKey::File(path.into()),
            None => LockKey::Name((*key).into()),
        };
        let lock_keys = keys.iter().map(key).collect();
        LockEntry { run: run(number), outermost: run(number), place: "a".into(), lock_keys, is_held }
    }

    /// The runs that the tasks wait for: zero for a task that may proceed.
    fn obstacles(entries: &[LockEntry]) -> Vec<u8> {
        let queue = TicketQueue { entries: entries.to_vec() };
        let numbers = (0..entries.len()).filter(|at| !entries[*at].is_held).map(|at| {
            let found = queue.obstacle(at);
            found.map_or(0, |found| (1..9).find(|number| run(*number) == found.holder.run).unwrap())
        });
        numbers.collect()
    }

    #[test]
    fn a_holder_comes_first_and_then_the_earliest_ticket() {
        let all = |is_held| [entry(1, &["db"], is_held), entry(2, &["db"], false), entry(3, &["db"], false)];
        assert_eq!(obstacles(&all(true)), [1, 1]);
        assert_eq!(obstacles(&all(false)), [0, 1, 1]);
        let queue = TicketQueue { entries: all(false).to_vec() };
        let found = queue.obstacle(2).unwrap();
        assert!(found.holder.waits && found.ahead == 2 && found.key == LockKey::Name("db".into()));
    }

    #[test]
    fn nobody_passes_a_task_that_waits_for_several_locks() {
        let mut all =
            vec![entry(1, &["db"], true), entry(2, &["db", "/out"], false), entry(3, &["/out/a"], false)];
        assert_eq!(obstacles(&all), [1, 2]);
        all.push(entry(4, &["/other"], false));
        assert_eq!(obstacles(&all), [1, 2, 0], "what it does not need is free");
    }

    #[test]
    fn names_and_paths_exclude_each_other_by_what_they_are() {
        let held = entry(1, &["db", "/out/a"], true);
        let free = |keys: &[&str]| obstacles(&[held.clone(), entry(2, keys, false)]) == [0];
        assert!(free(&["out", "/db", "/out/a.old", "/out/b"]));
        assert!(["/out", "/out/a", "/out/a/b", "db"].iter().all(|key| !free(&[key])));
        let mut own = entry(1, &["/out/a"], false);
        own.place = "b".into();
        assert_eq!(obstacles(&[held, own]), [0], "a run shares its files");
    }

    #[test]
    fn what_a_holder_runs_does_not_wait_behind_those_who_wait_for_that_holder() {
        // A step of run 1 holds `db` and runs plan 4, which needs a file that run 2 has asked for, together with `db`.
        let inner = LockEntry { outermost: run(1), ..entry(4, &["/out"], false) };
        let mut all = vec![entry(1, &["db"], true), entry(2, &["db", "/out"], false), inner];
        assert_eq!(obstacles(&all), [1, 0]);
        // The same, if run 3 stands between them.
        all[0] = entry(1, &["door"], true);
        all.insert(1, entry(3, &["door", "db"], false));
        assert_eq!(obstacles(&all), [1, 3, 0]);
        all[0].lock_keys = vec![LockKey::Name("other".into())];
        assert_eq!(obstacles(&all), [0, 3, 2], "nothing waits for run 1");
    }

    #[test]
    fn the_items_of_a_run_do_not_pass_a_run_that_came_between_them() {
        let all = [
            entry(1, &["db"], true),
            entry(1, &["db"], false),
            entry(2, &["db"], false),
            LockEntry { place: "b".into(), ..entry(1, &["db"], false) },
        ];
        assert_eq!(obstacles(&all), [1, 1, 1]);
        assert_eq!(obstacles(&all[1..]), [0, 1, 1]);
        assert_eq!(obstacles(&all[2..]), [0, 2]);
    }
}
