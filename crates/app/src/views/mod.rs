//! What a page shows of a workspace: documents, each a projection of its state at one moment.
//!
//! Their shapes are those of `wf runs --json`, `wf show --json` and `wf goal list --json`, as far as these have
//! them. A workspace without a state has empty views.
//!
//! **Invariant:** nothing here changes the state.

mod goals;
mod history;
mod log;
mod requests;
mod run;
mod runs;

use serde::Serialize;
use serde_json::Value;

use crate::{Caller, CommandError};
use wf_base::name::RunId;
use wf_store::{FindError, RunFilter, StoreError, StoreReader};

pub use goals::{GoalListing, goal_listings};
pub use history::{GoalHistoryEntry, GoalView, UpcomingSlot, goal_history, goal_view};
pub use log::LogTailView;
pub use requests::{RequestView, ShownValue, open_requests};
pub use run::{RunView, StepFilter, TaskView, run_picture, run_view, task_view};
pub use runs::{RunPage, RunQuery, run_documents, run_page};

/// The most runs of an overview.
const STREAM_RUNS: usize = 30;

/// What happens in a workspace, and what waits for people.
#[derive(Debug, Serialize)]
pub struct StreamView {
    /// The requests that nobody has answered, the one that expires first before the others.
    pub requests: Vec<RequestView>,
    /// The latest runs that are part of no other, newest first.
    pub runs: Vec<Value>,
    /// The goals.
    pub goals: Vec<Value>,
}

/// Returns the overview of a workspace.
pub fn stream_view(caller: &dyn Caller) -> Result<StreamView, CommandError> {
    let reader = state_reader(caller)?;
    let goals = goal_listings(caller)?.iter().map(GoalListing::json).collect();
    let Some(reader) = reader else {
        return Ok(StreamView { requests: Vec::new(), runs: Vec::new(), goals });
    };
    let filter = RunFilter { plan: None, state: None, nested: false, session: None };
    let rows = runs::with_owners(&reader, reader.runs(STREAM_RUNS, &filter)?)?;
    Ok(StreamView { requests: open_requests(&reader)?, runs: run_documents(&rows), goals })
}

/// Opens the state for reading; `None` if there is none yet.
pub fn state_reader(caller: &dyn Caller) -> Result<Option<StoreReader>, CommandError> {
    match StoreReader::open(&caller.host().workspace().state) {
        Ok(reader) => Ok(Some(reader)),
        Err(StoreError::NoState(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the run that an address names; `None` if there is no such run, or more than one.
pub fn find_run(reader: &StoreReader, prefix: &str) -> Result<Option<RunId>, CommandError> {
    match reader.find_run(prefix) {
        Ok(run) => Ok(Some(run)),
        Err(FindError::Unknown { .. } | FindError::NoRuns | FindError::Ambiguous(_)) => Ok(None),
        Err(FindError::Store(error)) => Err(error.into()),
    }
}

/// Returns the number of the last event of the log: it grows with each change that a view may show.
pub fn log_end(reader: &StoreReader) -> Result<u64, CommandError> {
    Ok(reader.log_end()?.map_or(0, |end| end.seq))
}
