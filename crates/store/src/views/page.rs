//! The parts of a large run a page shows, each read without the rest.

use std::collections::BTreeMap;

use crate::{
    column::{ItemColumn, JsonColumn, MomentColumn, NO_ITEM, WordColumn},
    db::reader::StoreReader,
    error::StoreError,
    views::{
        rows,
        view::{ArtifactRow, AttemptRow, CheckRow, RunState, StepRow},
    },
};
use wf_base::{
    name::{Name, RunId},
    time::Moment,
};
use wf_core::machine::{Event, EventKind, RunOutcome, Standing, StepState, TaskId};

/// The condition of the index `events_apart`, as the schema has it: SQLite uses a partial index only for its own condition.
const IS_APART: &str = "(kind NOT IN ('attempt_started', 'attempt_ended', 'step_ended', 'check_completed', \
     'checks_passed', 'evidence_taken') \
     OR body -> '$.usage' IS NOT NULL OR body -> '$.verdict.judgement' IS NOT NULL)";

/// A selection of the tasks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSelection {
    /// Only tasks in one of these states; `None`: in any.
    pub states: Option<Vec<StepState>>,
    /// The number of tasks before the page.
    pub offset: usize,
    /// The most tasks of the page.
    pub limit: usize,
}

/// A page of the tasks of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPage {
    /// The tasks, in the order of their first events.
    pub steps: Vec<StepRow>,
    /// The number of tasks of the run in each state.
    pub states: BTreeMap<StepState, usize>,
}

/// The first artifacts of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactPage {
    pub artifacts: Vec<ArtifactRow>,
    /// The number of all artifacts of the run.
    pub total: usize,
}

/// The state of a whole step, and the time it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTimes {
    pub step: Name,
    pub state: StepState,
    /// The standing of its result.
    pub standing: Standing,
    /// The start of its first attempt.
    pub started: Option<Moment>,
    pub ended: Option<Moment>,
}

impl StoreReader {
    /// Returns a page of the tasks of a run.
    pub fn step_page(&self, run: &RunId, selection: &StepSelection) -> Result<StepPage, StoreError> {
        self.fold(run)?;
        let words = selection.states.as_ref();
        let words = words.map(|states| states.iter().map(|state| state.as_str()).collect::<Vec<_>>());
        let [limit, offset] =
            [selection.limit, selection.offset].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let values = (run.as_str(), words.map(JsonColumn), limit, offset);
        let steps = self.all(rows::STEP_PAGE, values, rows::step)?;
        let counted = "SELECT state, count(*) FROM steps WHERE run = (SELECT key FROM runs WHERE id = ?1) GROUP BY state";
        let states = self.all(counted, [run.as_str()], |row| {
            let count: i64 = row.get(1)?;
            Ok((row.get::<_, WordColumn<StepState>>(0)?.0, usize::try_from(count).unwrap_or(usize::MAX)))
        })?;
        Ok(StepPage { steps, states: states.into_iter().collect() })
    }

    /// Returns the states and times of the whole steps of a run, without items.
    pub fn step_times(&self, run: &RunId) -> Result<Vec<StepTimes>, StoreError> {
        self.fold(run)?;
        let sql = "SELECT step, state, standing, started, ended FROM steps
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND item = ?2";
        self.all(sql, (run.as_str(), NO_ITEM), |row| {
            Ok(StepTimes {
                step: row.get::<_, WordColumn<_>>(0)?.0,
                state: row.get::<_, WordColumn<_>>(1)?.0,
                standing: row.get::<_, WordColumn<_>>(2)?.0,
                started: row.get::<_, Option<MomentColumn>>(3)?.map(|at| at.0),
                ended: row.get::<_, Option<MomentColumn>>(4)?.map(|at| at.0),
            })
        })
    }

    /// Returns a task of a run; `None` if it has no event.
    pub fn step(&self, run: &RunId, task: &TaskId) -> Result<Option<StepRow>, StoreError> {
        self.fold(run)?;
        self.query_one(rows::STEP, (run.as_str(), task.step.as_str(), ItemColumn(task.item)), rows::step)
    }

    /// Returns the attempts of a task, in the order of their starts.
    pub fn attempts_of(&self, run: &RunId, task: &TaskId) -> Result<Vec<AttemptRow>, StoreError> {
        self.fold(run)?;
        let values = (run.as_str(), task.step.as_str(), ItemColumn(task.item));
        self.all(rows::TASK_ATTEMPTS, values, rows::attempt)
    }

