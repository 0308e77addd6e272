//! Attempts that are staged.
//!
//! Between the end of a step and the beginning of the next one lie a decision, a write to the disk and two
//! processes that must be woken: with short steps, the room that one left stays empty for longer than the
//! next one runs. So some attempts are recorded before there is room for them, and handed to the supervisor,
//! which lets one begin the moment another has ended.
//!
//! Only this machine decides, so the supervisor lets one begin only where there is nothing to decide: the
//! attempt that ended was plain, its process exited with code 0 and gave no outputs. After any other end
//! nothing that is staged begins unless this machine knew of that end when it staged it.
//!
//! **Invariant:** while something is staged, all that takes up room is plain, so that a count of processes is
//! a count of room.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::gates::has_gates;
use super::scope::{self, TaskScope};
use super::state::{self, ActivityKind, MachineState, TaskActivity, TaskIx};
use super::{Attempt, Effect, EventKind, GatePoint, Machine, RunPhase, StepState, WorkExit};
use wf_base::time::Moment;
use wf_model::expr::{EvalError, Expr, ExprReference, Template};
use wf_model::{JsonObject, OnStepFailure, Plan, StepIx, StepWork};

/// The maximum number of attempts staged in turn, whatever the concurrency limit.
const MAX_STAGED: u32 = 32;

/// The duration below which an attempt is short: a write to the disk is then so large a part of it that
/// others should share it.
const QUICK_ATTEMPT_TIME: Duration = Duration::from_millis(100);

/// Returns the number of attempts that may be staged, by the concurrency limit and the number of short
/// successes in a row: while a write to the disk is under way each may end once, and the next one, too; and
/// the more short attempts share a write, the less each costs. A bad end refuses all, and after a loss of
/// power all are in doubt, so otherwise few are staged. With a limit of one none is: a task that becomes
/// ready comes before what follows it in the plan.
pub(super) fn max_staged(room: u32, well: u32) -> u32 {
    match room {
        0 | 1 => 0,
        room => {
            let few = room.saturating_mul(2);
            few.saturating_add(well).min(few.saturating_mul(4)).min(MAX_STAGED)
        }
    }
}

/// True if only the exit of its process matters in the work of a step, and nothing has to happen before it.
pub fn is_plain(plan: &Plan, ix: StepIx) -> bool {
    let step = plan.step(ix);
    let spot = TaskIx { step: ix.0, item: None };
    let gated = |point| has_gates(plan, Some(spot), point);
    let secret = |value: &Template| {
        let mut refs = value.refs().iter();
        refs.any(|reference| matches!(reference.name, ExprReference::Secret(_)))
    };
    matches!(step.work, StepWork::Run(_) | StepWork::Exec(_))
        && step.verify.is_empty()
        && step.outputs.is_empty()
        && step.artifacts.is_empty()
        && step.cache.is_none()
        && step.concurrency.is_none()
        && step.queue_timeout.is_none()
        && !step.when.as_deref().is_some_and(Expr::asks_status)
        && !step.env.iter().any(|variable| secret(&variable.value))
        && !plan.is_finally(ix)
        && !gated(GatePoint::Enter)
        && !gated(GatePoint::Leave)
}

/// The counts that decide how many attempts are staged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StagingCounts {
    /// The number of plain attempts among those that take up room.
    pub(super) plain: u32,
    /// The number of staged attempts.
    pub(super) staged: u32,
    /// The number of short successes since the last other end.
    pub(super) well: u32,
}

impl StagingCounts {
    /// Counts an attempt that ended after the given time.
    pub(super) fn count_ended(&mut self, how: &WorkExit, took: Duration) {
        let well = how.is_success() && took < QUICK_ATTEMPT_TIME;
        self.well = if well { self.well.saturating_add(1) } else { 0 };
    }
}

impl MachineState {
    /// Adds a staged attempt.
    pub(super) fn stage_attempt(&mut self, plan: &Plan, at: Moment, attempt: &Attempt) {
        if let Some(spot) = self.dequeue(plan, &attempt.place) {
            let live = TaskActivity {
                attempt: attempt.attempt,
                since: at,
                doing: ActivityKind::Staged,
                room: false,
                plain: true,
            };
            self.start_activity(spot, live);
        }
    }

    /// Removes a staged attempt.
    pub(super) fn unstage_attempt(&mut self, plan: &Plan, attempt: &Attempt) {
        if let Some(spot) = state::find_task_ix(plan, &attempt.place) {
            self.end_activity(spot);
            self.enqueue(plan, spot);
            self.set_step_state(spot, StepState::Queued);
        }
    }
}

