//! The comparison of stored logs with the digests in the events of their attempts.
//!
//! The logs of a run that goes on are not compared: on a backend they arrive after the event.

use std::fmt;

use serde::Serialize;

use crate::{CommandError, names::task_name};
use wf_base::{name::RunId, units::size};
use wf_core::machine::{Attempt, EventKind, LogDigest, TaskId};
use wf_exec::log::RunLogs;
use wf_store::{RunFilter, RunState, StoreReader};

/// A log differing from the one its attempt left.
#[derive(Debug, Serialize)]
pub struct DamagedLog {
    pub run: RunId,
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The attempt, as it is shown to users: `build[linux]#1`.
    #[serde(skip)]
    pub name: String,
    /// The difference.
    pub damage: LogDamage,
}

/// The difference of a log from the record of its attempt.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogDamage {
    /// There is none, and there was one.
    Missing,
    /// There is one, and there was none.
    Added,
    /// Its bytes are others.
    Altered {
        /// Its size then, in bytes.
        recorded: u64,
        /// Its size now, in bytes.
        found: u64,
    },
    /// It cannot be read.
    Unreadable(String),
}

impl LogDamage {
    /// Compares a log with its record; `None`: they agree.
    fn find(logs: &RunLogs, attempt: &Attempt, digest: Option<LogDigest>) -> Option<Self> {
        match (logs.digest(attempt), digest) {
            (Ok(found_digest), recorded) if found_digest == recorded => None,
            (Ok(Some(digest)), Some(recorded)) => {
                Some(Self::Altered { recorded: recorded.size, found: digest.size })
            }
            (Ok(None), _) => Some(Self::Missing),
            (Ok(Some(_)), None) => Some(Self::Added),
            (Err(error), _) => Some(Self::Unreadable(error.to_string())),
        }
    }
}

impl fmt::Display for DamagedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, run) = (&self.name, self.run.short());
        match &self.damage {
            LogDamage::Missing => write!(f, "the log of {name} in run {run} was removed"),
            LogDamage::Added => write!(f, "the log of {name} in run {run} was added: it wrote none"),
            LogDamage::Altered { recorded, found } if recorded == found => {
                write!(f, "the log of {name} in run {run} was altered")
            }
            LogDamage::Altered { recorded, found } => {
                let (recorded, found) = (size(*recorded), size(*found));
                write!(f, "the log of {name} in run {run} was altered: {found} now, {recorded} then")
            }
            LogDamage::Unreadable(reason) => {
                write!(f, "the log of {name} in run {run} cannot be read: {reason}")
            }
        }
    }
}

/// Finds the damaged logs of a run, without those of runs nested in it, of all its tasks or of one; a repeated step
/// stands for all its items.
pub fn damaged_logs(
    reader: &StoreReader,
    run: &RunId,
    only_task: Option<&TaskId>,
) -> Result<Vec<DamagedLog>, CommandError> {
    if reader.runs().get(run)?.state == RunState::Running {
        return Ok(Vec::new());
    }
    let logs = RunLogs::new(reader.folder().run(run));
    let (mut damaged, mut is_recorded) = (Vec::new(), false);
    for event in reader.events().of_kinds(run, &["attempt_ended"])? {
        let EventKind::AttemptEnded { attempt, log: recorded, how, .. } = event.fact else {
            continue;
        };
        // Before an attempt with a digest, another version may have recorded none; and what ended without its work has none.
        is_recorded |= recorded.is_some();
        if recorded.is_none() && !(is_recorded && how.is_success()) {
            continue;
        }
        if only_task.is_some_and(|only| !only.contains(&attempt.task_id)) {
            continue;
        }
        if let Some(damage) = LogDamage::find(&logs, &attempt, recorded) {
            let name = format!("{}#{}", task_name(reader, run, &attempt.task_id)?, attempt.attempt);
            damaged.push(DamagedLog { run: run.clone(), attempt, name, damage });
        }
    }
    Ok(damaged)
}

/// Finds the damaged logs of the newest runs, with nested ones.
pub fn damaged_logs_of_newest(reader: &StoreReader, count: usize) -> Result<Vec<DamagedLog>, CommandError> {
    let mut damaged = Vec::new();
    for run in reader.runs().list(count, &RunFilter { nested: true, ..RunFilter::default() })? {
        damaged.extend(damaged_logs(reader, &run.id, None)?);
    }
    Ok(damaged)
}
