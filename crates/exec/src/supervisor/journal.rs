//! The journal of a supervisor: requests and outcomes, for the engines after its own.

use std::{
    collections::BTreeSet,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use wf_base::failpoint;
use wf_core::machine::LeftProcess;

use super::RunAttempt;
use crate::work::attempt::ProcessOutcome;

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalLine {
    /// The supervisor started.
    Keeps {
        /// The process id of the supervisor.
        pid: i32,
        /// True if orphaned descendants are reparented to it; otherwise it finds them only by their
        /// sessions and marks.
        adopts: bool,
        /// The control group of its processes, if there is one.
        group: Option<PathBuf>,
    },
    /// An attempt is about to start.
    Begins {
        task: RunAttempt,
        /// The mark in the environment of its processes.
        mark: String,
    },
    /// The process of an attempt was started.
    Runs {
        task: RunAttempt,
        /// The process, the leader of a session.
        pid: i32,
        /// The start time in clock ticks since boot.
        start: u64,
    },
    /// The work of an attempt ended.
    Ended { task: RunAttempt, gone: ProcessOutcome },
}

/// The journal's record of one attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JournalRecord {
    /// The mark in the environment of its processes.
    pub mark: String,
    /// The process and its start time, if it was started.
    pub process: Option<(i32, u64)>,
    /// The outcome of its work, if it has ended.
    pub outcome: Option<ProcessOutcome>,
}

/// The record of starts and outcomes a supervisor writes. Lines are not synced: they must survive the death of a
/// process, not of the machine.
#[derive(Debug)]
pub struct SupervisorJournal(File);

impl SupervisorJournal {
    /// Opens a journal for appending.
    pub fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new().create(true).append(true).open(path).map(Self)
    }

    /// Appends a line.
    pub fn write_line(&mut self, note: &JournalLine) -> io::Result<()> {
        let mut line = serde_json::to_vec(note)?;
        line.push(b'\n');
        failpoint::point("journal.before");
        self.0.write_all(&line)?;
        failpoint::point("journal.after");
        Ok(())
    }
}

/// Declares that the engine of a supervisor lives, by a file lock ending with the returned file or with the process.
/// Creates the journal to which the supervisor will write.
pub(super) fn claim(path: &Path) -> io::Result<File> {
    let file = SupervisorJournal::open(path)?.0;
    // Without file locks, supervisors are asked instead.
    let _ = file.lock();
    Ok(file)
}

/// True if the engine of a supervisor is gone and the journal still exists.
pub(super) fn is_orphaned(path: &Path) -> bool {
    let lock = |file: File| file.try_lock_shared();
    File::open(path).is_ok_and(|file| !matches!(lock(file), Err(TryLockError::WouldBlock)))
}

/// Reads the record of an attempt; `None`: there is none. A torn line, left by a supervisor that
/// died while writing, had no effect yet.
pub fn read_record(path: &Path, attempt: &RunAttempt) -> io::Result<Option<JournalRecord>> {
    let mut record: Option<JournalRecord> = None;
    for note in notes(path)? {
        match note {
            JournalLine::Begins { task: about, mark } if about == *attempt => {
                record = Some(JournalRecord { mark, ..JournalRecord::default() });
            }
            JournalLine::Runs { task: about, pid, start } if about == *attempt => {
                record.get_or_insert_default().process = Some((pid, start));
            }
            JournalLine::Ended { task: about, gone } if about == *attempt => {
                record.get_or_insert_default().outcome = Some(gone);
            }
            _ => {}
        }
    }
    Ok(record)
}

/// Returns the control group of a supervisor's processes.
pub(super) fn group(path: &Path) -> Option<PathBuf> {
    notes(path).ok()?.into_iter().find_map(|note| match note {
        JournalLine::Keeps { group, .. } => group,
        _ => None,
    })
}

/// Returns the processes outliving their runs.
pub(super) fn detached(path: &Path) -> Vec<LeftProcess> {
    let ended = notes(path).unwrap_or_default().into_iter().filter_map(|note| match note {
        JournalLine::Ended { gone, .. } if gone.left.detached => Some(gone.left.left),
        _ => None,
    });
    ended.flatten().collect()
}

