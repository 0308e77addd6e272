//! The distance of a round from success, and its failure class: the input of the solver (artoo
//! v0.8, D and P).

use std::time::Duration;

use crate::{
    ggs::{self, RoundMeasures},
    machine::{
        state::{
            Run, TaskIx,
            budget_limits::is_of_budget,
            machine_state::StepRecord,
            parts::task_record::TaskRecord,
            scope::{self, TaskScope},
        },
        words::{CriteriaCount, FailureTally, RoundFailureClass, StepState},
    },
};
use wf_model::{Check, FailureClass, ReplanSettings, StepIx, StepRepetition};

/// A failed step of a round.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct FailedStep {
    pub(in crate::machine) step: u32,
    /// The cause: the approach, if that is to blame for a part of it; else the environment, if that is; else the engine.
    pub(in crate::machine) cause: RoundFailureClass,
    /// True if its work failed for another reason than the budget: another way of doing it may succeed.
    pub(in crate::machine) by_work: bool,
}

impl FailedStep {
    /// True if the step may be done in another way. What the engine failed to measure shows nothing of the one in use.
    pub(in crate::machine) fn may_change(self) -> bool {
        self.cause != RoundFailureClass::Engine || self.by_work
    }
}

/// A task of a failed step.
struct MeasuredTask<'a> {
    ix: StepIx,
    place: &'a TaskRecord,
    record: &'a StepRecord,
}

/// The failures of a step, as they are counted.
#[derive(Default)]
struct StepFailures {
    tally: FailureTally,
    work: bool,
}

impl StepFailures {
    /// Counts the failure of a check, or of work; one of no known class is due to the approach.
    fn note(&mut self, failure_class: Option<FailureClass>) {
        self.tally.add(failure_class.or(Some(FailureClass::Logical)));
    }

    fn cause(&self) -> RoundFailureClass {
        match self.tally.class() {
            FailureClass::Logical => RoundFailureClass::Logical,
            FailureClass::Environmental => RoundFailureClass::Environmental,
            FailureClass::Engine | FailureClass::Interrupted => RoundFailureClass::Engine,
        }
    }
}

/// The measurement of a round.
#[derive(Default)]
pub(in crate::machine) struct RoundMeasurement {
    /// The weight of the failed criteria.
    weight: f64,
    /// The number of criteria, and of failed ones.
    of: u32,
    unmet: u32,
    failures: FailureTally,
    /// The first failed criterion.
    pub(in crate::machine) first: Option<String>,
    pub(in crate::machine) failing: Vec<FailedStep>,
    /// The unreached steps.
    pub(in crate::machine) unreached: Vec<u32>,
}

impl RoundMeasurement {
    fn add_failure(&mut self, weight: f64, count: u32, name: impl FnOnce() -> String) {
        if count == 0 {
            return;
        }
        self.weight += weight;
        self.unmet += count;
        if self.first.is_none() {
            self.first = Some(name());
        }
    }

    /// Returns the input of the solver.
    pub(in crate::machine) fn measures(
        &self,
        replan: &ReplanSettings,
        replans: u32,
        elapsed: Duration,
    ) -> RoundMeasures {
        RoundMeasures {
            d: ggs::distance(self.weight, self.of),
            p: ggs::process(self.failures.logical, self.failures.environmental),
            omega: ggs::resource(replan, replans, elapsed),
        }
    }

    /// Returns the number of passing criteria.
    pub(in crate::machine) fn criteria(&self) -> CriteriaCount {
        CriteriaCount { passed: self.of.saturating_sub(self.unmet), total: self.of }
    }

    /// Returns the cause of a failure of the plan as a whole.
    pub(in crate::machine) fn plan_cause(&self) -> RoundFailureClass {
        self.failure_class().unwrap_or(RoundFailureClass::Logical)
    }

    pub(in crate::machine) fn failure_class(&self) -> Option<RoundFailureClass> {
        RoundFailureClass::of(self.failures)
    }
}

