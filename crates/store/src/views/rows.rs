use rusqlite::{Row, RowIndex};
use serde::de::DeserializeOwned;

use crate::{
    column::{ItemColumn, JsonColumn, MomentColumn, WordColumn},
    views::view::{ArtifactRow, AttemptRow, CheckRow, RunRow, RunState, StepRow},
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{Artifact, RunOutcome};
use wf_model::JsonObject;

/// The columns [`run`] reads.
pub(super) const RUN: &str = "id, plan, path, outcome, standing, params, parent, parent_attempt, \
     retry_of, session, created, ended, reason, failed_step, counts, outputs, accepted, undo, config ->> '$.goal' AS part, \
     config ->> '$.durability' AS durability, config ->> '$.undo_of' AS undo_of, \
     iif(outcome IS NULL, (WITH RECURSIVE below (id) AS ( \
         SELECT runs.id UNION ALL \
         SELECT inner.id FROM runs AS inner JOIN below ON inner.parent = below.id) \
     SELECT sum(own.pending_approvals) FROM runs AS own WHERE own.id IN (SELECT id FROM below)), 0) AS pending_approvals";

/// The rows of a run [`step`] reads, in its order.
pub(super) const STEPS: &str = "SELECT step, item, item_key, state, standing, attempts, started, ended, \
     reason, failure_class, allowed_to_fail, cache_key, reused_from, outputs, stale \
     FROM steps WHERE run = (SELECT key FROM runs WHERE id = ?1) \
     ORDER BY first_event, item";

/// A page of those in some states, without their number: the words as a JSON list, or NULL for all.
pub(super) const STEP_PAGE: &str = "SELECT step, item, item_key, state, standing, attempts, started, ended, \
     reason, failure_class, allowed_to_fail, cache_key, reused_from, outputs, stale \
     FROM steps WHERE run = (SELECT key FROM runs WHERE id = ?1) \
         AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2))) \
     ORDER BY first_event, item LIMIT ?3 OFFSET ?4";

/// The row of one task.
pub(super) const STEP: &str = "SELECT step, item, item_key, state, standing, attempts, started, ended, \
     reason, failure_class, allowed_to_fail, cache_key, reused_from, outputs, stale \
     FROM steps WHERE run = (SELECT key FROM runs WHERE id = ?1) AND step = ?2 AND item = ?3";

/// The rows of a run [`attempt`] reads.
pub(super) const ATTEMPTS: &str = "SELECT step, item, attempt, started, ended, exit, failure_class, left_running \
     FROM attempts WHERE run = (SELECT key FROM runs WHERE id = ?1) \
     ORDER BY first_event";

pub(super) const TASK_ATTEMPTS: &str = "SELECT step, item, attempt, started, ended, exit, failure_class, left_running \
     FROM attempts WHERE run = (SELECT key FROM runs WHERE id = ?1) AND step = ?2 AND item = ?3 \
     ORDER BY first_event";

/// The row of one attempt.
pub(super) const ATTEMPT: &str = "SELECT step, item, attempt, started, ended, exit, failure_class, left_running \
     FROM attempts WHERE run = (SELECT key FROM runs WHERE id = ?1) AND step = ?2 AND item = ?3 AND attempt = ?4";

/// The rows of a run [`check`] reads.
pub(super) const CHECKS: &str = "SELECT step, item, attempt, at, verdict \
     FROM checks WHERE run = (SELECT key FROM runs WHERE id = ?1) \
     ORDER BY run_seq";

/// The verdicts on one task; here an item is NULL for none.
pub(super) const TASK_CHECKS: &str = "SELECT step, item, attempt, at, verdict \
     FROM checks WHERE run = (SELECT key FROM runs WHERE id = ?1) AND step = ?2 AND item IS ?3 \
     ORDER BY run_seq";

/// The rows of a run [`artifact`] reads.
pub(super) const ARTIFACTS: &str = "SELECT step, item, attempt, path, digest, size \
     FROM artifacts WHERE run = (SELECT key FROM runs WHERE id = ?1) \
     ORDER BY step, item, attempt, path";

pub(super) const FIRST_ARTIFACTS: &str = "SELECT step, item, attempt, path, digest, size \
     FROM artifacts WHERE run = (SELECT key FROM runs WHERE id = ?1) \
     ORDER BY step, item, attempt, path LIMIT ?2";

pub(super) const TASK_ARTIFACTS: &str = "SELECT step, item, attempt, path, digest, size \
     FROM artifacts WHERE run = (SELECT key FROM runs WHERE id = ?1) AND step = ?2 AND item = ?3 \
     ORDER BY attempt, path";

pub(crate) fn run(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let outcome: Option<WordColumn<RunOutcome>> = row.get("outcome")?;
    let parent: Option<String> = row.get("parent")?;
    let attempt: Option<String> = row.get("parent_attempt")?;
    Ok(RunRow {
        id: RunId::from_stored(row.get::<_, String>("id")?),
        plan: row.get("plan")?,
        path: row.get("path")?,
        state: outcome.map_or(RunState::Running, |outcome| RunState::Ended(outcome.0)),
        standing: row.get::<_, WordColumn<_>>("standing")?.0,
        params: row.get::<_, JsonColumn<_>>("params")?.0,
        dispatched: attempt.as_ref().and_then(|attempt| attempt.parse().ok()),
        parent: parent.map(RunId::from_stored).zip(attempt),
        retry_of: row.get::<_, Option<String>>("retry_of")?.map(RunId::from_stored),
        session: row.get::<_, Option<WordColumn<_>>>("session")?.map(|word| word.0),
        created: row.get::<_, MomentColumn>("created")?.0,
        ended: row.get::<_, Option<MomentColumn>>("ended")?.map(|at| at.0),
        reason: row.get("reason")?,
        failed_step: row.get::<_, Option<WordColumn<_>>>("failed_step")?.map(|word| word.0),
        counts: row
            .get::<_, Option<JsonColumn<_>>>("counts")?
            .map_or_else(Default::default, |counts| counts.0),
        outputs: outputs(row, "outputs")?,
        pending_approvals: row.get("pending_approvals")?,
        accepted: row.get::<_, Option<JsonColumn<_>>>("accepted")?.map(|accepted| accepted.0),
        undo: row.get::<_, Option<JsonColumn<_>>>("undo")?.map(|undo| undo.0),
        undo_of: row.get::<_, Option<String>>("undo_of")?.map(RunId::from_stored),
        goal: known(row, "part")?,
        durability: known(row, "durability")?,
        idle_ms: 0,
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
        step: row.get::<_, WordColumn<_>>(0)?.0,
        item: row.get::<_, ItemColumn>(1)?.0,
        item_key: row.get(2)?,
        state: row.get::<_, WordColumn<_>>(3)?.0,
        standing: row.get::<_, WordColumn<_>>(4)?.0,
        attempts: row.get(5)?,
        started: row.get::<_, Option<MomentColumn>>(6)?.map(|at| at.0),
        ended: row.get::<_, Option<MomentColumn>>(7)?.map(|at| at.0),
        reason: row.get(8)?,
        failure_class: row.get::<_, Option<WordColumn<_>>>(9)?.map(|word| word.0),
        allowed_to_fail: row.get(10)?,
        cache_key: row.get(11)?,
        reused_from: row.get::<_, Option<String>>(12)?.map(RunId::from_stored),
        outputs: outputs(row, 13)?,
        stale: row.get(14)?,
    })
}

pub(crate) fn attempt(row: &Row<'_>) -> rusqlite::Result<AttemptRow> {
    Ok(AttemptRow {
        step: row.get::<_, WordColumn<_>>("step")?.0,
        item: row.get::<_, ItemColumn>("item")?.0,
        attempt: row.get("attempt")?,
        started: row.get::<_, MomentColumn>("started")?.0,
        ended: row.get::<_, Option<MomentColumn>>("ended")?.map(|at| at.0),
        exit: row.get::<_, Option<JsonColumn<_>>>("exit")?.map(|exit| exit.0),
        failure_class: row.get::<_, Option<WordColumn<_>>>("failure_class")?.map(|word| word.0),
        left: row.get::<_, Option<JsonColumn<_>>>("left_running")?.map(|left| left.0).unwrap_or_default(),
    })
}

pub(crate) fn check(row: &Row<'_>) -> rusqlite::Result<CheckRow> {
    Ok(CheckRow {
        step: row.get::<_, Option<WordColumn<_>>>("step")?.map(|word| word.0),
        item: row.get("item")?,
        attempt: row.get("attempt")?,
        at: row.get::<_, MomentColumn>("at")?.0,
        verdict: row.get::<_, JsonColumn<_>>("verdict")?.0,
    })
}

pub(crate) fn artifact(row: &Row<'_>) -> rusqlite::Result<ArtifactRow> {
    Ok(ArtifactRow {
        step: row.get::<_, WordColumn<_>>("step")?.0,
        item: row.get::<_, ItemColumn>("item")?.0,
        attempt: row.get("attempt")?,
        artifact: Artifact {
            path: row.get("path")?,
            digest: row.get::<_, WordColumn<Sha256Digest>>("digest")?.0,
            size: row.get::<_, i64>("size")?.unsigned_abs(),
            released_by: None,
        },
    })
}

fn outputs(row: &Row<'_>, column: impl RowIndex) -> rusqlite::Result<JsonObject> {
    let outputs: Option<JsonColumn<JsonObject>> = row.get(column)?;
    Ok(outputs.map_or_else(JsonObject::new, |outputs| outputs.0))
}
