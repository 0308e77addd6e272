//! The machine: what its engine may ask of a run, and tell it.

use std::sync::Arc;

use crate::machine::{
    agents::merging,
    proof::{checks, confirm},
    rounds::{fan_in, memory, planner, request},
    state::{
        LogicMismatch, MachineState, MachineTurn, Run,
        in_flight::InFlight,
        restore::{self, RestoreError},
    },
    tasks::{admit, advance, budget, cancel, opening, resume, terminate},
    turn::{
        follow_ups::{carry_out, resume_activity},
        inputs,
    },
    words::{
        Attempt, BudgetLedger, Event, MachineInput, NestedFindings, RunApproval, RunOutcome, RunPhase,
        StepItem, TaskId,
    },
};
use wf_base::{
    digest::Sha256Digest,
    name::{Name, RunId},
    time::Moment,
};
use wf_model::{JsonObject, Plan};

/// One run of one plan.
#[derive(Clone, Debug)]
pub struct Machine {
    run: Run,
}

impl Machine {
    /// Creates a run before its beginning. `params` are resolved.
    pub fn new(plan: Arc<Plan>, run: RunId, params: JsonObject) -> Self {
        let state = MachineState::new(&plan, run, params);
        Self { run: Run::with_state(plan, state) }
    }

    /// Sets the name of the run as one dispatched by an agent.
    #[must_use]
    pub fn with_dispatch(mut self, dispatch: Option<Name>) -> Self {
        self.run.set_dispatch(dispatch);
        self
    }

    /// Restores a run from its stored state and the plan as written. It is the same machine as after a replay of
    /// the events so far: further events may be replayed, then [`Machine::resume`] lets the run
    /// go on.
    pub fn from_state(plan: Arc<Plan>, state: MachineState) -> Result<Self, RestoreError> {
        Ok(Self { run: restore::restore(plan, state)? })
    }

    /// Returns the opening of the run, before its beginning.
    pub fn opening(&self, at: Moment, approved: Option<Box<RunApproval>>) -> Vec<Event> {
        opening::opening(&self.run, at, approved)
    }

    /// Sets the time of the opening, recorded before the run begins.
    pub fn set_opening(&mut self, at: Moment) {
        self.run.set_opening(at);
    }

    /// Applies a recorded fact; nothing follows from it.
    pub fn replay(&mut self, event: &Event) -> Result<(), LogicMismatch> {
        self.run.replay(event)
    }

    /// Processes an input. Without an open question to answer, it changes nothing.
    pub fn turn(&mut self, input: MachineInput) -> MachineTurn {
        let run = &mut self.run;
        run.advance_to(input.at);
        if run.state().outcome().is_none() {
            inputs::on_input(run, input.kind);
            carry_out(run);
            budget::notice_budget(run);
            advance(run);
            budget::notice_budget(run);
        }
        run.end_turn()
    }

    /// Returns the effects for the run to go on after a replay.
    pub fn resume(&mut self, now: Moment) -> MachineTurn {
        let run = &mut self.run;
        run.advance_to(now);
        if run.state().outcome().is_some() || !run.has_begun() {
            return MachineTurn::default();
        }
        resume(run);
        advance(run);
        budget::notice_budget(run);
        run.end_turn()
    }

    /// Lets a working agent continue after the loss of its host: its conversation is built anew from the record, and
    /// all work under way is asked for again.
    pub fn resume_agent(&mut self, attempt: &Attempt, now: Moment) -> MachineTurn {
        let run = &mut self.run;
        run.advance_to(now);
        if let Some(task) = run.working_agent(attempt) {
            resume_activity(run, task, false);
            carry_out(run);
        }
        run.end_turn()
    }

    /// Begins no further work from now on: the engine can leave the run once the work under way has ended. No
    /// event records it: a resume continues with the next work. An ending run goes on to its end.
    pub fn drain(&mut self) {
        self.run.flight.drain();
    }