/// Returns the attempts that began and have no recorded outcome.
pub(super) fn unfinished_attempts(path: &Path) -> io::Result<BTreeSet<RunAttempt>> {
    let mut open = BTreeSet::new();
    for note in notes(path)? {
        match note {
            JournalLine::Begins { task, .. } => drop(open.insert(task)),
            JournalLine::Ended { task, .. } => drop(open.remove(&task)),
            JournalLine::Keeps { .. } | JournalLine::Runs { .. } => {}
        }
    }
    Ok(open)
}

/// Returns the readable lines of a journal.
fn notes(path: &Path) -> io::Result<Vec<JournalLine>> {
    let text = std::fs::read(path)?;
    let lines = text.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// Returns the path of a supervisor's journal.
pub(super) fn path(dir: &Path, supervisor: &str) -> PathBuf {
    dir.join(format!("{supervisor}.journal"))
}

/// Returns the path of a supervisor's socket.
pub(super) fn socket(dir: &Path, supervisor: &str) -> PathBuf {
    dir.join(format!("{supervisor}.sock"))
}

#[cfg(test)]
mod tests {
    use super::{
        JournalLine, RunAttempt, SupervisorJournal, claim, detached, is_orphaned, path, read_record,
    };
    use crate::{processes::tails::StreamTails, work::attempt::ProcessOutcome};
    use wf_base::name::{Name, RunId};
    use wf_core::machine::{Attempt, AttemptUsage, LeftProcess, LeftProcesses, TaskId, WorkExit};

    #[test]
    fn a_journal_tells_what_became_of_an_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path(), "k1");
        let task = |step: &str| RunAttempt {
            run: RunId::from_bytes([7; 16]),
            attempt: Attempt { task_id: TaskId::of_step(&Name::parse(step).unwrap()), attempt: 1 },
        };
        let mut journal = SupervisorJournal::open(&path).unwrap();
        let gone = ProcessOutcome {
            exit: WorkExit::Code { code: 3 },
            output: "a=1\n".into(),
            logged: 5,
            tails: StreamTails { out: String::new(), err: "no\n".into() },
            usage: AttemptUsage { tokens: 12, ..AttemptUsage::default() },
            left: LeftProcesses::default(),
        };
        for note in [
            JournalLine::Begins { task: task("a"), mark: "k1-1".into() },
            JournalLine::Runs { task: task("a"), pid: 7, start: 8 },
            JournalLine::Begins { task: task("b"), mark: "k1-2".into() },
            JournalLine::Ended { task: task("a"), gone: gone.clone() },
        ] {
            journal.write_line(&note).unwrap();
        }
        std::io::Write::write_all(&mut journal.0, b"{\"ended\":{\"task\"").unwrap();
        let a = read_record(&path, &task("a")).unwrap().unwrap();
        assert_eq!((a.mark.as_str(), a.process, a.outcome), ("k1-1", Some((7, 8)), Some(gone)));
        let b = read_record(&path, &task("b")).unwrap().unwrap();
        assert_eq!((b.mark.as_str(), b.process, b.outcome), ("k1-2", None, None));
        assert_eq!(read_record(&path, &task("c")).unwrap(), None);
        assert_eq!(detached(&path), []);
        let process = LeftProcess { pid: 9, start_ticks: 10, command: "srv".into() };
        let left = LeftProcesses { left: vec![process.clone()], detached: true, ..LeftProcesses::default() };
        let gone = ProcessOutcome { left, ..ProcessOutcome::without(WorkExit::Completed) };
        let mut journal = SupervisorJournal::open(&path).unwrap();
        std::io::Write::write_all(&mut journal.0, b"\n").unwrap();
        journal.write_line(&JournalLine::Ended { task: task("b"), gone }).unwrap();
        assert_eq!(detached(&path), [process]);
    }

    #[test]
    fn a_journal_is_orphaned_once_the_engine_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path(), "k1");
        assert!(!is_orphaned(&path), "nobody left anything");
        let claimed = claim(&path).unwrap();
        let supervisor = SupervisorJournal::open(&path).unwrap();
        assert!(!is_orphaned(&path));
        drop(claimed);
        assert!(is_orphaned(&path) && is_orphaned(&path), "the supervisor claims nothing");
        drop(supervisor);
    }
}
