//! The processes that attempts left running, over all runs.

use crate::column::{ItemColumn, JsonColumn, WordColumn};
use crate::db::reader::StoreReader;
use crate::error::StoreError;
use wf_base::name::RunId;
use wf_core::machine::{LeftProcesses, TaskId};

/// A task with the processes an attempt of it left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftRow {
    pub run: RunId,
    pub task: TaskId,
    /// The processes, as they were when the attempt ended.
    pub processes: LeftProcesses,
}

impl StoreReader {
    /// Returns the processes that attempts left running, over all runs.
    pub fn left_processes(&self) -> Result<Vec<LeftRow>, StoreError> {
        let sql = "SELECT runs.id, step, item, left_running
                   FROM attempts INDEXED BY attempts_left JOIN runs ON runs.key = attempts.run
                   WHERE left_running IS NOT NULL ORDER BY runs.key, attempts.first_event";
        self.all(sql, [], |row| {
            Ok(LeftRow {
                run: RunId::from_stored(row.get::<_, String>(0)?),
                task: TaskId {
                    step: row.get::<_, WordColumn<_>>(1)?.0,
                    item: row.get::<_, ItemColumn>(2)?.0,
                },
                processes: row.get::<_, JsonColumn<_>>(3)?.0,
            })
        })
    }
}