    /// Ends the run at once, with no effects: all work under way was interrupted, nobody reports about it, and what
    /// has not begun never does. Returns the events; none if the run has not begun, or is over.
    pub fn terminate(&mut self, reason: &str, now: Moment) -> Vec<Event> {
        let run = &mut self.run;
        run.advance_to(now);
        if !run.has_begun() || run.state().outcome().is_some() {
            return Vec::new();
        }
        run.derive_flight();
        while !run.state().is_force_cancelled() {
            cancel::cancel(run, reason.to_owned());
            carry_out(run);
        }
        terminate::terminate(run);
        run.end_turn().events
    }

    /// True if the run has begun.
    pub fn has_begun(&self) -> bool {
        self.run.has_begun()
    }

    /// Returns the outcome of the run, if it has ended.
    pub fn outcome(&self) -> Option<RunOutcome> {
        self.run.state().outcome()
    }

    /// Returns the cancellation, if one was requested: true if it is forced.
    pub fn requested_cancel(&self) -> Option<bool> {
        let cancelled = self.run.state().cancellation();
        cancelled.map(|cancelled| cancelled.force)
    }

    /// Returns the state, to be inspected or serialized.
    pub fn state(&self) -> &MachineState {
        self.run.state()
    }

    /// Returns the requests without an event, to be inspected.
    pub fn in_flight(&self) -> &InFlight {
        &self.run.flight
    }

    /// Returns the plan as it is carried out now: some of its steps may use other alternatives than
    /// as written.
    pub fn plan(&self) -> &Arc<Plan> {
        self.run.plan()
    }

    /// Returns the digest of the current plan, with the alternatives of a planner.
    pub fn plan_digest(&self) -> Sha256Digest {
        request::digest(self.run.base())
    }

    /// Returns the resources used by the run so far.
    pub fn ledger(&self) -> &BudgetLedger {
        &self.run.state().ledger
    }

    /// Returns the number of times the controller has reopened steps.
    pub fn replans(&self) -> u32 {
        self.run.state().control.replans()
    }

    /// Returns the findings of its last round for a run around it.
    pub fn findings(&self) -> NestedFindings {
        memory::findings(&self.run)
    }

    /// Returns the item of a task and the values read by its checks, to check a replayed run again. Without a task: the values
    /// read by the plan's own checks. `None` if a value is missing, or there is no such task.
    pub fn read_by_checks(&self, task_id: Option<&TaskId>) -> Option<(Option<StepItem>, JsonObject)> {
        checks::read_by_checks(&self.run, task_id)
    }
}

/// Advances a run until nothing more follows without an input.
fn advance(run: &mut Run) {
    // Nothing begins before the gates of the run have passed.
    if run.state().phase() == RunPhase::Gates && !run.state().never_began() {
        return;
    }
    while !run.is_draining() {
        while let Some(step) = run.flight.take_due_step() {
            advance::evaluate_due_step(run, step);
            carry_out(run);
        }
        if admit_all(run) {
            continue;
        }
        if run.flight.has_due_step() || !advance::next_phase(run) {
            break;
        }
        carry_out(run);
    }
    merging::begin_merge(run);
}

/// Lets all tasks with room begin. True if there were any: others may follow them.
fn admit_all(run: &mut Run) -> bool {
    let mut has_moved = false;
    while admit::admit(run) {
        carry_out(run);
        has_moved = true;
    }
    has_moved
}

/// Asks again for everything in flight, after a replay.
fn resume(run: &mut Run) {
    run.derive_flight();
    resume::resume_timers(run);
    resume::resume_asks(run);
    carry_out(run);
    resume::resume_locks(run);
    for (task, _) in run.state().activities() {
        if !run.flight.is_returning(task) {
            resume_activity(run, task, false);
            carry_out(run);
        }
    }
    if run.is_planning() {
        planner::ask_planner_again(run);
    } else if run.state().phase() == RunPhase::Verify {
        match run.state().proof.judged() {
            None => checks::check_plan(run),
            Some(_) => fan_in::judge_round(run),
        }
    }
    carry_out(run);
    if run.state().phase() == RunPhase::Confirm && !run.state().is_force_cancelled() {
        confirm::resume_confirmation(run);
        carry_out(run);
    }
    // A stop request from before may not have reached what runs.
    cancel::kill_live(run);
    carry_out(run);
}