    /// Returns the number of attempts a run began.
    pub fn attempt_count(&self, run: &RunId) -> Result<u64, StoreError> {
        self.fold(run)?;
        let sql = "SELECT count(*) FROM attempts WHERE run = (SELECT key FROM runs WHERE id = ?1)";
        let count: Option<i64> = self.query_one(sql, [run.as_str()], |row| row.get(0))?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    /// Returns the verdicts on a task, in order.
    pub fn checks_of(&self, run: &RunId, task: &TaskId) -> Result<Vec<CheckRow>, StoreError> {
        self.fold(run)?;
        self.all(rows::TASK_CHECKS, (run.as_str(), task.step.as_str(), task.item), rows::check)
    }

    /// Returns the artifacts of the attempts of a task.
    pub fn artifacts_of(&self, run: &RunId, task: &TaskId) -> Result<Vec<ArtifactRow>, StoreError> {
        self.fold(run)?;
        let values = (run.as_str(), task.step.as_str(), ItemColumn(task.item));
        self.all(rows::TASK_ARTIFACTS, values, rows::artifact)
    }

    /// Returns the first artifacts of a run, and how many it has.
    pub fn first_artifacts(&self, run: &RunId, limit: usize) -> Result<ArtifactPage, StoreError> {
        self.fold(run)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let artifacts = self.all(rows::FIRST_ARTIFACTS, (run.as_str(), limit), rows::artifact)?;
        let sql = "SELECT count(*) FROM artifacts WHERE run = (SELECT key FROM runs WHERE id = ?1)";
        let total: Option<i64> = self.query_one(sql, [run.as_str()], |row| row.get(0))?;
        Ok(ArtifactPage {
            artifacts,
            total: usize::try_from(total.unwrap_or_default()).unwrap_or(usize::MAX),
        })
    }

    /// Returns the size of the texts a run executes, in bytes.
    pub fn source_bytes(&self, run: &RunId) -> Result<u64, StoreError> {
        self.fold(run)?;
        let sql = "SELECT sum(octet_length(source_texts.text)) FROM run_sources
             JOIN source_texts ON source_texts.digest = run_sources.text
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND position >= 0";
        let bytes: Option<Option<i64>> = self.query_one(sql, [run.as_str()], |row| row.get(0))?;
        Ok(bytes.flatten().unwrap_or_default().unsigned_abs())
    }

    /// Returns the events of a run of certain kinds, in order, as far as they are read without its tasks: the
    /// beginnings and ends of attempts, steps and checks only where something was used a ledger counts.
    pub fn facts_apart(&self, run: &RunId, kinds: &[&str]) -> Result<Vec<Event>, StoreError> {
        if self.projections.is_some() {
            // Such a reader compares every event of the run.
            return Ok(self.facts(run, kinds)?.into_iter().filter(|event| is_apart(&event.fact)).collect());
        }
        let sql = format!(
            "SELECT body FROM events INDEXED BY events_apart
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND {IS_APART}
                 AND kind IN (SELECT value FROM json_each(?2)) ORDER BY run_seq"
        );
        let mut events: Vec<Event> = self
            .all(&sql, (run.as_str(), JsonColumn(kinds)), |row| row.get(0).map(|JsonColumn(event)| event))?;
        self.restore_trees(&mut events)?;
        Ok(events)
    }

    /// Returns how a run ended by the log; `None`: it has no end.
    pub(super) fn logged_end(&self, run: &RunId) -> Result<Option<(RunState, Standing)>, StoreError> {
        let sql = format!(
            "SELECT body ->> '$.outcome', body ->> '$.standing' FROM events INDEXED BY events_apart
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND {IS_APART} AND kind = 'run_ended'
             ORDER BY run_seq DESC LIMIT 1"
        );
        self.query_one(&sql, [run.as_str()], |row| {
            let outcome: WordColumn<RunOutcome> = row.get(0)?;
            Ok((RunState::Ended(outcome.0), row.get::<_, WordColumn<_>>(1)?.0))
        })
    }
}

/// Returns what [`IS_APART`] says of an event.
fn is_apart(kind: &EventKind) -> bool {
    match kind {
        EventKind::AttemptStarted(_)
        | EventKind::StepEnded { .. }
        | EventKind::ChecksPassed { .. }
        | EventKind::EvidenceTaken { .. } => false,
        EventKind::AttemptEnded { usage, .. } => !usage.is_zero(),
        EventKind::CheckCompleted { verdict, .. } => verdict.judgement.is_some(),
        _ => true,
    }
}
