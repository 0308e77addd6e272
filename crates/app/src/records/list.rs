use serde_json::Value;

use crate::{CommandError, Host, names::name_parent, views::run_documents};
use wf_base::{
    name::{PlanId, SessionName},
    time::Moment,
};
use wf_core::machine::RunOutcome;
use wf_report::record::{RunLifecycle, runs};
use wf_store::{RunFilter, RunOwner, RunRow, RunState, StoreReader, allow_no_state};

/// A choice of runs by their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStateChoice {
    /// Not ended, and not only waiting for approvals.
    Running,
    /// Waiting for an approval.
    Waiting,
    Ended(RunOutcome),
}

/// A choice of runs.
#[derive(Clone, Debug, Default)]
pub struct RunListQuery {
    pub plan: Option<PlanId>,
    pub state: Option<RunStateChoice>,
    pub session: Option<SessionName>,
    /// True if nested runs are listed, too.
    pub nested: bool,
    /// True if the summaries of pruned runs are listed instead.
    pub pruned: bool,
    /// The most runs.
    pub limit: usize,
}

/// Runs, newest first.
#[derive(Debug, Default)]
pub struct RunList {
    rows: Vec<(RunRow, Option<RunOwner>)>,
    /// The record that has the names of the attempts that nested runs are in; pruned runs have none.
    names: Option<StoreReader>,
}

impl RunList {
    /// Reads the runs of the workspace; none where there is no state.
    pub fn read(host: &Host, query: &RunListQuery) -> Result<Self, CommandError> {
        let Some(reader) = allow_no_state(StoreReader::open(&host.workspace().state))? else {
            return Ok(Self::default());
        };
        let state = query.state.map(|state| match state {
            RunStateChoice::Running | RunStateChoice::Waiting => RunState::Running,
            RunStateChoice::Ended(outcome) => RunState::Ended(outcome),
        });
        let (plan, session) = (query.plan.clone(), query.session.clone());
        let filter = RunFilter { plan, state, session, nested: query.nested, ..RunFilter::default() };
        let rows = if query.pruned {
            let pruned = reader.runs().pruned(query.limit, &filter)?;
            pruned.into_iter().map(|row| (row, None)).collect()
        } else {
            recorded_rows(&reader, query, &filter)?
        };
        Ok(Self { rows, names: (!query.pruned).then_some(reader) })
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the runs as documents.
    pub fn documents(&self) -> Vec<Value> {
        run_documents(&self.rows)
    }

    /// Returns the runs as a table.
    pub fn table(mut self, now: Moment) -> Result<String, CommandError> {
        if let Some(reader) = &self.names {
            for (row, _) in &mut self.rows {
                name_parent(reader, row)?;
            }
        }
        Ok(runs(&self.rows, now))
    }
}

fn recorded_rows(
    reader: &StoreReader,
    query: &RunListQuery,
    filter: &RunFilter,
) -> Result<Vec<(RunRow, Option<RunOwner>)>, CommandError> {
    let mut rows = Vec::new();
    let going = filter.state == Some(RunState::Running);
    let limit = if going { usize::MAX } else { query.limit };
    for row in reader.runs().list(limit, filter)? {
        let owner = match row.state {
            RunState::Running => reader.leases().owner(&row.id)?,
            RunState::Ended(_) => None,
        };
        let waits = RunLifecycle::of(&row, owner) == RunLifecycle::Waiting;
        if !going || waits == (query.state == Some(RunStateChoice::Waiting)) {
            rows.push((row, owner));
        }
    }
    rows.truncate(query.limit);
    Ok(rows)
}
