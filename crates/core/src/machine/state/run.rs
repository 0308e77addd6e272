//! One run of one plan: its plan, its state, and the turn in progress.
//!
//! **Invariant:** the state is changed by the fold alone, by way of `Run::emit` and `Run::replay`: all else borrows it from
//! [`Run::state`], and cannot write it.

use std::{collections::BTreeMap, sync::Arc};

use crate::machine::{
    state::{
        self, MachineState, TaskIx,
        follow_up::FollowUp,
        in_flight::InFlight,
        parts::task_record::TaskRecord,
        plan_rules::{extend_plan, with_alternatives},
        task_phase::{ActivityKind, TaskActivity, TaskPhase},
    },
    words::{
        Artifact, Attempt, AttemptEnd, Effect, Event, EventKind, FailureTally, LOGIC_VERSION,
        ProposedAlternative, RunPhase, StepState, TaskId, TimerKind, WorkExit,
    },
};
use wf_base::{name::Name, time::Moment};
use wf_model::{CheckPhase, Plan};

/// One run of one plan, as the rooms see it: they read it, record facts and order effects.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Run {
    /// The plan as written, with the alternatives of a planner.
    base: Arc<Plan>,
    /// The plan as it is carried out now.
    plan: Arc<Plan>,
    /// The fold of the events.
    state: MachineState,
    pub(in crate::machine) flight: InFlight,
    turn: MachineTurn,
    now: Moment,
    /// The time of its opening, if that was recorded before it begins.
    opened: Option<Moment>,
    follow_ups: Vec<FollowUp>,
}

/// The result of an input: facts, and the effects to carry out once they are durable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineTurn {
    /// The facts, in order.
    pub events: Vec<Event>,
    /// The effects, in order.
    pub effects: Vec<Effect>,
}

/// The record of a run was made under other rules than these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run was recorded by engine version {recorded_version}, but this is version {}", LOGIC_VERSION)]
pub struct LogicMismatch {
    /// The version of the recording rules.
    pub recorded_version: u32,
}

impl Run {
    /// Creates a run with a state, and nothing in flight.
    pub(in crate::machine) fn with_state(base: Arc<Plan>, state: MachineState) -> Self {
        let plan = with_alternatives(&base, state.control.alternatives());
        let now = state.last;
        let (flight, turn) = (InFlight::default(), MachineTurn::default());
        Self { base, plan, state, flight, turn, now, opened: None, follow_ups: Vec::new() }
    }

    /// Sets the name of the run as one dispatched by an agent.
    pub(in crate::machine) fn set_dispatch(&mut self, dispatch: Option<Name>) {
        self.state.dispatch = dispatch;
    }

    /// Returns the plan as written, with the alternatives of a planner.
    pub(in crate::machine) fn base(&self) -> &Arc<Plan> {
        &self.base
    }

    /// Returns the plan as it is carried out now.
    pub(in crate::machine) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Returns the fold of the events.
    pub(in crate::machine) fn state(&self) -> &MachineState {
        &self.state
    }

    /// Returns the time of the turn.
    pub(in crate::machine) fn now(&self) -> Moment {
        self.now
    }

    /// Sets the time of the turn, unless it is later already.
    pub(in crate::machine) fn advance_to(&mut self, now: Moment) {
        self.now = self.now.max(now);
    }

    /// Sets the time of the opening, recorded before the run begins.
    pub(in crate::machine) fn set_opening(&mut self, at: Moment) {
        self.advance_to(at);
        self.opened = Some(at);
    }

    /// Records facts at the time of the opening, if that is set.
    pub(in crate::machine) fn at_opening(&mut self, open: impl FnOnce(&mut Self)) {
        let now = self.now;
        self.now = self.opened.unwrap_or(now);
        open(self);
        self.now = now;
    }

    /// Ends the turn, and returns its facts and effects.
    pub(in crate::machine) fn end_turn(&mut self) -> MachineTurn {
        std::mem::take(&mut self.turn)
    }

    /// Derives the requests in flight from the state.
    pub(in crate::machine) fn derive_flight(&mut self) {
        self.flight = InFlight::derive(&self.plan, &self.state);
    }

    /// Queues a task, to begin as soon as there is room.
    pub(in crate::machine) fn enqueue(&mut self, task: TaskIx) {
        self.flight.enqueue(&self.plan, task);
    }

    /// Returns the first task whose turn it is; its files are claimed.
    pub(in crate::machine) fn next_in_turn(&mut self) -> Option<TaskIx> {
        let most = self.plan.parts().policy.max_parallel.max(1);
        let room = most.saturating_sub(self.state.busy_tasks());
        self.flight.next_in_turn(&self.plan, &self.state, room)
    }

    /// True if no further work begins.
    pub(in crate::machine) fn is_draining(&self) -> bool {
        self.flight.is_draining() && !self.state.is_ending()
    }

    /// Applies a recorded fact; nothing follows from it.
    pub(in crate::machine) fn replay(&mut self, event: &Event) -> Result<(), LogicMismatch> {
        if let EventKind::RunStarted { logic_version, .. } = &event.fact
            && *logic_version != LOGIC_VERSION
        {
            return Err(LogicMismatch { recorded_version: *logic_version });
        }
        self.advance_to(event.at);
        self.fold(event.at, &event.fact);
        Ok(())
    }

    /// True if the run has begun.
    pub(in crate::machine) fn has_begun(&self) -> bool {
        self.state.started.is_some()
    }

