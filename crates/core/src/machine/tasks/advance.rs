//! The progress of a run: dependencies that ended, tasks with room, phases that are over.

use std::sync::Arc;

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::halting::{NOT_CHOSEN, NOT_ESCALATED};
use crate::machine::state::plan_rules::{has_gates, of_phase};
use crate::machine::state::scope::{self, TaskScope};
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::{
    Effect, EventKind, GatePoint, RunPhase, Standing, StepState, TimerKind, WorkExit,
};
use wf_base::time::Moment;
use wf_model::expr::Expr;
use wf_model::{FailureClass, StepIx, StepWork, WaitCondition};

impl Run {
    /// Advances the run until nothing more follows without an input.
    pub(in crate::machine) fn advance(&mut self) {
        // Nothing begins before the gates of the run have passed.
        if self.state.phase == RunPhase::Gates && !self.state.never_began() {
            return;
        }
        if self.is_draining() {
            return self.begin_merge();
        }
        loop {
            while let Some(step) = self.flight.due.pop_first() {
                self.evaluate_due_step(step);
            }
            if self.admit() {
                continue;
            }
            if !self.flight.due.is_empty() || !self.next_phase() {
                return self.begin_merge();
            }
        }
    }

    /// Decides whether a step whose dependencies have ended runs.
    fn evaluate_due_step(&mut self, step: u32) {
        let task = TaskIx { step, item: None };
        let plan = Arc::clone(&self.plan);
        if self.state.step_record(step).state.is_final() {
            return;
        }
        let declared = plan.step(task.ix());
        let asks = declared.when.as_deref().is_some_and(Expr::asks_status);
        if self.state.is_force_cancelled() || self.state.is_ending() && !plan.is_finally(task.ix()) {
            return self.finish(task, TaskCompletion::cancelled(self.ending_reason()));
        }
        if self.state.left.get(&step).is_some_and(Vec::is_empty) {
            return self.finish(task, TaskCompletion::skipped(NOT_CHOSEN));
        }
        if let (Some(blocker), false) = (self.state.step_record(step).blocker, asks) {
            let name = &plan.step(StepIx(blocker)).id;
            let how = match self.state.step_record(blocker).state {
                StepState::Failed => "failed",
                StepState::Cancelled => "was cancelled",
                _ => "was skipped",
            };
            return self.finish(task, TaskCompletion::skipped(format!("dependency `{name}` {how}")));
        }
        if self.state.is_closing() && !plan.is_finally(task.ix()) {
            return self.skip_over_budget(task);
        }
        if declared.on_escalation && !self.state.spawned.contains_key(&step) {
            return self.finish(task, TaskCompletion::skipped(NOT_ESCALATED));
        }
        if let Some(when) = &declared.when {
            let view = TaskScope { plan: &plan, state: &self.state, task: Some(task) };
            match scope::evaluate_condition(&view, when) {
                Ok(true) => {}
                Ok(false) => {
                    let reason = format!("condition is false: {}", when.source());
                    return self.finish(task, TaskCompletion::skipped(reason));
                }
                Err(error) => return self.end_unstartable(task, &error.to_string()),
            }
        }
        self.unfold(task, &declared.fan);
    }

    /// Sets the timer that ends the wait of a task for its turn when it takes too long.
    pub(in crate::machine) fn queue_timer(&mut self, task: TaskIx) {
        if let Some(at) = self.queue_limit(task) {
            self.set_timer(TimerKind::Queue(state::task_id(&self.plan, task)), at);
        }
    }

    /// Sets that timer anew for a task that was let in: the one before may have gone off meanwhile, when it waited for
    /// no turn.
    pub(in crate::machine) fn queue_timer_anew(&mut self, task: TaskIx) {
        if self.state.is_untried(task) {
            self.queue_timer(task);
        }
    }

