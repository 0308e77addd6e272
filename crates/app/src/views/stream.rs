use serde::Serialize;
use serde_json::Value;

use super::{
    GoalListing, InboxView, StateReader, goals::goal_listings_of, inbox_view, run_documents, runs,
    state_reader,
};
use crate::{Caller, CommandError};
use wf_store::RunFilter;

/// The most runs of an overview.
const STREAM_RUNS: usize = 30;

/// An overview: the latest runs, the goals, and the requests and secrets waiting for people.
#[derive(Debug, Serialize)]
pub struct StreamView {
    /// All that waits for people.
    #[serde(flatten)]
    pub inbox: InboxView,
    /// The latest runs that are part of no other, newest first.
    pub runs: Vec<Value>,
    pub goals: Vec<Value>,
}

/// Returns the overview of a workspace.
pub fn stream_view(caller: &dyn Caller) -> Result<StreamView, CommandError> {
    let reader = state_reader(caller)?;
    let goals = goal_listings_of(caller, reader.as_ref().map(StateReader::store))?
        .iter()
        .map(GoalListing::json)
        .collect();
    let runs = match &reader {
        Some(reader) => {
            let filter = RunFilter { no_checks: true, ..RunFilter::default() };
            run_documents(&runs::with_owners(
                reader.store(),
                reader.store().runs().list(STREAM_RUNS, &filter)?,
            )?)
        }
        None => Vec::new(),
    };
    Ok(StreamView { inbox: inbox_view(caller, reader.as_ref())?, runs, goals })
}
