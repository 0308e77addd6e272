//! The events of runs, applied to the tables of runs.

use rusqlite::{Connection, Params};

use crate::{
    column::{ItemColumn, JsonColumn, MomentColumn, NO_ITEM, WordColumn, integer},
    log::{chain::NewRunRecord, tail::RunPosition},
};
use wf_base::{name::Name, time::Moment};
use wf_core::machine::{
    ApprovalRequest, Artifact, Attempt, CachedResult, CheckVerdict, Event, EventKind, StaleFile, StepItem,
    StepState, TaskId, WorkExit,
};
use wf_model::JsonObject;

/// A change of the projections: the run, the time, and the connection.
pub(crate) struct ProjectionChange<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) run: i64,
    pub(crate) n: i64,
    pub(crate) at: Moment,
}

/// Applies a recorded run to the projections.
pub(crate) fn run(
    connection: &Connection,
    position: RunPosition,
    run: &NewRunRecord,
) -> rusqlite::Result<()> {
    let change = ProjectionChange::new(connection, position, run.at);
    let (parent, attempt) = match &run.parent {
        Some((parent, attempt)) => (Some(parent.as_str()), Some(attempt)),
        None => (None, None),
    };
    change.execute(
        "INSERT INTO runs (key, id, plan, path, params, parent, parent_attempt, retry_of, session,
                           created, config)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        (
            change.run,
            run.run.as_str(),
            run.plan.as_str(),
            &run.path,
            JsonColumn(&run.params),
            parent,
            attempt,
            run.retry_of.as_ref().map(wf_base::name::RunId::as_str),
            run.session.as_ref().map(wf_base::name::SessionName::as_str),
            MomentColumn(run.at),
            JsonColumn(&run.config),
        ),
    )?;
    for (at, (path, digest)) in run.sources.iter().enumerate() {
        change.execute(
            "INSERT INTO run_sources (run, position, path, text) VALUES (?1, ?2, ?3, ?4)",
            (change.run, integer(at), path, digest.bytes()),
        )?;
    }
    Ok(())
}

/// Applies an event to the projections.
pub(crate) fn event(connection: &Connection, position: RunPosition, event: &Event) -> rusqlite::Result<()> {
    let change = ProjectionChange::new(connection, position, event.at);
    let fact = &event.fact;
    match fact {
        EventKind::StepReused { .. } => change.step_kept(fact),
        EventKind::StepExpanded { step, items } => change.step_expanded(step, items),
        EventKind::LockRequested { task_id, .. } => change.step_waits(task_id, ""),
        EventKind::CacheHit { task_id, found } => change.cache_hit(task_id, found),
        EventKind::AttemptStarted(attempt) => change.attempt_started(attempt),
        EventKind::AttemptEnded { .. } => change.attempt_ended(fact),
        EventKind::CheckCompleted { attempt, verdict } => change.apply_verdict(attempt.as_ref(), verdict),
        EventKind::RetryScheduled { attempt, reason, .. } => change.step_waits(&attempt.task_id, reason),
        EventKind::GuidanceRequested(start) => change.step_waits(&start.attempt.task_id, &start.reason),
        EventKind::StepEnded { .. } => change.step_ended(fact),
        EventKind::RunEnded { .. } => change.run_ended(fact),
        EventKind::RoundCompleted(round) if round.goes_on() => change.reopen_steps(&round.reopened),
        EventKind::EvidenceStale(stale) => change.mark_stale(stale),
        EventKind::ApprovalRequested(ask) => change.apply_question(ask),
        EventKind::ApprovalResolved { .. } => change.count_open_questions(-1),
        EventKind::RunApproved(approved) => change.approved(approved),
        // All others change no row.
        _ => Ok(()),
    }
}

impl<'a> ProjectionChange<'a> {
    fn new(connection: &'a Connection, position: RunPosition, at: Moment) -> Self {
        Self { connection, run: position.run, n: position.n, at }
    }