/// Measures the ended round. Criteria of unreached steps count as failed,
/// without a failure class; steps skipped by rule or with a tolerated failure do not count, nor do open steps without
/// checks, and neither do the plan's own criteria before they were checked once.
///
/// **Invariant:** it follows from the ends of tasks and the rulings on them, never from the
/// order in which they came.
pub(in crate::machine) fn measure(run: &Run) -> RoundMeasurement {
    let mut measured = RoundMeasurement::default();
    let mut excused = vec![false; run.plan().steps().len()];
    for ix in run.plan().order() {
        if run.plan().is_finally(ix) {
            continue;
        }
        let record = run.state().step_record(ix.0);
        let mut needs = run.plan().step(ix).depends_on.iter();
        let hangs = needs.any(|need| excused.get(need.index()) == Some(&true));
        let inherited = hangs && !run.asks_status(ix.0);
        let excuses = inherited || skipped_by_rule(run, ix);
        if record.state() == StepState::Skipped && excuses {
            if let Some(excused) = excused.get_mut(ix.index()) {
                *excused = true;
            }
        } else if !record.is_allowed_to_fail() && !did_nothing(run, ix, record) {
            measure_step(run, ix, record, &mut measured);
        }
    }
    measure_plan(run, &mut measured);
    measured
}

/// True if a step was skipped because of its own condition or by the user's choice.
fn skipped_by_rule(run: &Run, ix: StepIx) -> bool {
    let record = run.state().step_record(ix.0);
    if run.state().is_left_out(ix.0) {
        return true;
    }
    let Some(when) = &run.plan().step(ix).when else {
        return false;
    };
    let view =
        TaskScope { plan: run.plan(), state: run.state(), task: Some(TaskIx { step: ix.0, item: None }) };
    !record.is_waiting() && matches!(scope::evaluate_condition(&view, when), Ok(false))
}

/// True if a step ended and there was nothing to do and nothing to check.
fn did_nothing(run: &Run, ix: StepIx, record: &StepRecord) -> bool {
    let step = run.plan().step(ix);
    step.is_open() && step.verify.is_empty() && record.state() == StepState::Succeeded
}

fn measure_step(run: &Run, ix: StepIx, record: &StepRecord, measured: &mut RoundMeasurement) {
    let step = run.plan().step(ix);
    let each = u32::try_from(step.verify.len()).unwrap_or(u32::MAX).max(1);
    let Some(places) = places(run, ix, record) else {
        // The step was not reached.
        let missing = each.saturating_mul(expected(run, ix));
        measured.of += missing;
        measured.unreached.push(ix.0);
        let name = || format!("{}: not reached", step.id);
        return measured.add_failure(f64::from(missing), missing, name);
    };
    let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
    measured.of += each.saturating_mul(count.max(1));
    if record.state() == StepState::Failed {
        let mut failures = StepFailures::default();
        for place in places {
            measure_place(run, &MeasuredTask { ix, place, record }, each, measured, &mut failures);
        }
        let cause =
            if failures.tally.is_empty() { RoundFailureClass::Environmental } else { failures.cause() };
        let by_work = failures.work;
        measured.failing.push(FailedStep { step: ix.0, cause, by_work });
    }
}

/// Returns the tasks of a reached step, except those left out by the user.
fn places<'a>(run: &'a Run, ix: StepIx, record: &'a StepRecord) -> Option<Vec<&'a TaskRecord>> {
    let Some(many) = record.items() else {
        let reached = matches!(record.state(), StepState::Succeeded | StepState::Failed);
        return reached.then(|| vec![record.only_task()]);
    };
    let all = many.items.iter().zip(&many.records);
    let chosen = all.filter(|(item, _)| !run.state().is_deselected(ix.0, &item.key));
    let chosen: Vec<&TaskRecord> = chosen.map(|(_, place)| place).collect();
    let well = |place: &&TaskRecord| place.ended() == Some(StepState::Succeeded);
    let reached = match record.state() {
        StepState::Succeeded | StepState::Failed => true,
        // Items were left out, and all others succeeded.
        StepState::Skipped => chosen.iter().all(well),
        _ => false,
    };
    reached.then_some(chosen)
}

