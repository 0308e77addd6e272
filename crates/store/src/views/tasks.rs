//! The rows about the tasks of a run: steps, attempts, verdicts, artifacts, of the run, of a task or of a page.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    column::{ItemColumn, JsonColumn, NO_ITEM, RowColumns, integer},
    db::reader::StoreReader,
    error::StoreError,
    views::{
        rows::{self, query_of_run},
        view::{ArtifactRow, AttemptRow, CheckRow, StepRow},
    },
};
use wf_base::{
    keywords,
    name::{Name, RunId},
    time::Moment,
};
use wf_core::machine::{Attempt, LeftProcesses, Standing, StepCounts, StepState, TaskId};

/// A selection of the tasks of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSelection {
    /// Only tasks in one of these states; `None`: in any.
    pub states: Option<Vec<StepState>>,
    /// The number of tasks before the page.
    pub offset: usize,
    /// The most tasks of the page.
    pub limit: usize,
    pub order: StepOrder,
}

keywords! {
    /// The order of the tasks of a run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum StepOrder {
        /// That of their first events.
        #[default]
        Start = "start",
        /// The longest first.
        Duration = "duration",
        /// The one with the most attempts first.
        Attempts = "attempts",
    }
}

impl StepOrder {
    /// Returns the order in the words of the database.
    fn sql(self) -> &'static str {
        match self {
            Self::Start => "first_event, item",
            Self::Duration => "ended - started DESC NULLS LAST, first_event, item",
            Self::Attempts => "attempts DESC, first_event, item",
        }
    }
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
    /// The number of its attempts, without those of items.
    pub attempts: u32,
}

/// The items of a step in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemGroup {
    pub step: Name,
    pub state: StepState,
    pub count: usize,
    /// The first start of an attempt of them.
    pub started: Option<Moment>,
    /// The last end of one of them.
    pub ended: Option<Moment>,
}

/// A task with the processes an attempt of it left running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftRow {
    pub run: RunId,
    pub task: TaskId,
    /// The processes, as they were when the attempt ended.
    pub processes: LeftProcesses,
}

/// The table `steps`.
#[derive(Clone, Copy, Debug)]
pub struct StepTable<S>(pub(crate) S);

impl StepTable<&StoreReader> {
    /// Returns the steps of a run with any event, in the order of their first events.
    pub fn of_run(self, run: &RunId) -> Result<Vec<StepRow>, StoreError> {
        self.0.fold(run)?;
        self.0.all(&query_of_run(rows::STEPS, "ORDER BY first_event, item"), [run.as_str()], rows::step)
    }

    /// Returns a page of the tasks of a run.
    pub fn page(self, run: &RunId, selection: &StepSelection) -> Result<StepPage, StoreError> {
        self.0.fold(run)?;
        let words = selection.states.as_ref();
        let words = words.map(|states| states.iter().map(|state| state.as_str()).collect::<Vec<_>>());
        let (limit, offset) = (integer(selection.limit), integer(selection.offset));
        let values = (run.as_str(), words.map(JsonColumn), limit, offset);
        let page = format!(
            "AND (?2 IS NULL OR {} IN (SELECT value FROM json_each(?2))) ORDER BY {} LIMIT ?3 OFFSET ?4",
            rows::STATE,
            selection.order.sql()
        );
        let steps = self.0.all(&query_of_run(rows::STEPS, &page), values, rows::step)?;
        let counted = format!(
            "SELECT {}, count(*) FROM steps WHERE run = (SELECT key FROM runs WHERE id = ?1) GROUP BY 1",
            rows::STATE
        );
        let states = self.0.all(&counted, [run.as_str()], |row| {
            let count: i64 = row.get(1)?;
            Ok((row.word(0)?, usize::try_from(count).unwrap_or(usize::MAX)))
        })?;
        Ok(StepPage { steps, states: states.into_iter().collect() })
    }

    /// Returns the states and times of the whole steps of a run, without items.
    pub fn times(self, run: &RunId) -> Result<Vec<StepTimes>, StoreError> {
        self.0.fold(run)?;
        let sql = format!(
            "SELECT step, {}, standing, started, ended, attempts FROM steps
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND item = ?2",
            rows::STATE
        );
        self.0.all(&sql, (run.as_str(), NO_ITEM), |row| {
            Ok(StepTimes {
                step: row.word(0)?,
                state: row.word(1)?,
                standing: row.word(2)?,
                started: row.moment_if(3)?,
                ended: row.moment_if(4)?,
                attempts: row.get(5)?,
            })
        })
    }

