//! The summaries of pruned runs: the record of the pruning has them, so they stay when all else of a run is gone.

use rusqlite::Connection;

use crate::{
    column::JsonColumn,
    error::QueryResult,
    events::run_end::RunEndLog,
    log::{
        chain::{LINKED, NewRunRecord},
        state_event::RunSummary,
    },
    views::view::{RunRow, RunState, WorkEnd},
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
pub(crate) fn summarize(connection: &Connection, key: i64) -> QueryResult<Option<RunSummary>> {
    let log = RunEndLog(connection);
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

pub(super) fn pruned_row(id: RunId, summary: RunSummary) -> RunRow {
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
        waits_for_people: false,
        accepted: None,
        undo: None,
        undo_of: None,
        goal: None,
        durability: None,
        idle_ms: 0,
        work_end: WorkEnd::At(summary.ended),
    }
}
