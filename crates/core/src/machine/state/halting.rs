//! The reasons for which a task does not begin, or does not go on.

use crate::machine::{
    state::{self, Run, TaskIx, budget_limits, fold::task_end::TaskCompletion},
    words::{GatePoint, Standing, StepState},
};
use wf_model::{OnStepError, OnStepFailure, StepIx, expr::Expr};

/// The reason for a step or item that the user chose to leave out.
pub const NOT_CHOSEN: &str = "not selected";

/// The reason of a skipped plan of an escalation.
pub const NOT_ESCALATED: &str = "no gate escalated to it";

/// The prefix of the reason for a step skipped after another one failed.
pub const NOT_STARTED: &str = "not started: ";

impl Run {
    /// Returns the reason why nothing new begins after a failure.
    pub(in crate::machine) fn stopping_reason(&self) -> String {
        format!("{NOT_STARTED}{}", self.failing_reason())
    }

    /// Returns the failure after which nothing new begins.
    fn failing_reason(&self) -> String {
        match self.state().stopping.or(self.state().failed) {
            Some(step) => format!("`{}` failed", self.failed_place(step)),
            None => "another step failed".into(),
        }
    }

    /// Returns the task of a failed step: of a repeated step, the first item that failed.
    fn failed_place(&self, step: u32) -> String {
        let mut items = self.state().step_record(step).tasks().filter(|(item, _)| item.is_some());
        let failed = items.find(|(_, task)| task.ended() == Some(StepState::Failed));
        let task = TaskIx { step, item: failed.and_then(|(item, _)| item) };
        let item = self.state().item(task);
        state::task_id(self.plan(), task).display_name(item.map(|item| item.key.as_str()))
    }

    /// Returns the reason why nothing new begins at the end of the run.
    pub(in crate::machine) fn ending_reason(&self) -> String {
        match &self.state().cancelled {
            Some(cancelled) => cancelled.reason.clone(),
            None if self.state().timed_out => "the run exceeded its time limit".into(),
            None => budget_limits::exhausted_reason(self).unwrap_or_default(),
        }
    }

    /// True if a task has ended.
    pub(in crate::machine) fn is_over(&self, task: TaskIx) -> bool {
        let step_over = self.state().step_record(task.step).state.is_final();
        let place_over = self.state().task_record(task).is_some_and(|record| record.ended().is_some());
        step_over || task.item.is_some() && place_over
    }

    /// True if a task may not begin any more because a step failed.
    pub(in crate::machine) fn is_barred(&self, task: TaskIx) -> bool {
        let exempt = self.asks_status(task.step) || self.plan().is_finally(task.ix());
        self.state().stopping.is_some() && !exempt
    }

    /// True if a step survives the stop of the run: its condition reads the status of others.
    pub(in crate::machine) fn asks_status(&self, step: u32) -> bool {
        self.plan().step(StepIx(step)).when.as_deref().is_some_and(Expr::asks_status)
    }

    /// True if nothing running for a task may continue.
    pub(in crate::machine) fn is_halting(&self, task: TaskIx) -> bool {
        let cancels = self.plan().parts().policy.on_failure == OnStepFailure::Cancel;
        let stopped = self.state().stopping.is_some() && cancels && !self.asks_status(task.step);
        if self.plan().is_finally(task.ix()) {
            self.state().is_force_cancelled()
        } else {
            stopped || self.state().is_ending()
        }
    }

    /// Returns the reason why running work was told to end.
    pub(in crate::machine) fn halting_reason(&self) -> String {
        if self.state().is_ending() || self.state().is_closing() && self.state().stopping.is_none() {
            self.ending_reason()
        } else {
            self.failing_reason()
        }
    }

    pub(in crate::machine) fn tolerates(&self, step: u32) -> bool {
        self.plan().step(StepIx(step)).on_error == OnStepError::Continue
    }

    /// Returns the point at which gates are asked before the next attempt of a task; `None`: they
    /// have passed.
    pub(in crate::machine) fn entry(&self, task: TaskIx) -> Option<GatePoint> {
        let record = self.state().task_record(task)?;
        match (record.has_entered(), record.is_admitted()) {
            (false, _) => Some(GatePoint::Enter),
            (true, false) => Some(GatePoint::Again),
            (true, true) => None,
        }
    }

    /// Returns the end of a task that may not go on, whatever its gates said.
    pub(in crate::machine) fn end_at_gates(&self, task: TaskIx, point: GatePoint) -> Option<TaskCompletion> {
        match point {
            GatePoint::Leave if self.is_halting(task) => Some(TaskCompletion {
                standing: Standing::Reported,
                ..TaskCompletion::cancelled(self.halting_reason())
            }),
            GatePoint::Enter | GatePoint::Again if self.is_halting(task) => {
                Some(TaskCompletion::cancelled(self.halting_reason()))
            }
            GatePoint::Enter if self.is_barred(task) => Some(TaskCompletion::skipped(self.stopping_reason())),
            _ => None,
        }
    }
}