    /// Returns the number of the ended whole steps of a run, by their ends.
    pub fn counts(self, run: &RunId) -> Result<StepCounts, StoreError> {
        self.0.fold(run)?;
        let sql = "SELECT state, standing, allowed_to_fail, count(*) FROM steps
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND item = ?2 GROUP BY 1, 2, 3";
        let mut counts = StepCounts::default();
        let ends = self.0.all(sql, (run.as_str(), NO_ITEM), |row| {
            Ok((row.word::<StepState>(0)?, row.word(1)?, row.get(2)?, row.get::<_, u32>(3)?))
        })?;
        for (state, standing, is_allowed_to_fail, count) in ends {
            if state.is_final() {
                *counts.of_end(state, standing, is_allowed_to_fail) += count;
            }
        }
        Ok(counts)
    }

    /// Returns the items of the repeated steps of a run, by step and state, counted.
    pub fn item_groups(self, run: &RunId) -> Result<Vec<ItemGroup>, StoreError> {
        self.0.fold(run)?;
        let sql = "SELECT step, state, count(*), min(started), max(ended) FROM steps
             WHERE run = (SELECT key FROM runs WHERE id = ?1) AND item <> ?2 GROUP BY step, state";
        self.0.all(sql, (run.as_str(), NO_ITEM), |row| {
            let count: i64 = row.get(2)?;
            Ok(ItemGroup {
                step: row.word(0)?,
                state: row.word(1)?,
                count: usize::try_from(count).unwrap_or(usize::MAX),
                started: row.moment_if(3)?,
                ended: row.moment_if(4)?,
            })
        })
    }

    /// Returns the first items of a step, of one state or of all.
    pub fn items(
        self,
        run: &RunId,
        step: &Name,
        state: Option<StepState>,
        limit: usize,
    ) -> Result<Vec<StepRow>, StoreError> {
        self.0.fold(run)?;
        let values = (run.as_str(), step.as_str(), NO_ITEM, state.map(StepState::as_str), integer(limit));
        let rest = "AND step = ?2 AND item <> ?3 AND (?4 IS NULL OR state = ?4) ORDER BY item LIMIT ?5";
        self.0.all(&query_of_run(rows::STEPS, rest), values, rows::step)
    }

    /// Returns a task of a run; `None` if it has no event.
    pub fn find(self, run: &RunId, task: &TaskId) -> Result<Option<StepRow>, StoreError> {
        self.0.fold(run)?;
        let sql = query_of_run(rows::STEPS, "AND step = ?2 AND item = ?3");
        self.0.query_one(&sql, (run.as_str(), task.step.as_str(), ItemColumn(task.item)), rows::step)
    }
}

/// The table `attempts`.
#[derive(Clone, Copy, Debug)]
pub struct AttemptTable<S>(pub(crate) S);

impl AttemptTable<&StoreReader> {
    /// Returns the attempts of a run, in the order of their starts.
    pub fn of_run(self, run: &RunId) -> Result<Vec<AttemptRow>, StoreError> {
        self.0.fold(run)?;
        self.0.all(&query_of_run(rows::ATTEMPTS, "ORDER BY first_event"), [run.as_str()], rows::attempt)
    }

    /// Returns an attempt of a run; `None` if it has none of that number.
    pub fn find(self, run: &RunId, attempt: &Attempt) -> Result<Option<AttemptRow>, StoreError> {
        self.0.fold(run)?;
        let values =
            (run.as_str(), attempt.task_id.step.as_str(), ItemColumn(attempt.task_id.item), attempt.attempt);
        let sql = query_of_run(rows::ATTEMPTS, "AND step = ?2 AND item = ?3 AND attempt = ?4");
        self.0.query_one(&sql, values, rows::attempt)
    }

    /// Returns the attempts of a task, in the order of their starts.
    pub fn of_task(self, run: &RunId, task: &TaskId) -> Result<Vec<AttemptRow>, StoreError> {
        self.0.fold(run)?;
        let values = (run.as_str(), task.step.as_str(), ItemColumn(task.item));
        let sql = query_of_run(rows::ATTEMPTS, "AND step = ?2 AND item = ?3 ORDER BY first_event");
        self.0.all(&sql, values, rows::attempt)
    }