impl Machine {
    /// True if the first attempt of a task may be staged.
    pub(super) fn may_stage(&self, spot: TaskIx) -> bool {
        let state = &self.state;
        let parts = self.plan.parts();
        state.phase == RunPhase::Steps
            && state.busy == state.staging.plain
            && state.stopping.is_none()
            && !state.is_closing()
            // The amount spent is known only once an attempt has ended.
            && state.ledger.budget.is_none()
            // A round may reopen any step.
            && parts.replan.is_none()
            && self.inherited.is_empty()
            // The approved files are checked when a step begins.
            && !self.checks_workspace_first
            && self.could_be_staged(spot)
    }

    /// True if the next attempt of a task is of the kind that is staged.
    fn could_be_staged(&self, spot: TaskIx) -> bool {
        let untried = |slot: &state::TaskRecord| slot.attempts == 0 && slot.tool_args.is_none();
        self.state.task_record(spot).is_some_and(untried) && is_plain(&self.plan, spot.ix())
    }

    /// Stages the first attempt of a task.
    pub(super) fn stage(&mut self, spot: TaskIx) {
        match self.work_reads(spot) {
            Ok(reads) => {
                let attempt = state::attempt(&self.plan, spot, 1);
                self.emit(EventKind::AttemptStaged(attempt.clone()));
                self.emit_stage_effect(spot, attempt, None, reads);
            }
            Err(error) => self.end_unstartable(spot, &error.to_string()),
        }
    }

    /// Asks for the state of an attempt that was staged before the engine died.
    pub(super) fn request_staged_state(&mut self, spot: TaskIx, attempt: Attempt, since: Moment) {
        let reads = self.work_reads(spot).unwrap_or_default();
        self.emit_stage_effect(spot, attempt, Some(since), reads);
    }

    fn work_reads(&self, spot: TaskIx) -> Result<JsonObject, EvalError> {
        let view = TaskScope { plan: &self.plan, state: &self.state, spot: Some(spot) };
        scope::work_reads(&view, self.plan.step(spot.ix()))
    }

    fn emit_stage_effect(
        &mut self,
        spot: TaskIx,
        attempt: Attempt,
        since: Option<Moment>,
        reads: JsonObject,
    ) {
        self.turn.effects.push(Effect::Stage {
            attempt,
            since,
            item_value: self.state.item(spot).cloned(),
            reads,
        });
    }

    /// Applies the start of a staged attempt.
    pub(super) fn on_attempt_begun(&mut self, attempt: &Attempt) {
        if self.current_activity(attempt, ActivityKind::Staged).is_some() {
            self.emit(EventKind::AttemptStarted(attempt.clone()));
        }
    }

    /// Applies that a staged attempt does not begin: it waits for its turn again, or its turn does not come
    /// any more.
    pub(super) fn on_unstaged(&mut self, attempt: &Attempt) {
        let Some((spot, _)) = self.current_activity(attempt, ActivityKind::Staged) else {
            return;
        };
        self.inherited.remove(&spot);
        self.withdrawing.remove(&spot);
        self.emit(EventKind::AttemptUnstaged(attempt.clone()));
        let ending = self.state.is_ending();
        if ending || self.state.stopping.is_some() {
            let killing = ending || self.plan.parts().policy.on_failure == OnStepFailure::Cancel;
            self.sweep_step(spot.step, killing);
        }
    }

    /// Takes back all staged attempts.
    pub(super) fn unstage(&mut self) {
        for spot in self.staged_since(None) {
            self.take_back(spot);
        }
    }

    /// Takes back the staged attempts that come after a task whose turn it is and which cannot be staged in
    /// front of them.
    pub(super) fn make_way(&mut self) {
        let first = self.next_task();
        let Some(spot) = first.filter(|spot| !self.could_be_staged(*spot)) else {
            return;
        };
        // In other cases the staged attempts are taken back already.
        if self.state.stopping.is_some() || self.state.is_closing() || !self.inherited.is_empty() {
            return;
        }
        for spot in self.staged_since(Some(spot)) {
            if self.withdrawing.insert(spot) {
                self.take_back(spot);
            }
        }
    }

    /// Returns the last staged task.
    pub(super) fn last_staged(&self) -> Option<TaskIx> {
        self.staged_since(None).pop()
    }

    /// Returns the staged tasks, in order: all, or those that come after another.
    fn staged_since(&self, after: Option<TaskIx>) -> Vec<TaskIx> {
        if self.state.staging.staged == 0 {
            return Vec::new();
        }
        let staged = self.state.live.iter();
        let staged = staged.filter(|(spot, live)| live.doing == ActivityKind::Staged && Some(**spot) > after);
        staged.map(|(spot, _)| *spot).collect()
    }

    fn take_back(&mut self, spot: TaskIx) {
        let attempt = state::attempt(&self.plan, spot, 1);
        self.turn.effects.push(Effect::Unstage { attempt });
    }
}
