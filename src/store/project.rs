use rusqlite::{Connection, Params};

use super::batch::Recorded;
use super::column::{At, ItemColumn, Json, NO_ITEM, Word};
use super::log::Position;
use crate::machine::{Artifact, Attempt, Event, Exit, Fact, Item, Place, StepState};
use crate::model::{Class, Object};
use crate::name::Name;
use crate::time::Moment;

/// A change of the projections: where, when, and with what connection.
pub(super) struct Change<'a> {
    pub(super) connection: &'a Connection,
    pub(super) run: i64,
    pub(super) n: i64,
    pub(super) at: Moment,
}

/// Shows a recorded run in the projections.
pub(super) fn run(
    connection: &Connection,
    position: Position,
    run: &Recorded,
) -> rusqlite::Result<()> {
    let change = Change::new(connection, position, run.at);
    let (parent, attempt) = match &run.parent {
        Some((parent, attempt)) => (Some(parent.as_str()), Some(attempt)),
        None => (None, None),
    };
    change.execute(
        "INSERT INTO runs (key, id, plan, path, params, parent, parent_attempt, retry_of, created,
                           config)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        (
            change.run,
            run.run.as_str(),
            run.plan.as_str(),
            &run.path,
            Json(&run.params),
            parent,
            attempt,
            run.retry_of.as_ref().map(crate::name::RunId::as_str),
            At(run.at),
            Json(&run.config),
        ),
    )?;
    for (at, (path, digest)) in run.sources.iter().enumerate() {
        change.execute(
            "INSERT INTO sources (run, position, path, text) VALUES (?1, ?2, ?3, ?4)",
            (
                change.run,
                i64::try_from(at).unwrap_or(i64::MAX),
                path,
                digest.bytes(),
            ),
        )?;
    }
    Ok(())
}

/// Shows an event in the projections.
pub(super) fn event(
    connection: &Connection,
    position: Position,
    event: &Event,
) -> rusqlite::Result<()> {
    let change = Change::new(connection, position, event.at);
    match &event.fact {
        Fact::StepKept { .. } => change.step_kept(&event.fact),
        Fact::StepExpanded { step, items } => change.step_expanded(step, items),
        Fact::LockAwaited { place, .. } => change.step_waits(place, ""),
        Fact::CacheHit { place, found } => {
            change.cache_hit(place, &found.outputs)?;
            let (place, attempt) = (place.clone(), 0);
            change.artifacts(&Attempt { place, attempt }, &found.artifacts)
        }
        Fact::AttemptStarted(attempt) => change.attempt_started(attempt),
        Fact::AttemptEnded {
            attempt,
            how,
            class,
            outputs,
            artifacts,
            ..
        } => {
            change.attempt_ended(attempt, how, *class)?;
            change.artifacts(attempt, artifacts)?;
            change.step_answered(&attempt.place, how, outputs)
        }
        Fact::CriterionJudged { attempt, verdict } => change.judged(attempt.as_ref(), verdict),
        Fact::RetryScheduled { attempt, why, .. } => change.step_waits(&attempt.place, why),
        Fact::StepEnded { .. } => change.step_ended(&event.fact),
        Fact::RunEnded { .. } => change.run_ended(&event.fact),
        Fact::RoundClosed(round) if round.goes_on() => change.reopened(&round.reopened),
        Fact::EvidenceStale(stale) => change.stale(stale),
        Fact::ApprovalAsked(ask) => change.asked(ask),
        Fact::ApprovalAnswered { .. } => change.asks(-1),
        Fact::RunApproved(approved) => change.approved(approved),
        Fact::RunStarted { .. }
        | Fact::GateJudged { .. }
        | Fact::GatesPassed { .. }
        | Fact::Escalated { .. }
        | Fact::RunBlocked { .. }
        | Fact::PlannerAsked { .. }
        | Fact::PlannerAnswered { .. }
        | Fact::PlannerRefused { .. }
        | Fact::BaselineTaken(_)
        | Fact::EvidenceTaken { .. }
        | Fact::ItemKept { .. }
        | Fact::StepLeft { .. }
        | Fact::ResultDropped { .. }
        | Fact::AttemptStaged(_)
        | Fact::AttemptUnstaged(_)
        | Fact::RunStopping { .. }
        | Fact::CancelRequested { .. }
        | Fact::RunTimedOut
        | Fact::ChecksPassed { .. }
        | Fact::MemoryAdvised { .. }
        | Fact::RoundClosed(_)
        | Fact::BudgetSet(_)
        | Fact::BudgetNoticed { .. }
        | Fact::BudgetExtended { .. }
        | Fact::BudgetSpent { .. }
        | Fact::PhaseEntered { .. } => Ok(()),
    }
}