    /// Records a fact and applies it to the state.
    pub(in crate::machine) fn emit(&mut self, kind: EventKind) {
        for (task, phase) in self.fold(self.now, &kind) {
            self.flight.follow(&self.plan, task, phase);
        }
        self.turn.events.push(Event { at: self.now, fact: kind });
    }

    /// Applies a fact to the state, and with it to the alternatives in use. Returns the moved tasks.
    fn fold(&mut self, at: Moment, kind: &EventKind) -> Vec<(TaskIx, TaskPhase)> {
        let moved = self.state.apply(&self.plan, at, kind);
        let changes = match kind {
            EventKind::PlannerAccepted { alternatives: ways, .. } => {
                self.adopt(ways);
                &[]
            }
            EventKind::RoundCompleted(round) => &round.changes[..],
            EventKind::MemoryApplied { changes, .. } => changes,
            _ => &[],
        };
        if !changes.is_empty() {
            self.plan = with_alternatives(&self.base, self.state.control.alternatives());
        }
        moved
    }

    /// Returns the steps of the plan, except `finally` steps.
    pub(in crate::machine) fn main_steps(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX)
    }

    /// Returns the number of a named task.
    pub(in crate::machine) fn task_ix(&self, task_id: &TaskId) -> Option<TaskIx> {
        state::find_task_ix(&self.plan, task_id)
    }

    /// Returns the task of an attempt, if exactly that activity is under way and was requested.
    pub(in crate::machine) fn current_activity(
        &self,
        attempt: &Attempt,
        kind: ActivityKind,
    ) -> Option<(TaskIx, TaskActivity)> {
        let task = self.task_ix(&attempt.task_id)?;
        let activity = self.state.activity(task)?;
        let same = activity.attempt == attempt.attempt && activity.doing == kind;
        (same && !self.flight.is_returning(task)).then_some((task, activity))
    }

    /// True if an attempt of a step was begun in this round, or ever, if it was not reopened.
    pub(in crate::machine) fn begun_this_round(&self, step: u32) -> bool {
        self.state.step_record(step).tasks().any(|(_, task)| task.attempts_of_round() > 0)
    }

    /// True if a planner is being asked.
    pub(in crate::machine) fn is_planning(&self) -> bool {
        let planning = self.state.control.planner_call();
        planning.is_some_and(|planning| planning.answer.is_none())
    }

    /// Makes a recorded proposal part of the plan from now on.
    fn adopt(&mut self, ways: &BTreeMap<Name, ProposedAlternative>) {
        self.base = extend_plan(&self.base, ways);
        self.plan = with_alternatives(&self.base, self.state.control.alternatives());
    }

    pub(in crate::machine) fn set_timer(&mut self, timer: TimerKind, at: Moment) {
        self.push_effect(Effect::Wake { timer, at });
    }

    pub(in crate::machine) fn enter_phase(&mut self, phase: RunPhase) {
        self.emit(EventKind::PhaseStarted { phase });
    }

    /// Records the end of an attempt without outputs.
    pub(in crate::machine) fn end_attempt(&mut self, attempt: Attempt, exit: WorkExit) {
        let failure_class = exit.failure_class();
        self.emit(AttemptEnd { failure_class, ..AttemptEnd::new(attempt, exit) }.into());
    }

    /// Records the evidence of a result, if there is any.
    pub(in crate::machine) fn record_evidence(&mut self, attempt: &Attempt, files: Vec<Artifact>) {
        if !files.is_empty() {
            let attempt = attempt.clone();
            self.emit(EventKind::EvidenceTaken { attempt, files });
        }
    }

    /// Returns the phase of a task's next checks; `None`: all passed.
    pub(in crate::machine) fn phase_of(&self, task: TaskIx) -> Option<CheckPhase> {
        let over = self.state.task_record(task).and_then(TaskRecord::passed_phase);
        CheckPhase::next_phase(over, &self.plan.step(task.ix()).verify)
    }

    /// Returns the phase of the plan's own checks; the last, if there is none.
    pub(in crate::machine) fn own_phase(&self) -> CheckPhase {
        CheckPhase::next_phase(self.state.proof.passed_phase(), &self.plan.parts().verify).unwrap_or_default()
    }

    /// Returns the failures of an ending run, by class: for the step around it, they are those inside.
    pub(in crate::machine) fn failures(&self) -> FailureTally {
        let mut failures = FailureTally::default();
        for ix in self.plan.order() {
            let record = self.state.step_record(ix.0);
            if record.state == StepState::Failed && !record.allowed_to_fail {
                record.tasks().for_each(|(_, task)| failures.add_all(task.failures()));
            }
        }
        self.state.proof.refuted_criteria().iter().for_each(|one| failures.add(one.failure_class));
        failures
    }

    /// Orders an effect, to be carried out once the facts of this turn are durable.
    pub(in crate::machine) fn push_effect(&mut self, effect: Effect) {
        self.turn.effects.push(effect);
    }

    /// Drops the effects of this turn in preparation of attempts.
    pub(in crate::machine) fn drop_preparations(&mut self) {
        self.turn.effects.retain(|effect| !effect.prepares());
    }

    /// Leaves a follow-up to its room, as the last act of this one.
    pub(in crate::machine) fn then(&mut self, follow_up: FollowUp) {
        self.follow_ups.push(follow_up);
    }

    /// Returns the follow-ups left, in order.
    pub(in crate::machine) fn take_follow_ups(&mut self) -> Vec<FollowUp> {
        std::mem::take(&mut self.follow_ups)
    }
}
