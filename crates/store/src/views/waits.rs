//! The runs waiting for people alone.
//!
//! The process of one may live on meanwhile: with `--wait`, or where the server started it. So a list, a page or a program
//! finds them by the tasks at work, and not by whether there is a process.

use std::collections::BTreeSet;

use crate::{
    db::reader::StoreReader,
    error::StoreError,
    views::{
        tasks::{StepOrder, StepSelection},
        view::{RunRow, RunState},
    },
};
use wf_base::name::RunId;
use wf_core::machine::{Attempt, ChildId, StepState, TaskId};

/// The most tasks at work to look at, in each run: of more, one is no waiting nested run.
const MAX_TASKS: usize = 256;

/// Adds to a run whether it waits for people alone.
pub(super) fn with_wait(reader: &StoreReader, row: RunRow) -> Result<RunRow, StoreError> {
    let has_requests = row.state == RunState::Running && row.pending_approvals > 0;
    let waits_for_people = has_requests && !is_at_work(reader, &row.id)?;
    Ok(RunRow { waits_for_people, ..row })
}

/// True if a task of a run, or of one nested in it, is at work. A task waiting for a lock or for its next attempt is not.
pub(super) fn is_at_work(reader: &StoreReader, run: &RunId) -> Result<bool, StoreError> {
    let mut nested = BTreeSet::new();
    for (inner, attempt) in reader.runs().children(run)? {
        if is_unended(reader, &inner)? {
            if is_at_work(reader, &inner)? {
                return Ok(true);
            }
            // An agent waits with the run that it dispatched.
            nested.insert(attempt.parse::<ChildId>().map_or(attempt, |child| child.attempt.to_string()));
        }
    }
    let states = Some(vec![StepState::Running, StepState::Verifying]);
    let selection = StepSelection { states, offset: 0, limit: MAX_TASKS, order: StepOrder::Start };
    let tasks = reader.steps().page(run, &selection)?.steps.into_iter();
    // A repeated step has no attempts of its own: its items have them.
    let mut at_work = tasks.filter(|task| task.attempts > 0).map(|task| {
        let task_id = TaskId { step: task.step, item: task.item };
        Attempt { task_id, attempt: task.attempts }
    });
    Ok(at_work.any(|attempt| !nested.contains(&attempt.to_string())))
}

fn is_unended(reader: &StoreReader, run: &RunId) -> Result<bool, StoreError> {
    let sql = "SELECT outcome IS NULL FROM runs WHERE id = ?1";
    Ok(reader.query_one(sql, [run.as_str()], |row| row.get(0))?.unwrap_or_default())
}
