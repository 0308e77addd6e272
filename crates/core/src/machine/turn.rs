//! The processing of an input.

use std::sync::Arc;

use crate::machine::gates::has_gates;
use crate::machine::in_flight::{InFlight, TaskRequest};
use crate::machine::rounds::with_alternatives;
use crate::machine::state::{self, MachineState, TaskIx};
use crate::machine::task_end::TaskCompletion;
use crate::machine::task_phase::{ActivityKind, TaskActivity, TaskPhase};
use crate::machine::words::{
    Attempt, AttemptEnd, CachedResult, DeselectedStep, Effect, Event, EventKind, GatePoint, InputKind,
    LOGIC_VERSION, MachineInput, ReusedResult, RunOutcome, Standing, TaskId, WorkExit,
};
use wf_base::name::{Name, RunId};
use wf_base::time::Moment;
use wf_model::{EngineFailure, FailureClass, JsonObject, Plan, Step, StepWork};

/// One run of one plan.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The plan as written, with the alternatives that a planner added.
    pub(in crate::machine) base: Arc<Plan>,
    /// The plan as it is carried out now.
    pub(in crate::machine) plan: Arc<Plan>,
    /// The fold of the events.
    pub(in crate::machine) state: MachineState,
    pub(in crate::machine) flight: InFlight,
    pub(in crate::machine) turn: MachineTurn,
    pub(in crate::machine) now: Moment,
    /// The time of its opening, if that was recorded before it begins.
    pub(in crate::machine) opened: Option<Moment>,
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
    /// The version of the rules that made the record.
    pub recorded_version: u32,
}

impl Machine {
    /// Creates a run that has not begun. `params` are resolved.
    pub fn new(plan: Arc<Plan>, run: RunId, params: JsonObject) -> Self {
        let state = MachineState::new(&plan, run, params);
        Self::with_state(plan, state)
    }

    /// Sets the name under which an agent dispatches the run.
    #[must_use]
    pub fn with_dispatch(mut self, dispatch: Option<Name>) -> Self {
        self.state.dispatch = dispatch;
        self
    }

    /// Creates a machine with a state, and nothing in flight.
    pub(in crate::machine) fn with_state(base: Arc<Plan>, state: MachineState) -> Self {
        let plan = with_alternatives(&base, &state.control.ways);
        let now = state.last;
        let (flight, turn) = (InFlight::default(), MachineTurn::default());
        Self { base, plan, state, flight, turn, now, opened: None }
    }

    /// Processes an input. One that answers nothing open changes nothing.
    pub fn turn(&mut self, input: MachineInput) -> MachineTurn {
        self.now = self.now.max(input.at);
        if self.state.outcome.is_none() {
            self.on_input(input.kind);
            self.notice_budget();
            self.advance();
            self.notice_budget();
        }
        std::mem::take(&mut self.turn)
    }

    /// Begins no further work from now on, so that the engine can leave the run once what is under way has ended. No
    /// event records it: who resumes the run goes on with what would have been next. A run that is ending goes on to its end.
    pub fn drain(&mut self) {
        self.flight.is_draining = true;
    }

    /// True if no further work begins.
    pub(in crate::machine) fn is_draining(&self) -> bool {
        self.flight.is_draining && !self.state.is_ending()
    }

    /// Applies a recorded fact; nothing follows from it.
    pub fn replay(&mut self, event: &Event) -> Result<(), LogicMismatch> {
        if let EventKind::RunStarted { logic_version, .. } = &event.fact
            && *logic_version != LOGIC_VERSION
        {
            return Err(LogicMismatch { recorded_version: *logic_version });
        }
        self.now = self.now.max(event.at);
        self.fold(event.at, &event.fact);
        Ok(())
    }

