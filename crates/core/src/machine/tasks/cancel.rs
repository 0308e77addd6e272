//! The effect of a failure, a cancellation or a timeout on everything that has not ended.

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::task_phase::{ActivityKind, TaskActivity};
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::{Attempt, Effect, EventKind, RunPhase, WorkExit};
use wf_model::{OnStepFailure, StepWork, WaitCondition};

impl Run {
    /// Lets the failure of a step stop or cancel the others, as the policy says. A round ends when
    /// everything that can run has run, whatever the policy says: its measurement must not depend
    /// on concurrency (artoo v0.8, R4b).
    pub(in crate::machine) fn stop(&mut self, task: TaskIx) {
        let policy = self.plan.parts().policy.on_failure;
        if policy == OnStepFailure::Continue
            || self.plan.parts().replan.is_some()
            || self.state.stopping.is_some()
            || self.plan.is_finally(task.ix())
        {
            return;
        }
        let step = self.plan.step(task.ix()).id.clone();
        self.emit(EventKind::RunDraining { step });
        self.sweep();
    }

    /// Ends every main step that may not begin any more, and running work if it must end.
    pub(in crate::machine) fn sweep(&mut self) {
        let ending = self.state.is_ending();
        let forced = self.state.is_force_cancelled();
        if forced || self.state.never_began() {
            self.sweep_finally();
        }
        if self.state.never_began() {
            self.withdraw(None);
        }
        let killing = ending || self.plan.parts().policy.on_failure == OnStepFailure::Cancel;
        for step in self.main_steps() {
            let over = self.state.step_record(step).state.is_final();
            let all = ending || self.state.blocked.is_some();
            if !over && (all || !self.asks_status(step)) {
                self.sweep_step(step, killing);
            }
        }
        if killing {
            self.kill_live(forced);
        }
    }

    /// Ends the tasks of a step with nothing running; with `resting`, also those between two
    /// attempts.
    pub(in crate::machine) fn sweep_step(&mut self, step: u32, resting: bool) {
        let places: Vec<TaskIx> = match &self.state.step_record(step).many {
            None => vec![TaskIx { step, item: None }],
            Some(many) => (0..u32::try_from(many.records.len()).unwrap_or(u32::MAX))
                .map(|item| TaskIx { step, item: Some(item) })
                .collect(),
        };
        let end = if self.state.is_ending() {
            TaskCompletion::cancelled(self.ending_reason())
        } else if let Some(reason) = &self.state.blocked {
            TaskCompletion::skipped(reason.clone())
        } else {
            TaskCompletion::skipped(self.stopping_reason())
        };
        for task in places {
            let activity = self.state.activity(task);
            let is_asking = activity.is_some_and(TaskActivity::is_asking_first);
            let works = activity.is_some() && !is_asking;
            let tried = (self.state.task_record(task)).is_some_and(|record| record.attempts_of_round() > 0);
            if self.is_over(task) || works || tried && !resting {
                continue;
            }
            if is_asking {
                self.withdraw(Some(task));
            }
            let end = if tried { TaskCompletion::cancelled(self.halting_reason()) } else { end.clone() };
            self.finish(task, end);
        }
    }

    /// Ends the `finally` steps that have not begun, when the end is forced.
    fn sweep_finally(&mut self) {
        if matches!(self.state.phase, RunPhase::Finally | RunPhase::Gates) {
            for step in self.main_steps().end..u32::try_from(self.state.steps.len()).unwrap_or(u32::MAX) {
                if !self.state.step_record(step).state.is_final() {
                    self.sweep_step(step, true);
                }
            }
        }
    }

    /// Ends running work that may not go on.
    pub(in crate::machine) fn kill_live(&mut self, force: bool) {
        let ending = self.state.is_ending();
        let gated = matches!(self.state.phase, RunPhase::Gates | RunPhase::Publish);
        let checked = self.state.phase == RunPhase::Verify && self.state.judged.is_none();
        if ending && (checked || gated || self.is_planning()) {
            self.turn.effects.push(Effect::Kill { attempt: None, force });
        }
        for (task, TaskActivity { attempt: number, doing, .. }) in self.state.activities() {
            if !self.is_halting(task) {
                continue;
            }
            self.stop_waiting(task);
            let attempt = state::attempt(&self.plan, task, number);
            let timed = matches!(
                self.plan.step(task.ix()).work,
                StepWork::Wait(WaitCondition::For(_) | WaitCondition::Until(_))
            );
            let of_agent = doing == ActivityKind::Asking && self.withdraw_agent_request(task);
            match doing {
                ActivityKind::Working if timed => self.end_attempt(attempt, WorkExit::Cancelled),
                ActivityKind::Asking if !of_agent => self.cancel_ask(task, attempt),
                _ if self.stop_collecting(task, &attempt) => continue,
                // It ends in its turn, with the files either written or not.
                ActivityKind::Merging => continue,
                _ => {
                    self.turn.effects.push(Effect::Kill { attempt: Some(attempt), force });
                    continue;
                }
            }
            self.finish(task, TaskCompletion::cancelled(self.halting_reason()));
        }
    }

    /// Lets a task that waits for its lock after a resume go on without it: it is about to end.
    fn stop_waiting(&mut self, task: TaskIx) {
        if let Some(approved) = self.withdraw_return(task) {
            self.resume_activity(task, approved);
        }
    }

    /// Withdraws the locks that a task was to have again after a resume. Returns if it was approved meanwhile; `None`: it
    /// does not wait for any.
    pub(in crate::machine) fn withdraw_return(&mut self, task: TaskIx) -> Option<bool> {
        let TaskRequest::Return { approved } = self.flight.request(task)? else { return None };
        self.flight.set(task, None);
        let place = state::task_id(&self.plan, task);
        self.turn.effects.push(Effect::Unlock { place });
        Some(approved)
    }

    /// Withdraws the request that an attempt waits for, and ends the attempt if the request is its work.
    fn cancel_ask(&mut self, task: TaskIx, attempt: Attempt) {
        self.withdraw(Some(task));
        let decides = matches!(self.plan.step(task.ix()).work, StepWork::Approve(_));
        let asked_after = self.state.task_record(task).is_some_and(|record| record.result.is_some());
        if decides && attempt.attempt > 0 && !asked_after {
            self.end_attempt(attempt, WorkExit::Cancelled);
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
}
