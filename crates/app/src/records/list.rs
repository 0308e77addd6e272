use serde_json::Value;

use crate::{
    CommandError, Host, StateReader,
    names::name_parent,
    views::{add_progress, run_documents, run_listings},
};
use wf_base::name::{PlanId, SessionName};
use wf_report::record::{RunLifecycle, RunListing, runs};
use wf_store::{RunFilter, RunState};

/// A choice of runs.
#[derive(Clone, Debug, Default)]
pub struct RunListQuery {
    pub plan: Option<PlanId>,
    pub state: Option<RunLifecycle>,
    pub session: Option<SessionName>,
    /// True if nested runs are listed, too.
    pub nested: bool,
    /// True if the checks of goals are left out.
    pub no_checks: bool,
    /// True if the summaries of pruned runs are listed instead.
    pub pruned: bool,
    /// The most runs.
    pub limit: usize,
}

/// Runs, newest first.
#[derive(Debug, Default)]
pub struct RunList {
    runs: Vec<RunListing>,
    /// The record that has the names of the attempts that nested runs are in; pruned runs have none.
    names: Option<StateReader>,
}

impl RunList {
    /// Reads the runs of the workspace; none where there is no state.
    pub fn read(host: &Host, query: &RunListQuery) -> Result<Self, CommandError> {
        let Some(reader) = StateReader::open_if_any(&host.workspace())? else {
            return Ok(Self::default());
        };
        let (plan, session) = (query.plan.clone(), query.session.clone());
        let filter = RunFilter {
            plan,
            state: query.state.map(RunLifecycle::recorded),
            session,
            nested: query.nested,
            no_checks: query.no_checks,
            ..RunFilter::default()
        };
        let runs = if query.pruned {
            let pruned = reader.store().runs().pruned(query.limit, &filter)?;
            pruned.into_iter().map(|row| RunListing::new(row, None)).collect()
        } else {
            recorded_runs(host, &reader, query, &filter)?
        };
        Ok(Self { runs, names: (!query.pruned).then_some(reader) })
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Returns the runs as documents.
    pub fn documents(&self) -> Vec<Value> {
        run_documents(&self.runs)
    }

    /// Returns the runs as a table.
    pub fn table(mut self) -> Result<String, CommandError> {
        if let Some(reader) = &self.names {
            for listing in &mut self.runs {
                name_parent(reader.store(), &mut listing.row)?;
            }
        }
        Ok(runs(&self.runs))
    }
}

fn recorded_runs(
    host: &Host,
    reader: &StateReader,
    query: &RunListQuery,
    filter: &RunFilter,
) -> Result<Vec<RunListing>, CommandError> {
    // Only the processes of those that have not ended tell which state they are in.
    let limit = if filter.state == Some(RunState::Running) { usize::MAX } else { query.limit };
    let mut runs = run_listings(reader, reader.store().runs().list(limit, filter)?)?;
    runs.retain(|listing| query.state.is_none_or(|state| state == listing.life()));
    runs.truncate(query.limit);
    add_progress(reader, &mut runs, host.now())?;
    Ok(runs)
}