    /// Returns the outcome of the run, if it has ended.
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.state.outcome
    }

    /// Returns the cancellation, if one was requested: true if it is forced.
    pub fn requested_cancel(&self) -> Option<bool> {
        let cancelled = self.state.cancelled.as_ref();
        cancelled.map(|cancelled| cancelled.force)
    }

    /// True if the run has begun.
    pub fn has_begun(&self) -> bool {
        self.state.started.is_some()
    }

    /// Returns the state, to be inspected or serialized.
    pub fn state(&self) -> &MachineState {
        &self.state
    }

    /// Returns the requests that no event records, to be inspected.
    pub fn in_flight(&self) -> &InFlight {
        &self.flight
    }

    fn on_input(&mut self, input: InputKind) {
        match input {
            InputKind::Begin { kept, left, dropped, baseline, approved, advice, intent } => {
                if !self.has_begun() {
                    self.begin(approved, baseline);
                    for one in dropped {
                        self.emit(one.into());
                    }
                    self.reuse_results(kept, left);
                    self.apply_memory_advice(advice, intent);
                    self.gate_start();
                }
            }
            InputKind::Briefed { briefing, mistake } => self.on_briefing(*briefing, mistake),
            InputKind::Replied { end, mistake } => self.on_model_reply(*end, mistake),
            InputKind::ToolEnded(end) => self.on_tool_end(end),
            InputKind::ClientCalled { attempt, call, tools } => self.on_client_call(&attempt, call, tools),
            InputKind::ClientEnded { attempt, exit, answer, mistake } => {
                self.on_client_end(&attempt, exit, answer, mistake);
            }
            InputKind::ChildEnded(end) => self.on_child_end(*end),
            InputKind::Ended(ended) => self.on_attempt_end(ended),
            InputKind::Generated(made) => self.on_plan_generated(made),
            InputKind::MergePrepared { attempt, merge } => self.on_merge_prepared(&attempt, merge),
            InputKind::Merged(end) => self.on_merged(&end.attempt, end.outcome),
            InputKind::Judged { attempt: Some(attempt), phase, verdicts, seen } => {
                self.on_verdicts(&attempt, phase, verdicts, seen);
            }
            InputKind::Judged { attempt: None, phase, verdicts, .. } => {
                self.on_plan_verdicts(phase, verdicts);
            }
            InputKind::Woke { timer } => self.on_timer(timer),
            InputKind::Locked { place } => self.on_lock_acquired(&place),
            InputKind::LockHeld { place } => self.on_lock_held(&place),
            InputKind::LockRefused { place, reason, is_replaced } => {
                self.on_lock_refused(&place, reason, is_replaced);
            }
            InputKind::Looked { place, found } => self.on_cache_lookup(&place, found),
            InputKind::Stale(stale) => self.on_stale_evidence(stale),
            InputKind::Confirmed { stale } => self.on_confirmation(stale),
            InputKind::Gated { gated, tool_call: Some(id), arguments, .. } => {
                self.on_tool_gates(&id, gated, arguments);
            }
            InputKind::Gated { point, gated, exchange: Some(exchange), .. } => {
                self.on_exchange_gates(point, &gated, *exchange);
            }
            InputKind::Gated { place, point, gated, .. } => self.on_gates(place.as_ref(), point, gated),
            InputKind::Answered { number, given } => self.on_approval_outcome(number, given),
            InputKind::Planned(reply) => self.on_planner_reply(reply),
            InputKind::Guided(reply) => self.on_guidance(reply),
            InputKind::Compacted(reply) => self.on_compacted(*reply),
            InputKind::Cancel { reason } => self.cancel(reason),
        }
    }

    pub(in crate::machine) fn reuse_results(&mut self, kept: Vec<ReusedResult>, left: Vec<DeselectedStep>) {
        for kept in kept {
            if self.is_open(&kept.step) {
                self.emit(kept.into());
            }
        }
        for left in left {
            if self.is_open(&left.step) {
                self.emit(EventKind::StepDeselected(left));
            }
        }
        self.run_timer();
    }

    pub(in crate::machine) fn on_lock_acquired(&mut self, place: &TaskId) {
        let Some(task) = self.task_ix(place) else {
            return;
        };
        match self.flight.request(task) {
            Some(TaskRequest::Return { approved }) => {
                self.flight.locked.insert(task);
                self.flight.set(task, None);
                self.resume_activity(task, approved);
            }
            Some(TaskRequest::Lock { .. }) => {
                self.flight.locked.insert(task);
                self.flight.enqueue(&self.plan, task);
            }
            _ => {}
        }
    }

    /// Lets other tasks have the room that a task kept in case that its files are free.
    pub(in crate::machine) fn on_lock_held(&mut self, place: &TaskId) {
        let task = self.task_ix(place);
        let task = task.filter(|task| self.flight.request(*task) == Some(TaskRequest::Lock { room: true }));
        if let Some(task) = task {
            self.flight.set(task, Some(TaskRequest::Lock { room: false }));
        }
    }

    pub(in crate::machine) fn on_lock_refused(&mut self, place: &TaskId, reason: String, is_replaced: bool) {
        let task = self.task_ix(place);
        let waits = |task: &TaskIx| matches!(self.flight.request(*task), Some(TaskRequest::Lock { .. }));
        let Some(task) = task.filter(waits) else {
            return;
        };
        if is_replaced {
            return self.cancel(reason);
        }
        let failure_class = Some(EngineFailure::Busy.class());
        self.finish(task, TaskCompletion::failure(Standing::Unchecked, failure_class, reason));
    }

    /// True if the plan has a step of that name, and it has not ended.
    fn is_open(&self, step: &Name) -> bool {
        let ix = self.plan.find(step.as_str());
        ix.is_some_and(|ix| !self.state.step_record(ix.0).state.is_final())
    }

    /// Applies the end of an attempt's work. Outputs that are not as declared make it a failure.
    pub(in crate::machine) fn on_attempt_end(&mut self, mut ended: AttemptEnd) {
        let Some((task, _)) = self.current_activity(&ended.attempt, ActivityKind::Working) else {
            return;
        };
        let Some(exit) = self.work_exit(task, ended.exit) else {
            return;
        };
        ended.exit = exit;
        if self.hold_for_children(task, &ended) {
            return;
        }
        if ended.exit.is_success()
            && let Some(reason) = bad_outputs(self.plan.step(task.ix()), &ended.outputs)
        {
            ended.exit = WorkExit::Error { reason, failure_class: FailureClass::Logical };
            ended.failure_class = None;
        }
        ended.failure_class = failure_class_of(&ended.exit, ended.failure_class);
        if !ended.exit.is_success() {
            return self.on_failed_attempt(task, ended);
        }
        let gates = has_gates(&self.plan, Some(task), GatePoint::Leave);
        let (attempt, standing) = (ended.attempt.clone(), ended.standing);
        let seen = std::mem::take(&mut ended.seen);
        ended.standing = standing.filter(|_| gates);
        self.emit(ended.into());
        self.record_evidence(&attempt, seen);
        if !gates {
            self.confirm_work(task, attempt, standing);
        } else if !self.end_before_gates(task, GatePoint::Leave) {
            self.ask_gates(Some(task), GatePoint::Leave);
        }
    }

    pub(in crate::machine) fn on_cache_lookup(&mut self, place: &TaskId, found: Option<CachedResult>) {
        let looks = |task: &TaskIx| self.flight.request(*task) == Some(TaskRequest::Lookup);
        let Some(task) = self.task_ix(place).filter(looks) else {
            return;
        };
        let Some(found) = found else {
            self.flight.set(task, None);
            return self.start(task);
        };
        self.emit(EventKind::CacheHit { place: place.clone(), found });
        if has_gates(&self.plan, Some(task), GatePoint::Leave) {
            self.ask_gates(Some(task), GatePoint::Leave);
        } else {
            self.confirm_work(task, Attempt { place: place.clone(), attempt: 0 }, None);
        }
    }

    pub(in crate::machine) fn cancel(&mut self, reason: String) {
        if self.state.started.is_none() {
            return;
        }
        let force = self.state.cancelled.is_some();
        self.emit(EventKind::CancelRequested { reason, force });
        self.sweep();
    }

    /// Records a fact and applies it to the state.
    pub(in crate::machine) fn emit(&mut self, fact: EventKind) {
        for (task, phase) in self.fold(self.now, &fact) {
            self.flight.follow(&self.plan, task, phase);
        }
        self.turn.events.push(Event { at: self.now, fact });
    }

    /// Applies a fact to the state, and with it to the alternatives in use. Returns the tasks that it moved.
    fn fold(&mut self, at: Moment, fact: &EventKind) -> Vec<(TaskIx, TaskPhase)> {
        let moved = self.state.apply(&self.plan, at, fact);
        let changes = match fact {
            EventKind::PlannerAccepted { alternatives: ways, .. } => {
                self.adopt(ways);
                &[]
            }
            EventKind::RoundCompleted(round) => &round.changes[..],
            EventKind::MemoryApplied { changes, .. } => changes,
            _ => &[],
        };
        if !changes.is_empty() {
            self.plan = with_alternatives(&self.base, &self.state.control.ways);
        }
        moved
    }

    /// Returns the steps of the plan, except `finally` steps.
    pub(in crate::machine) fn main_steps(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX)
    }

    /// Returns the number of a named task.
    pub(in crate::machine) fn task_ix(&self, place: &TaskId) -> Option<TaskIx> {
        state::find_task_ix(&self.plan, place)
    }

    /// Returns the task of an attempt, if exactly that activity is under way and was requested.
    pub(in crate::machine) fn current_activity(
        &self,
        attempt: &Attempt,
        doing: ActivityKind,
    ) -> Option<(TaskIx, TaskActivity)> {
        let task = self.task_ix(&attempt.place)?;
        let activity = self.state.activity(task)?;
        let same = activity.attempt == attempt.attempt && activity.doing == doing;
        (same && !self.flight.is_returning(task)).then_some((task, activity))
    }
}

/// Returns the failure class. The work's output may override that of its exit, unless the end is
/// unknown or was requested.
fn failure_class_of(exit: &WorkExit, reported: Option<FailureClass>) -> Option<FailureClass> {
    match exit {
        WorkExit::Interrupted | WorkExit::Cancelled => exit.failure_class(),
        _ if exit.is_success() => None,
        _ => reported.or_else(|| exit.failure_class()),
    }
}

/// Returns the problem with the outputs of a successful attempt, if any. The outputs of a nested
/// plan were checked against its own declarations.
pub(in crate::machine) fn bad_outputs(step: &Step, outputs: &JsonObject) -> Option<String> {
    if matches!(step.work, StepWork::Uses(_)) {
        return None;
    }
    step.outputs.iter().find_map(|output| match outputs.get(output.name.as_str()) {
        None => Some(format!("output `{}` is missing", output.name)),
        Some(value) => {
            let mistake = output.schema.first_mistake(value)?;
            Some(format!("output `{}`: {mistake}", output.name))
        }
    })
}
