//! The runs of a session that have not ended.

use wf_app::CommandError;
use wf_base::name::{RunId, SessionName};
use wf_report::record::RunLifecycle;
use wf_store::{RunFilter, RunState, StoreReader};

/// The outermost runs of a session that have not ended, newest first.
pub(super) struct OpenRuns(Vec<(RunId, RunLifecycle)>);

impl OpenRuns {
    /// Reads them.
    pub(super) fn of(reader: &StoreReader, session: &SessionName) -> Result<Self, CommandError> {
        let state = Some(RunState::Running);
        let filter = RunFilter { session: Some(session.clone()), state, ..RunFilter::default() };
        let rows = reader.runs(usize::MAX, &filter)?.into_iter();
        let open = rows.map(|row| {
            let owner = reader.owner(&row.id)?;
            let state = RunLifecycle::of(&row, owner);
            Ok((row.id, state))
        });
        open.collect::<Result<_, CommandError>>().map(Self)
    }

    /// Returns those that a process works on.
    pub(super) fn live(&self) -> Vec<&RunId> {
        self.0.iter().filter(|(_, state)| *state == RunLifecycle::Running).map(|(run, _)| run).collect()
    }

    /// Returns those that wait to be resumed, the oldest first; those whose approvals are open come along.
    pub(super) fn at_rest(&self) -> Vec<&RunId> {
        let rest = self.0.iter().rev().filter(|(_, state)| *state != RunLifecycle::Running);
        rest.map(|(run, _)| run).collect()
    }

    /// Returns all.
    pub(super) fn all(&self) -> Vec<&RunId> {
        self.0.iter().map(|(run, _)| run).collect()
    }
}

/// Returns the short ids of runs, joined by commas.
pub(super) fn short_names(runs: &[&RunId]) -> String {
    runs.iter().map(|run| run.short()).collect::<Vec<_>>().join(", ")
}
