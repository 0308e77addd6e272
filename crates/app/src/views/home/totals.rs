//! The numbers of a workspace that each page has in its navigation.

use serde::Serialize;

use crate::{
    Caller, CommandError,
    views::{run_listings, state_reader},
};
use wf_report::record::RunLifecycle;
use wf_store::{RunFilter, RunState};

/// The numbers of a workspace.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct WorkspaceTotals {
    /// The requests of runs that wait for people.
    pub waiting: u64,
    /// The runs worked on by a process, without parts of other runs.
    pub running: u64,
}

/// Counts what waits and what runs.
pub fn workspace_totals(caller: &dyn Caller) -> Result<WorkspaceTotals, CommandError> {
    let Some(reader) = state_reader(caller)? else {
        return Ok(WorkspaceTotals::default());
    };
    let filter = RunFilter { state: Some(RunState::Running), ..RunFilter::default() };
    let rows = reader.store().runs().list(usize::MAX, &filter)?;
    let waiting = rows.iter().map(|row| u64::from(row.pending_approvals)).sum();
    let running = run_listings(&reader, rows)?.into_iter();
    let running = running.filter(|listing| listing.life() == RunLifecycle::Running).count();
    Ok(WorkspaceTotals { waiting, running: running as u64 })
}
