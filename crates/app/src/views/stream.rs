use serde::Serialize;
use serde_json::Value;

use super::{GoalListing, RequestView, goal_listings, open_requests, run_documents, runs, state_reader};
use crate::{Caller, CommandError};
use wf_store::RunFilter;

/// The most runs of an overview.
const STREAM_RUNS: usize = 30;

/// An overview: the latest runs, the goals, and the requests that wait for people.
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
