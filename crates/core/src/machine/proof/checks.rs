//! The checks of a result, phase after phase, and the rework that they cause (Sylk W22, W23, W25).
//!
//! After the work of an attempt has ended well, `inspect` is checked; once all of it passes,
//! `test`, then `verify`. A failure of `inspect` or `test` sends the work back, as often as `loops`
//! says; a failure of `verify` is for `retry`. An approver asked when no loop is left may let a
//! phase be ignored: for the current attempt, and at the price that its result is not verified.

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::plan_rules::{of_phase, standing_of};
use crate::machine::state::scope::{self, TaskScope};
use crate::machine::state::task_phase::ActivityKind;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::{
    ApprovalRequest, Artifact, Attempt, CheckVerdict, Effect, EventKind, FailedCheck, ReworkLoop, RunPhase,
    Standing, StepItem, TaskId,
};
use wf_model::{ApprovalRequirement, CheckPhase, FailureClass, JsonObject, OnReworkExhausted};

impl Run {
    /// Returns the item of a task and the values that its checks read, to check a replayed run again. Without a task: the values
    /// that the plan's own checks read. `None` if a value is missing, or there is no such task.
    pub(in crate::machine) fn read_by_checks(
        &self,
        place: Option<&TaskId>,
    ) -> Option<(Option<StepItem>, JsonObject)> {
        let task = match place {
            Some(place) => Some(self.task_ix(place)?),
            None => None,
        };
        let view = TaskScope { plan: &self.plan, state: &self.state, task };
        let checks = match task {
            Some(task) => &self.plan.step(task.ix()).verify,
            None => &self.plan.parts().verify,
        };
        let reads = scope::check_reads(&view, checks).ok()?;
        let item = task.and_then(|task| self.state.item(task).cloned());
        Some((item, reads))
    }

    /// Requests the checks of an attempt whose turn it is.
    pub(in crate::machine) fn ask_checks(&mut self, task: TaskIx, attempt: Attempt) {
        // After a resume they are requested once its lock is held again.
        if self.flight.is_returning(task) {
            return;
        }
        let plan = std::sync::Arc::clone(&self.plan);
        let checks = &plan.step(task.ix()).verify;
        let Some(phase) = self.phase_of(task) else {
            return self.complete_verified(task);
        };
        let view = TaskScope { plan: &plan, state: &self.state, task: Some(task) };
        match scope::check_reads(&view, of_phase(checks, phase)) {
            Ok(reads) => {
                let item_value = self.state.item(task).cloned();
                self.turn.effects.push(Effect::Check { attempt: Some(attempt), phase, item_value, reads });
            }
            Err(error) => {
                let class = Some(FailureClass::Logical);
                self.finish(task, TaskCompletion::failure(Standing::Reported, class, error.to_string()));
            }
        }
    }

    /// Applies the rulings of a phase of checks on an attempt.
    pub(in crate::machine) fn on_verdicts(
        &mut self,
        attempt: &Attempt,
        phase: CheckPhase,
        verdicts: Vec<CheckVerdict>,
        seen: Vec<Artifact>,
    ) {
        let Some((task, _)) = self.current_activity(attempt, ActivityKind::Checking) else {
            return;
        };
        if self.phase_of(task) != Some(phase) {
            return;
        }
        let refuted = verdicts.iter().find(|verdict| !verdict.passed());
        let refuted = refuted.map(|verdict| (FailedCheck::from(verdict).describe(), verdict.failure_class));
        self.record_evidence(attempt, seen);
        self.record_verdicts(Some(attempt), phase, verdicts);
        match refuted {
            None => self.after_phase(task, attempt, phase),
            Some((reason, _)) if self.is_halting(task) => {
                let end =
                    TaskCompletion { standing: Standing::Reported, ..TaskCompletion::cancelled(reason) };
                self.finish(task, end);
            }
            Some(_) if attempt.attempt == 0 && self.is_barred(task) => {
                self.finish(task, TaskCompletion::skipped(self.stopping_reason()));
            }
            // The checks did not confirm the cached result: the work runs after all.
            Some(_) if attempt.attempt == 0 => self.start(task),
            Some((reason, failure_class)) if phase == CheckPhase::Verify => {
                self.on_refuted_attempt(task, attempt.attempt, failure_class, reason);
            }
            Some((reason, failure_class)) => self.rework(task, attempt, phase, failure_class, reason),
        }
    }

    fn record_verdicts(&mut self, of: Option<&Attempt>, phase: CheckPhase, verdicts: Vec<CheckVerdict>) {
        for verdict in verdicts {
            let attempt = of.cloned();
            let verdict = CheckVerdict { phase, ..verdict };
            self.emit(EventKind::CheckCompleted { attempt, verdict });
        }
    }

    /// Continues after a phase of an attempt: with the next one, or with the end of the task.
    fn after_phase(&mut self, task: TaskIx, attempt: &Attempt, phase: CheckPhase) {
        let checks = &self.plan.step(task.ix()).verify;
        if CheckPhase::next_phase(Some(phase), checks).is_none() {
            return self.complete_verified(task);
        }
        let attempt = attempt.clone();
        self.emit(EventKind::ChecksPassed { attempt: Some(attempt.clone()), phase });
        if self.is_halting(task) {
            // The other checks will not run: the success stays unverified.
            return self.finish(task, TaskCompletion::success(Standing::Reported));
        }
        self.ask_checks(task, attempt);
    }

