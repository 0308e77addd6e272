//! The summaries of pruned runs: the record of the pruning has them, so they stay when all else of a run is gone.

use std::cmp::Reverse;

use crate::{
    column::JsonColumn,
    db::{reader::StoreReader, writer::WriteContext},
    error::StoreError,
    events::run_end::RunEndLog,
    log::{
        chain::{LINKED, NewRunRecord},
        state_event::{PrunedRun, RunSummary},
    },
    views::view::{RunFilter, RunRow, RunState},
};
use wf_base::name::RunId;
use wf_core::machine::{Event, EventKind};
use wf_model::JsonObject;

/// The longest reason in a summary, in bytes.
const MAX_REASON: usize = 200;

impl RunSummary {
    /// Makes the summary of a run from its record and its last event; `None` if that is not its end.
    fn of(run: NewRunRecord, last_event: &Event) -> Option<Self> {
        let EventKind::RunEnded { outcome, reason, standing, counts, .. } = &last_event.fact else {
            return None;
        };
        let reason = reason.get(..reason.floor_char_boundary(MAX_REASON)).unwrap_or_default().to_owned();
        Some(Self {
            plan: run.plan,
            path: run.path,
            created: run.at,
            ended: last_event.at,
            outcome: *outcome,
            standing: *standing,
            reason,
            counts: *counts,
        })
    }
}

/// Returns the summary of the run with a key that has ended, by its first and its last event.
pub(crate) fn summarize(writing: &WriteContext<'_>, key: i64) -> Result<Option<RunSummary>, StoreError> {
    let log = RunEndLog { connection: writing.connection, path: &writing.writer.path };
    let first = format!("SELECT {LINKED} FROM events WHERE run = ?1 AND run_seq = 0");
    let first = log.read(&first, [key], |row| {
        let JsonColumn(recorded): JsonColumn<NewRunRecord> = row.get(7)?;
        Ok(Some(recorded))
    })?;
    let last = format!("SELECT {LINKED} FROM events WHERE run = ?1 ORDER BY run_seq DESC LIMIT 1");
    let last = log.read(&last, [key], |row| {
        let JsonColumn(event): JsonColumn<Event> = row.get(7)?;
        Ok(Some(event))
    })?;
    let ends = first.into_iter().next().zip(last.first());
    Ok(ends.and_then(|(run, last)| RunSummary::of(run, last)))
}

impl StoreReader {
    /// Returns the summaries of pruned runs, newest first.
    pub fn pruned_runs(&self, limit: usize, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        // Of those with the same time, the one that was pruned last is the newest.
        let runs = self.pruned()?.into_iter().rev().filter_map(|run| Some(row(run.id, run.summary?)));
        let is_meant = |run: &RunRow| {
            filter.state.is_none_or(|state| run.state == state)
                && filter.plan.as_ref().is_none_or(|plan| run.plan == plan.as_str())
        };
        let mut run_rows: Vec<RunRow> = runs.filter(is_meant).collect();
        run_rows.sort_by_key(|run| Reverse(run.created));
        run_rows.truncate(limit);
        Ok(run_rows)
    }

    /// Returns the pruned run whose id begins with a prefix, with its summary; `None`: there is none, or more than one.
    pub(super) fn find_pruned(&self, prefix: &str) -> Result<Option<(RunId, RunSummary)>, StoreError> {
        let mut found = self.pruned()?;
        found.retain(|run| run.id.as_str().starts_with(prefix));
        let one = found.pop().filter(|_| found.is_empty());
        Ok(one.and_then(|run| Some((run.id, run.summary?))))
    }

    fn pruned(&self) -> Result<Vec<PrunedRun>, StoreError> {
        RunEndLog { connection: self.connection(), path: &self.folder().database() }.pruned()
    }
}

fn row(id: RunId, summary: RunSummary) -> RunRow {
    RunRow {
        id,
        plan: summary.plan.to_string(),
        path: summary.path,
        state: RunState::Ended(summary.outcome),
        standing: summary.standing,
        params: JsonObject::default(),
        parent: None,
        dispatched: None,
        retry_of: None,
        session: None,
        created: summary.created,
        ended: Some(summary.ended),
        reason: summary.reason,
        failed_step: None,
        counts: summary.counts,
        outputs: JsonObject::default(),
        pending_approvals: 0,
        accepted: None,
        undo: None,
        undo_of: None,
        goal: None,
        durability: None,
        idle_ms: 0,
    }
}