    /// Returns the instant at which a task has waited too long for its turn. The time of its gates, and of people who
    /// were asked before it, does not count.
    pub(in crate::machine) fn queue_limit(&self, task: TaskIx) -> Option<Moment> {
        let limit = self.plan.step(task.ix()).queue_timeout?;
        let ready = self.state.step_record(task.step).ready?;
        let let_in = self.state.task_record(task).and_then(|record| record.let_in);
        Some(let_in.map_or(ready, |at| at.max(ready)).after(limit))
    }

    /// Ends a task that cannot even begin.
    pub(in crate::machine) fn end_unstartable(&mut self, task: TaskIx, reason: &str) {
        let standing = Standing::Unchecked;
        self.finish(task, TaskCompletion::failure(standing, Some(FailureClass::Logical), reason.into()));
    }

    /// Enters the next phase if this one is over. True if it did.
    fn next_phase(&mut self) -> bool {
        if self.is_planning() {
            return false;
        }
        match self.state.phase {
            RunPhase::Steps if self.has_begun() && self.state.open == 0 => {
                let bad = self.state.failed.is_some() || self.state.is_closing();
                if bad || self.plan.parts().verify.is_empty() {
                    self.after_verify();
                } else {
                    self.enter_phase(RunPhase::Verify);
                    self.check_plan();
                }
                true
            }
            RunPhase::Gates if self.state.open + self.state.open_last == 0 => {
                self.conclude();
                true
            }
            RunPhase::Finally if self.state.open_last == 0 => {
                self.conclude();
                true
            }
            // A forced end does not wait for evidence to be checked again.
            RunPhase::Confirm if self.state.is_force_cancelled() => {
                self.end_run();
                true
            }
            _ => false,
        }
    }

    pub(in crate::machine) fn enter_phase(&mut self, phase: RunPhase) {
        self.emit(EventKind::PhaseStarted { phase });
    }

    /// Requests the plan's own checks.
    pub(in crate::machine) fn check_plan(&mut self) {
        let view = TaskScope { plan: &self.plan, state: &self.state, task: None };
        let phase = self.own_phase();
        let checks = of_phase(&self.plan.parts().verify, phase);
        let reads = scope::check_reads(&view, checks).unwrap_or_default();
        self.turn.effects.push(Effect::Check { attempt: None, phase, item_value: None, reads });
    }

    /// Continues after the plan's own criteria, or without them: gates look at the outputs of a run
    /// that succeeds.
    pub(in crate::machine) fn after_verify(&mut self) {
        if self.judge_round() {
            return;
        }
        let accepted = self.state.control.accepted.is_some();
        if self.state.control.abandoned.is_some() {
            return self.after_publish();
        }
        let bad = self.state.failed.is_some() || self.state.is_closing();
        let is_verified = self.state.judged != Some(false);
        if (!bad && is_verified || accepted) && has_gates(&self.plan, None, GatePoint::Publish) {
            self.enter_phase(RunPhase::Publish);
            self.ask_gates(None, GatePoint::Publish);
        } else {
            self.after_publish();
        }
    }

    /// Continues with the `finally` steps, or with the end of the run.
    pub(in crate::machine) fn after_publish(&mut self) {
        if self.plan.parts().main < self.plan.steps().len() {
            self.enter_phase(RunPhase::Finally);
        } else {
            self.conclude();
        }
    }
}

/// Returns the instant at which a timed wait that began at the given instant is over, and its exit;
/// `None` for all other work. A wait never outlasts its timeout, however late it is looked at.
pub(in crate::machine) fn wait_end(
    work: &StepWork,
    timeout: Option<std::time::Duration>,
    since: Moment,
) -> Option<(Moment, WorkExit)> {
    let over = match work {
        StepWork::Wait(WaitCondition::For(while_)) => since.after(*while_),
        StepWork::Wait(WaitCondition::Until(at)) => (*at).max(since),
        _ => return None,
    };
    match timeout.map(|limit| since.after(limit)) {
        Some(limit) if limit < over => Some((limit, WorkExit::TimedOut)),
        _ => Some((over, WorkExit::Completed)),
    }
}