    pub(crate) fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute(values).map(drop)
    }

    fn step_kept(&self, kind: &EventKind) -> rusqlite::Result<()> {
        let EventKind::StepReused { step, outputs, standing, reused_from: from, .. } = kind else {
            return Ok(());
        };
        self.execute(
            "INSERT INTO steps (run, step, item, first_event, state, standing, ended, reused_from, outputs)
             VALUES (?1, ?2, ?3, ?4, 'succeeded', ?5, ?6, ?7, ?8)",
            (
                self.run,
                step.as_str(),
                NO_ITEM,
                self.n,
                standing.as_str(),
                MomentColumn(self.at),
                from.as_str(),
                outputs_column(outputs),
            ),
        )
    }

    fn step_expanded(&self, step: &Name, items: &[StepItem]) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO steps (run, step, item, item_key, first_event, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET state = excluded.state",
        )?;
        // An earlier round may have had more items.
        let count = integer(items.len());
        self.execute(
            "DELETE FROM steps WHERE run = ?1 AND step = ?2 AND item >= ?3",
            (self.run, step.as_str(), count),
        )?;
        let running = StepState::Running.as_str();
        insert.execute((self.run, step.as_str(), NO_ITEM, None::<&str>, self.n, running))?;
        let queued = StepState::Queued.as_str();
        for (at, item) in items.iter().enumerate() {
            insert.execute((self.run, step.as_str(), integer(at), &item.key, self.n, queued))?;
        }
        Ok(())
    }

    fn step_waits(&self, task_id: &TaskId, reason: &str) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO steps (run, step, item, first_event, state, reason)
             VALUES (?1, ?2, ?3, ?4, 'waiting', ?5)
             ON CONFLICT DO UPDATE SET state = excluded.state, reason = excluded.reason",
            (self.run, task_id.step.as_str(), ItemColumn(task_id.item), self.n, reason),
        )
    }

    fn cache_hit(&self, task_id: &TaskId, result: &CachedResult) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO steps (run, step, item, first_event, state, started, outputs)
             VALUES (?1, ?2, ?3, ?4, 'verifying', ?5, ?6)
             ON CONFLICT DO UPDATE SET state = excluded.state,
                 started = coalesce(started, excluded.started), outputs = excluded.outputs",
            (
                self.run,
                task_id.step.as_str(),
                ItemColumn(task_id.item),
                self.n,
                MomentColumn(self.at),
                outputs_column(&result.outputs),
            ),
        )?;
        let (task_id, attempt) = (task_id.clone(), 0);
        self.artifacts(&Attempt { task_id, attempt }, &result.artifacts)
    }

    fn attempt_started(&self, attempt: &Attempt) -> rusqlite::Result<()> {
        let (step, item) = (attempt.task_id.step.as_str(), ItemColumn(attempt.task_id.item));
        self.execute(
            "INSERT INTO steps (run, step, item, first_event, state, attempts, started)
             VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6)
             ON CONFLICT DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
                 started = coalesce(started, excluded.started), reason = '', outputs = NULL",
            (self.run, step, &item, self.n, attempt.attempt, MomentColumn(self.at)),
        )?;
        self.execute(
            "INSERT INTO attempts (run, step, item, attempt, first_event, started)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
            (self.run, step, &item, attempt.attempt, self.n, MomentColumn(self.at)),
        )
    }

    fn attempt_ended(&self, kind: &EventKind) -> rusqlite::Result<()> {
        let EventKind::AttemptEnded { attempt, how, failure_class, outputs, artifacts, left, .. } = kind
        else {
            return Ok(());
        };
        self.execute(
            "UPDATE attempts SET ended = ?5, exit = ?6, failure_class = ?7, left_running = ?8
             WHERE run = ?1 AND step = ?2 AND item = ?3 AND attempt = ?4",
            (
                self.run,
                attempt.task_id.step.as_str(),
                ItemColumn(attempt.task_id.item),
                attempt.attempt,
                MomentColumn(self.at),
                JsonColumn(how),
                failure_class.map(WordColumn),
                (!left.left.is_empty()).then_some(JsonColumn(left)),
            ),
        )?;
        self.artifacts(attempt, artifacts)?;
        self.step_answered(&attempt.task_id, how, outputs)
    }

    fn artifacts(&self, attempt: &Attempt, artifacts: &[Artifact]) -> rusqlite::Result<()> {
        for artifact in artifacts {
            self.execute(
                "INSERT OR REPLACE INTO artifacts (run, step, item, attempt, path, digest, size)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                (
                    self.run,
                    attempt.task_id.step.as_str(),
                    ItemColumn(attempt.task_id.item),
                    attempt.attempt,
                    &artifact.path,
                    artifact.digest.to_string(),
                    integer(artifact.size),
                ),
            )?;
        }
        Ok(())
    }

    /// Applies the reported success of a step; it is still unverified.
    fn step_answered(&self, task_id: &TaskId, exit: &WorkExit, outputs: &JsonObject) -> rusqlite::Result<()> {
        if !exit.is_success() {
            return Ok(());
        }
        self.execute(
            "UPDATE steps SET state = 'verifying', outputs = ?4
             WHERE run = ?1 AND step = ?2 AND item = ?3",
            (self.run, task_id.step.as_str(), ItemColumn(task_id.item), outputs_column(outputs)),
        )
    }

    fn step_ended(&self, kind: &EventKind) -> rusqlite::Result<()> {
        let EventKind::StepEnded {
            task_id,
            state,
            standing,
            reason,
            failure_class,
            allowed_to_fail,
            cache_key: cached,
            outputs,
            reused_from: from,
        } = kind
        else {
            return Ok(());
        };
        self.execute(
            "INSERT INTO steps (run, step, item, first_event, state, standing, ended, reason, failure_class,
                                allowed_to_fail, cache_key, outputs, reused_from)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
             ON CONFLICT DO UPDATE SET state = excluded.state, standing = excluded.standing,
                 ended = excluded.ended, reason = excluded.reason, failure_class = excluded.failure_class,
                 allowed_to_fail = excluded.allowed_to_fail, cache_key = excluded.cache_key,
                 outputs = coalesce(excluded.outputs, outputs),
                 reused_from = coalesce(excluded.reused_from, reused_from)",
            (
                self.run,
                task_id.step.as_str(),
                ItemColumn(task_id.item),
                self.n,
                state.as_str(),
                standing.as_str(),
                MomentColumn(self.at),
                reason,
                failure_class.map(WordColumn),
                allowed_to_fail,
                cached.map(|key| key.to_string()),
                outputs_column(outputs),
                from.as_ref().map(wf_base::name::RunId::as_str),
            ),
        )
    }

    /// Reopens steps for another round, and the questions and criteria of the whole plan.
    fn reopen_steps(&self, steps: &[Name]) -> rusqlite::Result<()> {
        let own = "DELETE FROM checks WHERE run = ?1 AND step IS NULL";
        self.execute(own, [self.run])?;
        for step in steps {
            self.execute(
                "UPDATE steps SET state = 'pending', standing = 'unchecked', ended = NULL,
                     reason = '', failure_class = NULL, allowed_to_fail = 0, cache_key = NULL, outputs = NULL,
                     reused_from = NULL, stale = NULL
                 WHERE run = ?1 AND step = ?2",
                (self.run, step.as_str()),
            )?;
        }
        Ok(())
    }

    fn run_ended(&self, kind: &EventKind) -> rusqlite::Result<()> {
        let EventKind::RunEnded {
            outcome,
            reason,
            failed_step: failed,
            standing,
            counts,
            failures: _,
            outputs,
            stale: _,
            accepted,
            offers,
        } = kind
        else {
            return Ok(());
        };
        self.execute(
            "UPDATE runs SET ended = ?2, outcome = ?3, reason = ?4, failed_step = ?5, standing = ?6,
                 counts = ?7, outputs = ?8, accepted = ?9, undo = ?10
             WHERE key = ?1",
            (
                self.run,
                MomentColumn(self.at),
                outcome.as_str(),
                reason,
                failed.as_ref().map(Name::as_str),
                standing.as_str(),
                JsonColumn(counts),
                outputs_column(outputs),
                accepted.map(JsonColumn),
                offers.undo.as_deref().map(JsonColumn),
            ),
        )
    }
}