    /// Returns the number of attempts a run began.
    pub fn count(self, run: &RunId) -> Result<u64, StoreError> {
        self.0.fold(run)?;
        let sql = "SELECT count(*) FROM attempts WHERE run = (SELECT key FROM runs WHERE id = ?1)";
        let count: Option<i64> = self.0.query_one(sql, [run.as_str()], |row| row.get(0))?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    /// Returns the processes that attempts left running, over all runs.
    pub fn left_processes(self) -> Result<Vec<LeftRow>, StoreError> {
        let sql = "SELECT runs.id, step, item, left_running
                   FROM attempts INDEXED BY attempts_left JOIN runs ON runs.key = attempts.run
                   WHERE left_running IS NOT NULL ORDER BY runs.key, attempts.first_event";
        self.0.all(sql, [], |row| {
            Ok(LeftRow {
                run: row.run(0)?,
                task: TaskId { step: row.word(1)?, item: row.item(2)? },
                processes: row.json(3)?,
            })
        })
    }
}

/// The table `checks`.
#[derive(Clone, Copy, Debug)]
pub struct CheckTable<S>(pub(crate) S);

impl CheckTable<&StoreReader> {
    /// Returns the verdicts of a run, in order.
    pub fn of_run(self, run: &RunId) -> Result<Vec<CheckRow>, StoreError> {
        self.0.fold(run)?;
        self.0.all(&query_of_run(rows::CHECKS, "ORDER BY run_seq"), [run.as_str()], rows::check)
    }

    /// Returns the verdicts on some tasks, in order. It reads the run once, however many they are.
    pub fn of_tasks(self, run: &RunId, tasks: &BTreeSet<TaskId>) -> Result<Vec<CheckRow>, StoreError> {
        self.0.fold(run)?;
        let wanted: BTreeSet<(&str, Option<u32>)> =
            tasks.iter().map(|task| (task.step.as_str(), task.item)).collect();
        let found = self.0.all(&query_of_run(rows::CHECKS, "ORDER BY run_seq"), [run.as_str()], |row| {
            let step = row.get_ref(0)?.as_str_or_null()?;
            let item: Option<u32> = row.get(1)?;
            let is_wanted = step.is_some_and(|step| wanted.contains(&(step, item)));
            is_wanted.then(|| rows::check(row)).transpose()
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Returns the verdicts on a task, in order.
    pub fn of_task(self, run: &RunId, task: &TaskId) -> Result<Vec<CheckRow>, StoreError> {
        self.0.fold(run)?;
        // Here an item is NULL for none.
        let sql = query_of_run(rows::CHECKS, "AND step = ?2 AND item IS ?3 ORDER BY run_seq");
        self.0.all(&sql, (run.as_str(), task.step.as_str(), task.item), rows::check)
    }
}

/// The table `artifacts`.
#[derive(Clone, Copy, Debug)]
pub struct ArtifactTable<S>(pub(crate) S);

impl ArtifactTable<&StoreReader> {
    /// Returns the artifacts of a run's attempts.
    pub fn of_run(self, run: &RunId) -> Result<Vec<ArtifactRow>, StoreError> {
        self.0.fold(run)?;
        let sql = query_of_run(rows::ARTIFACTS, "ORDER BY step, item, attempt, path");
        self.0.all(&sql, [run.as_str()], rows::artifact)
    }

    /// Returns the artifacts of the attempts of a task.
    pub fn of_task(self, run: &RunId, task: &TaskId) -> Result<Vec<ArtifactRow>, StoreError> {
        self.0.fold(run)?;
        let values = (run.as_str(), task.step.as_str(), ItemColumn(task.item));
        let sql = query_of_run(rows::ARTIFACTS, "AND step = ?2 AND item = ?3 ORDER BY attempt, path");
        self.0.all(&sql, values, rows::artifact)
    }

    /// Returns the first artifacts of a run, and how many it has.
    pub fn first(self, run: &RunId, limit: usize) -> Result<ArtifactPage, StoreError> {
        self.0.fold(run)?;
        let first = query_of_run(rows::ARTIFACTS, "ORDER BY step, item, attempt, path LIMIT ?2");
        let artifacts = self.0.all(&first, (run.as_str(), integer(limit)), rows::artifact)?;
        let sql = "SELECT count(*) FROM artifacts WHERE run = (SELECT key FROM runs WHERE id = ?1)";
        let total: Option<i64> = self.0.query_one(sql, [run.as_str()], |row| row.get(0))?;
        Ok(ArtifactPage {
            artifacts,
            total: usize::try_from(total.unwrap_or_default()).unwrap_or(usize::MAX),
        })
    }
}