    /// Ends a task whose checks passed, except those that an approver let be ignored.
    fn complete_verified(&mut self, task: TaskIx) {
        let record = self.state.task_record(task);
        let shows_little = record.is_some_and(|record| record.ignored || record.is_unbounded);
        // A judge inside a nested run is not outvoted by a check around it.
        let result = record.and_then(|record| record.result.as_ref());
        let nested = result.and_then(|result| result.standing);
        if let Some(file) = result.and_then(|result| result.swapped_file.as_ref()) {
            let reason = swapped_file_text(file);
            return self
                .finish(task, TaskCompletion { reason, ..TaskCompletion::success(Standing::Reported) });
        }
        let standing = match standing_of(&self.plan.step(task.ix()).verify) {
            _ if shows_little => Standing::Reported,
            _ if nested == Some(Standing::Plausible) => Standing::Plausible,
            own => own,
        };
        self.finish(task, TaskCompletion::success(standing));
    }

    /// Sends the work back for rework, as long as the failed phase has loops.
    pub(in crate::machine) fn rework(
        &mut self,
        task: TaskIx,
        attempt: &Attempt,
        phase: CheckPhase,
        failure_class: Option<FailureClass>,
        reason: String,
    ) {
        let loops = self.plan.step(task.ix()).loops;
        let used = (self.state.task_record(task)).map_or(0, |record| record.loops_of(phase));
        let next = attempt.attempt.checked_add(1);
        match next.filter(|_| used < loops.max) {
            Some(_) if self.ask_for_guidance(task, attempt.attempt, failure_class, &reason) => {}
            Some(next) => {
                let looped = ReworkLoop { phase, number: used + 1, limit: loops.max };
                let attempt = state::attempt(&self.plan, task, next);
                self.schedule_attempt(attempt, self.now, reason, Some(looped));
            }
            None if loops.on_exhausted == OnReworkExhausted::Ask => self.ask_to_ignore(task, phase, used),
            None => {
                let failure = TaskCompletion::failure(Standing::Refuted, failure_class, reason);
                self.fail_or_ask(task, attempt.attempt, failure);
            }
        }
    }

    /// Asks the approvers whether to go on although a phase failed.
    fn ask_to_ignore(&mut self, task: TaskIx, phase: CheckPhase, used: u32) {
        let record = self.state.task_record(task);
        let failed = record.and_then(|record| record.tries.as_ref());
        let failed = failed.map_or(&[][..], |tries| &tries.failed);
        let lines = failed.iter().map(|unmet| (unmet.criterion.to_string(), unmet.describe().into()));
        let show: JsonObject = lines.collect();
        let first = failed.first().map(FailedCheck::describe);
        let message = format!(
            "ignore `{}`? It failed, and all its reworks are used ({used}): {}",
            phase.as_str(),
            first.unwrap_or_default()
        );
        let mut ask = self.request(Some(task), message, &ApprovalRequirement::default());
        if task.item.is_none() {
            // The approval is for the files that were checked.
            ask.covers_steps.push(self.plan.step(task.ix()).id.clone());
        }
        self.open_request(ApprovalRequest { phase: Some(phase), show, ..ask });
    }

    /// Goes on with an attempt although a phase failed: an approver let it be ignored.
    pub(in crate::machine) fn on_phase_ignored(&mut self, task: TaskIx, phase: CheckPhase) {
        if let Some(live) = self.state.activity(task) {
            let attempt = state::attempt(&self.plan, task, live.attempt);
            self.after_phase(task, &attempt, phase);
        }
    }

    /// Ends a task with a failed phase that no approver let be ignored.
    pub(in crate::machine) fn on_phase_not_ignored(&mut self, task: TaskIx, phase: CheckPhase, no: &str) {
        let record = self.state.task_record(task);
        let tries = record.and_then(|record| record.tries.as_ref());
        let failure_class = tries.and_then(|tries| tries.failure_class);
        let found = tries.and_then(|tries| tries.failed.first()).map(FailedCheck::describe);
        let found = found.unwrap_or_else(|| format!("`{}` failed", phase.as_str()));
        let reason = format!("{found}; {no}");
        self.finish(task, TaskCompletion::failure(Standing::Refuted, failure_class, reason));
    }

    /// Applies the rulings of a phase of the plan's own checks.
    pub(in crate::machine) fn on_plan_verdicts(&mut self, phase: CheckPhase, verdicts: Vec<CheckVerdict>) {
        let is_expected = self.state.phase == RunPhase::Verify && self.state.judged.is_none();
        if !is_expected || phase != self.own_phase() {
            return;
        }
        self.record_verdicts(None, phase, verdicts);
        let refuted = self.state.judged == Some(false);
        let next = CheckPhase::next_phase(Some(phase), &self.plan.parts().verify);
        if refuted || next.is_none() || self.state.is_ending() {
            return self.after_verify();
        }
        let attempt = None;
        self.emit(EventKind::ChecksPassed { attempt, phase });
        self.check_plan();
    }
}

/// Returns the reason why a result whose checks passed is only reported.
fn swapped_file_text(file: &str) -> String {
    format!(
        "`{file}` changed while this step could read it; with `allow` the step would read what was verified"
    )
}