/// Converts outputs to a column: null if there are none.
fn outputs_column(outputs: &JsonObject) -> Option<JsonColumn<&JsonObject>> {
    (!outputs.is_empty()).then_some(JsonColumn(outputs))
}

/// The findings of checks and of the user.
impl ProjectionChange<'_> {
    fn apply_verdict(&self, attempt: Option<&Attempt>, verdict: &CheckVerdict) -> rusqlite::Result<()> {
        if let Some(attempt) = attempt.filter(|attempt| attempt.attempt == 0 && !verdict.passed()) {
            // The cached result is not trusted, so none of it belongs to this run.
            self.execute(
                "DELETE FROM artifacts WHERE run = ?1 AND step = ?2 AND item = ?3 AND attempt = 0",
                (self.run, attempt.task_id.step.as_str(), ItemColumn(attempt.task_id.item)),
            )?;
        }
        self.execute(
            "INSERT INTO checks (run, run_seq, step, item, attempt, at, verdict)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                self.run,
                self.n,
                attempt.map(|attempt| attempt.task_id.step.as_str()),
                attempt.and_then(|attempt| attempt.task_id.item),
                attempt.map(|attempt| attempt.attempt),
                MomentColumn(self.at),
                JsonColumn(verdict),
            ),
        )
    }

    /// Marks a task as stale, and the repeated step it is an item of.
    fn mark_stale(&self, StaleFile { task_id, path }: &StaleFile) -> rusqlite::Result<()> {
        let (step, item) = (task_id.step.as_str(), ItemColumn(task_id.item));
        self.execute(
            "UPDATE steps SET standing = 'reported', stale = iif(item = ?3, ?4, stale)
             WHERE run = ?1 AND step = ?2 AND item IN (?3, ?5) AND standing IN ('verified', 'plausible')",
            (self.run, step, item, path, NO_ITEM),
        )
    }

    /// Applies a question to the user.
    fn apply_question(&self, request: &ApprovalRequest) -> rusqlite::Result<()> {
        self.count_open_questions(1)?;
        match &request.task_id {
            Some(place) => self.step_waits(place, &request.message),
            None => Ok(()),
        }
    }

    /// Counts the open questions to the user.
    fn count_open_questions(&self, more: i32) -> rusqlite::Result<()> {
        let sql = "UPDATE runs SET pending_approvals = pending_approvals + ?2 WHERE key = ?1";
        self.execute(sql, (self.run, more))
    }
}