impl<'a> Change<'a> {
    fn new(connection: &'a Connection, position: Position, at: Moment) -> Self {
        Self {
            connection,
            run: position.run,
            n: position.n,
            at,
        }
    }

    pub(super) fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(sql)?
            .execute(values)
            .map(drop)
    }

    fn step_kept(&self, fact: &Fact) -> rusqlite::Result<()> {
        let Fact::StepKept {
            step,
            outputs,
            standing,
            from,
        } = fact
        else {
            return Ok(());
        };
        self.execute(
            "INSERT INTO steps (run, step, item, first, state, standing, ended, kept_from, outputs)
             VALUES (?1, ?2, ?3, ?4, 'succeeded', ?5, ?6, ?7, ?8)",
            (
                self.run,
                step.as_str(),
                NO_ITEM,
                self.n,
                standing.as_str(),
                At(self.at),
                from.as_str(),
                given(outputs),
            ),
        )
    }

    fn step_expanded(&self, step: &Name, items: &[Item]) -> rusqlite::Result<()> {
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO steps (run, step, item, item_key, first, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO UPDATE SET state = excluded.state",
        )?;
        // A round before this one may have had more of them.
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        self.execute(
            "DELETE FROM steps WHERE run = ?1 AND step = ?2 AND item >= ?3",
            (self.run, step.as_str(), count),
        )?;
        let running = StepState::Running.as_str();
        insert.execute((
            self.run,
            step.as_str(),
            NO_ITEM,
            None::<&str>,
            self.n,
            running,
        ))?;
        let queued = StepState::Queued.as_str();
        for (at, item) in items.iter().enumerate() {
            let at = i64::try_from(at).unwrap_or(i64::MAX);
            insert.execute((self.run, step.as_str(), at, &item.key, self.n, queued))?;
        }
        Ok(())
    }

    pub(super) fn step_waits(&self, place: &Place, why: &str) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO steps (run, step, item, first, state, why)
             VALUES (?1, ?2, ?3, ?4, 'waiting', ?5)
             ON CONFLICT DO UPDATE SET state = excluded.state, why = excluded.why",
            (
                self.run,
                place.step.as_str(),
                ItemColumn(place.item),
                self.n,
                why,
            ),
        )
    }

    fn cache_hit(&self, place: &Place, outputs: &Object) -> rusqlite::Result<()> {
        self.execute(
            "INSERT INTO steps (run, step, item, first, state, started, outputs)
             VALUES (?1, ?2, ?3, ?4, 'verifying', ?5, ?6)
             ON CONFLICT DO UPDATE SET state = excluded.state,
                 started = coalesce(started, excluded.started), outputs = excluded.outputs",
            (
                self.run,
                place.step.as_str(),
                ItemColumn(place.item),
                self.n,
                At(self.at),
                given(outputs),
            ),
        )
    }

    fn attempt_started(&self, attempt: &Attempt) -> rusqlite::Result<()> {
        let (step, item) = (attempt.place.step.as_str(), ItemColumn(attempt.place.item));
        self.execute(
            "INSERT INTO steps (run, step, item, first, state, attempts, started)
             VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6)
             ON CONFLICT DO UPDATE SET state = excluded.state, attempts = excluded.attempts,
                 started = coalesce(started, excluded.started), why = '', outputs = NULL",
            (self.run, step, &item, self.n, attempt.attempt, At(self.at)),
        )?;
        self.execute(
            "INSERT INTO attempts (run, step, item, attempt, first, started)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
            (self.run, step, &item, attempt.attempt, self.n, At(self.at)),
        )
    }

    fn attempt_ended(
        &self,
        attempt: &Attempt,
        how: &Exit,
        class: Option<Class>,
    ) -> rusqlite::Result<()> {
        self.execute(
            "UPDATE attempts SET ended = ?5, exit = ?6, class = ?7
             WHERE run = ?1 AND step = ?2 AND item = ?3 AND attempt = ?4",
            (
                self.run,
                attempt.place.step.as_str(),
                ItemColumn(attempt.place.item),
                attempt.attempt,
                At(self.at),
                Json(how),
                class.map(Word),
            ),
        )
    }

    fn artifacts(&self, attempt: &Attempt, artifacts: &[Artifact]) -> rusqlite::Result<()> {
        for artifact in artifacts {
            self.execute(
                "INSERT OR REPLACE INTO artifacts (run, step, item, attempt, path, digest, size)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                (
                    self.run,
                    attempt.place.step.as_str(),
                    ItemColumn(attempt.place.item),
                    attempt.attempt,
                    &artifact.path,
                    artifact.digest.to_string(),
                    i64::try_from(artifact.size).unwrap_or(i64::MAX),
                ),
            )?;
        }
        Ok(())
    }

    /// The work of a step says that it succeeded; nothing is believed yet.
    fn step_answered(&self, place: &Place, how: &Exit, outputs: &Object) -> rusqlite::Result<()> {
        if !how.is_success() {
            return Ok(());
        }
        self.execute(
            "UPDATE steps SET state = 'verifying', outputs = ?4
             WHERE run = ?1 AND step = ?2 AND item = ?3",
            (
                self.run,
                place.step.as_str(),
                ItemColumn(place.item),
                given(outputs),
            ),
        )
    }

    fn step_ended(&self, fact: &Fact) -> rusqlite::Result<()> {
        let Fact::StepEnded {
            place,
            state,
            standing,
            why,
            class,
            tolerated,
            cached,
            outputs,
            from,
        } = fact
        else {
            return Ok(());
        };
        self.execute(
            "INSERT INTO steps (run, step, item, first, state, standing, ended, why, class,
                                tolerated, cached, outputs, kept_from)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
             ON CONFLICT DO UPDATE SET state = excluded.state, standing = excluded.standing,
                 ended = excluded.ended, why = excluded.why, class = excluded.class,
                 tolerated = excluded.tolerated, cached = excluded.cached,
                 outputs = coalesce(excluded.outputs, outputs),
                 kept_from = coalesce(excluded.kept_from, kept_from)",
            (
                self.run,
                place.step.as_str(),
                ItemColumn(place.item),
                self.n,
                state.as_str(),
                standing.as_str(),
                At(self.at),
                why,
                class.map(Word),
                tolerated,
                cached.map(|key| key.to_string()),
                given(outputs),
                from.as_ref().map(crate::name::RunId::as_str),
            ),
        )
    }

    /// Steps begin anew, in another round, and so does what is asked of the whole.
    fn reopened(&self, steps: &[Name]) -> rusqlite::Result<()> {
        let own = "DELETE FROM checks WHERE run = ?1 AND step IS NULL";
        self.execute(own, [self.run])?;
        for step in steps {
            self.execute(
                "UPDATE steps SET state = 'pending', standing = 'unchecked', ended = NULL,
                     why = '', class = NULL, tolerated = 0, cached = NULL, outputs = NULL,
                     kept_from = NULL, stale = NULL
                 WHERE run = ?1 AND step = ?2",
                (self.run, step.as_str()),
            )?;
        }
        Ok(())
    }

    fn run_ended(&self, fact: &Fact) -> rusqlite::Result<()> {
        let Fact::RunEnded {
            outcome,
            why,
            failed,
            standing,
            tally,
            outputs,
            stale: _,
            accepted,
        } = fact
        else {
            return Ok(());
        };
        self.execute(
            "UPDATE runs SET ended = ?2, outcome = ?3, why = ?4, failed = ?5, standing = ?6,
                 tally = ?7, outputs = ?8, accepted = ?9
             WHERE key = ?1",
            (
                self.run,
                At(self.at),
                outcome.as_str(),
                why,
                failed.as_ref().map(Name::as_str),
                standing.as_str(),
                Json(tally),
                given(outputs),
                accepted.map(Json),
            ),
        )
    }
}

/// Outputs as a column: nothing where there are none.
fn given(outputs: &Object) -> Option<Json<&Object>> {
    (!outputs.is_empty()).then_some(Json(outputs))
}
