use rusqlite::Row;
use serde::de::DeserializeOwned;

use crate::{
    column::RowColumns,
    views::view::{ArtifactRow, AttemptRow, CheckRow, RunRow, RunState, StepRow, WorkEnd},
};
use wf_core::machine::{Artifact, RunOutcome};

/// The columns [`run`] reads.
pub(super) const RUN: &str = "id, plan, path, outcome, standing, params, parent, parent_attempt, \
     retry_of, session, created, ended, reason, failed_step, counts, outputs, accepted, undo, config ->> '$.goal' AS part, \
     config ->> '$.durability' AS durability, config ->> '$.undo_of' AS undo_of, \
     iif(outcome IS NULL, (WITH RECURSIVE below (id) AS ( \
         SELECT runs.id UNION ALL \
         SELECT inner.id FROM runs AS inner JOIN below ON inner.parent = below.id) \
     SELECT sum(own.pending_approvals) FROM runs AS own WHERE own.id IN (SELECT id FROM below)), 0) AS pending_approvals";

/// The state of a task in the words of the database. A repeated step has no work of its own: it waits as long as some of its items
/// wait and none is at work.
macro_rules! shown_state {
    () => {
        "CASE WHEN state = 'running' AND item < 0 \
         AND EXISTS (SELECT 1 FROM steps AS own WHERE own.run = steps.run AND own.step = steps.step \
             AND own.item >= 0 AND own.state = 'waiting') \
         AND NOT EXISTS (SELECT 1 FROM steps AS own WHERE own.run = steps.run AND own.step = steps.step \
             AND own.item >= 0 AND own.state IN ('running', 'verifying')) \
         THEN 'waiting' ELSE state END"
    };
}

/// The columns [`step`] reads, in its order.
pub(super) const STEPS: &str = concat!(
    "step, item, item_key, ",
    shown_state!(),
    " AS state, standing, attempts, started, ended, reason, failure_class, allowed_to_fail, cache_key, reused_from, \
     outputs, stale FROM steps"
);

/// The state of a row of the table `steps`.
pub(super) const STATE: &str = shown_state!();

/// The columns [`attempt`] reads.
pub(super) const ATTEMPTS: &str =
    "step, item, attempt, started, ended, exit, failure_class, left_running FROM attempts";

/// The columns [`check`] reads.
pub(super) const CHECKS: &str = "step, item, attempt, at, verdict FROM checks";

/// The columns [`artifact`] reads.
pub(super) const ARTIFACTS: &str = "step, item, attempt, path, digest, size FROM artifacts";

/// Returns the query of columns of the rows of a run, by its id; `rest`: the condition and the order of these rows.
pub(super) fn query_of_run(columns: &str, rest: &str) -> String {
    format!("SELECT {columns} WHERE run = (SELECT key FROM runs WHERE id = ?1) {rest}")
}

pub(crate) fn run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let outcome: Option<RunOutcome> = row.word_if("outcome")?;
    let attempt: Option<String> = row.get("parent_attempt")?;
    Ok(RunRow {
        id: row.run("id")?,
        plan: row.get("plan")?,
        path: row.get("path")?,
        state: outcome.map_or(RunState::Running, RunState::Ended),
        standing: row.word("standing")?,
        params: row.json("params")?,
        dispatched: attempt.as_ref().and_then(|attempt| attempt.parse().ok()),
        parent: row.run_if("parent")?.zip(attempt),
        retry_of: row.run_if("retry_of")?,
        session: row.word_if("session")?,
        created: row.moment("created")?,
        ended: row.moment_if("ended")?,
        reason: row.get("reason")?,
        failed_step: row.word_if("failed_step")?,
        counts: row.json_if("counts")?.unwrap_or_default(),
        outputs: row.json_if("outputs")?.unwrap_or_default(),
        pending_approvals: row.get("pending_approvals")?,
        waits_for_people: false,
        accepted: row.json_if("accepted")?,
        undo: row.json_if("undo")?,
        undo_of: row.run_if("undo_of")?,
        goal: known(row, "part")?,
        durability: known(row, "durability")?,
        idle_ms: 0,
        work_end: WorkEnd::default(),
    })
}

/// Reads a value of the configuration; one unknown to this version becomes `None`.
fn known<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    let word: Option<String> = row.get(column)?;
    Ok(word.and_then(|word| serde_json::from_value(word.into()).ok()))
}

/// Reads columns by position: looking up one of many names costs as much as reading a column.
pub(crate) fn step(row: &Row<'_>) -> rusqlite::Result<StepRow> {
    Ok(StepRow {
        step: row.word(0)?,
        item: row.item(1)?,
        item_key: row.get(2)?,
        state: row.word(3)?,
        standing: row.word(4)?,
        attempts: row.get(5)?,
        started: row.moment_if(6)?,
        ended: row.moment_if(7)?,
        reason: row.get(8)?,
        failure_class: row.word_if(9)?,
        allowed_to_fail: row.get(10)?,
        cache_key: row.get(11)?,
        reused_from: row.run_if(12)?,
        outputs: row.json_if(13)?.unwrap_or_default(),
        stale: row.get(14)?,
    })
}

pub(crate) fn attempt(row: &Row<'_>) -> rusqlite::Result<AttemptRow> {
    Ok(AttemptRow {
        step: row.word("step")?,
        item: row.item("item")?,
        attempt: row.get("attempt")?,
        started: row.moment("started")?,
        ended: row.moment_if("ended")?,
        exit: row.json_if("exit")?,
        failure_class: row.word_if("failure_class")?,
        left: row.json_if("left_running")?.unwrap_or_default(),
    })
}

pub(crate) fn check(row: &Row<'_>) -> rusqlite::Result<CheckRow> {
    Ok(CheckRow {
        step: row.word_if("step")?,
        item: row.get("item")?,
        attempt: row.get("attempt")?,
        at: row.moment("at")?,
        verdict: row.json("verdict")?,
    })
}

pub(crate) fn artifact(row: &Row<'_>) -> rusqlite::Result<ArtifactRow> {
    Ok(ArtifactRow {
        step: row.word("step")?,
        item: row.item("item")?,
        attempt: row.get("attempt")?,
        artifact: Artifact {
            path: row.get("path")?,
            digest: row.word("digest")?,
            size: row.get::<_, i64>("size")?.unsigned_abs(),
            released_by: None,
        },
    })
}