/// Returns the number of tasks of an unreached step, as far as it is known.
fn expected(run: &Run, ix: StepIx) -> u32 {
    let count = match &run.plan().step(ix).fan {
        StepRepetition::List(items) => items.len(),
        StepRepetition::Matrix(rows) => rows.len(),
        StepRepetition::Once | StepRepetition::Each(_) => 1,
    };
    let chosen = run.state().chosen_items(ix.0);
    let count = chosen.map_or(count, |chosen| count.min(chosen));
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// Measures a task of a failed step.
fn measure_place(
    run: &Run,
    task: &MeasuredTask<'_>,
    each: u32,
    measured: &mut RoundMeasurement,
    failures: &mut StepFailures,
) {
    let MeasuredTask { ix, place, record } = *task;
    let step = run.plan().step(ix);
    let ended = if record.items().is_some() { place.ended() } else { Some(record.state()) };
    match ended {
        Some(StepState::Succeeded) => return,
        Some(StepState::Failed) => {}
        // An item whose turn did not come.
        _ => {
            return measured.add_failure(f64::from(each), each, || format!("{}: not reached", step.id));
        }
    }
    let unmet = place.history_of_round().map(|tries| tries.failed.as_slice());
    let Some(unmet) = unmet.filter(|unmet| !unmet.is_empty()) else {
        // The work itself failed: none of its criteria was checked.
        let name = || format!("{}: the work", step.id);
        measured.add_failure(f64::from(each), each, name);
        let inside = place.history_of_round().and_then(|tries| tries.inside);
        match inside {
            Some(inside) => measured.failures.add_all(inside),
            None => measured.failures.add(place.failure_class()),
        }
        let exit = place.history_of_round().and_then(|tries| tries.exit.as_deref());
        failures.work |= !exit.is_some_and(is_of_budget);
        return failures.note(place.failure_class());
    };
    let failed = |check: &&Check| unmet.iter().any(|one| one.criterion == check.name);
    let unasked = count_unchecked(&step.verify, step.verify.iter().filter(failed));
    for one in unmet {
        let weight = run.state().control.weight(Some(ix.0), &one.criterion);
        measured.add_failure(weight, 1, || format!("{}: {}", step.id, one.criterion));
        measured.failures.add(one.failure_class);
        failures.note(one.failure_class);
    }
    measured.add_failure(f64::from(unasked), unasked, || format!("{}: not reached", step.id));
}

/// True if the plan has unchecked criteria of its own in this round.
pub(in crate::machine) fn has_unchecked_criteria(run: &Run) -> bool {
    !run.plan().parts().verify.is_empty() && run.state().proof.judged().is_none()
}

fn measure_plan(run: &Run, measured: &mut RoundMeasurement) {
    let criteria = &run.plan().parts().verify;
    if !run.state().control.counts_plan_criteria() {
        return;
    }
    measured.of += u32::try_from(criteria.len()).unwrap_or(u32::MAX);
    if run.state().proof.judged().is_none() {
        let missing = u32::try_from(criteria.len()).unwrap_or(u32::MAX);
        if let Some(first) = criteria.first() {
            let name = || format!("plan: {}", first.name);
            measured.add_failure(f64::from(missing), missing, name);
        }
        return;
    }
    let refuted = run.state().proof.refuted_criteria();
    let failed = |check: &&Check| refuted.iter().any(|one| one.criterion == check.name);
    let later = count_unchecked(criteria, criteria.iter().filter(failed));
    for one in refuted {
        let weight = run.state().control.weight(None, &one.criterion);
        measured.add_failure(weight, 1, || format!("plan: {}", one.criterion));
        measured.failures.add(one.failure_class);
    }
    measured.add_failure(f64::from(later), later, || "plan: not reached".into());
}

/// Returns the number of criteria not checked because an earlier phase failed: they count as
/// failed, without a failure class.
fn count_unchecked<'a>(all: &[Check], failed: impl Iterator<Item = &'a Check>) -> u32 {
    let Some(phase) = failed.map(|check| check.phase).max() else {
        return 0;
    };
    let later = all.iter().filter(|check| check.phase > phase).count();
    u32::try_from(later).unwrap_or(u32::MAX)
}
