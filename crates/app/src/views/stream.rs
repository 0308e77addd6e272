use serde::Serialize;
use serde_json::Value;

use super::goals::goal_listings_of;
use super::{
    GoalListing, Notice, RequestView, SuggestionRecord, notices, open_requests, open_suggestions,
    run_documents, runs, state_reader,
};
use crate::connections::{SecretPrompt, waiting_secrets};
use crate::{Caller, CommandError};
use wf_store::RunFilter;

/// The most runs of an overview.
const STREAM_RUNS: usize = 30;

/// An overview: the latest runs, the goals, and the requests and secrets that wait for people.
#[derive(Debug, Serialize)]
pub struct StreamView {
    /// The requests that nobody has answered, the one that expires first before the others.
    pub requests: Vec<RequestView>,
    /// The suggestions that nobody has decided about.
    pub suggestions: Vec<SuggestionRecord>,
    /// The secrets that setups of connections wait for.
    pub secrets: Vec<SecretPrompt>,
    /// The latest runs that are part of no other, newest first.
    pub runs: Vec<Value>,
    /// The goals.
    pub goals: Vec<Value>,
    /// The notices of things that need attention, and are no requests.
    pub notices: Vec<Notice>,
}

/// Returns the overview of a workspace.
pub fn stream_view(caller: &dyn Caller) -> Result<StreamView, CommandError> {
    let reader = state_reader(caller)?;
    let goals = goal_listings_of(caller, reader.as_deref())?.iter().map(GoalListing::json).collect();
    let (requests, suggestions, runs) = match &reader {
        Some(reader) => {
            let filter = RunFilter { plan: None, state: None, nested: false, session: None };
            let rows = runs::with_owners(reader, reader.runs(STREAM_RUNS, &filter)?)?;
            (open_requests(reader)?, open_suggestions(reader)?, run_documents(&rows))
        }
        None => (Vec::new(), Vec::new(), Vec::new()),
    };
    let notices = notices(caller, reader.as_deref(), &requests)?;
    let secrets = waiting_secrets(caller);
    Ok(StreamView { requests, suggestions, secrets, runs, goals, notices })
}
