//! The effect of the passing of time.

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::task_phase::{ActivityKind, TaskPhase};
use crate::machine::state::{Run, TaskIx};
use crate::machine::tasks::advance::wait_end;
use crate::machine::words::{Attempt, AttemptEnd, Standing, TaskId, TimerKind};
use wf_base::time::Moment;
use wf_model::FailureClass;

impl Run {
    /// Ends the attempt of a wait that is over.
    pub(in crate::machine) fn end_wait(&mut self, attempt: Attempt) {
        let Some((task, live)) = self.current_activity(&attempt, ActivityKind::Working) else {
            return;
        };
        let step = self.plan.step(task.ix());
        if let Some((at, exit)) = wait_end(&step.work, step.timeout, live.since)
            && at <= self.now
        {
            self.on_attempt_end(AttemptEnd::new(attempt, exit));
        }
    }

    /// Fails a task that has waited too long for its turn.
    pub(in crate::machine) fn on_queue_timeout(&mut self, place: &TaskId) {
        let Some(task) = self.task_ix(place) else {
            return;
        };
        let untried = self.state.is_untried(task);
        let waits = match self.flight.request(task) {
            Some(TaskRequest::Turn { .. } | TaskRequest::Lock { .. }) => true,
            Some(TaskRequest::Timer) | None => {
                task.item.is_some() && !self.is_over(task) && self.state.activity(task).is_none()
            }
            Some(_) => false,
        };
        let late = self.queue_limit(task).is_some_and(|at| at <= self.now);
        if untried && waits && late {
            let limit = self.plan.step(task.ix()).queue_timeout.unwrap_or_default();
            let reason = format!("waited longer than {} in the queue", wf_base::time::format_duration(limit));
            let failure_class = Some(FailureClass::Environmental);
            self.finish(task, TaskCompletion::failure(Standing::Unchecked, failure_class, reason));
        }
    }

    /// True if an attempt is the next one of a task, and may begin.
    pub(in crate::machine) fn is_due(&self, task: TaskIx, attempt: u32) -> bool {
        let record = self.state.task_record(task);
        let due = record.is_some_and(|record| {
            let next = record.attempts.saturating_add(1) == attempt;
            next && matches!(record.phase, TaskPhase::Resting(due) if due <= self.now)
        });
        due && self.flight.request(task) == Some(TaskRequest::Timer)
    }

    /// Returns the instant at which the run has taken too long.
    pub(in crate::machine) fn run_limit(&self) -> Option<Moment> {
        Some(self.state.started?.after(self.plan.parts().timeout?))
    }

    /// Sets the timer of the whole run.
    pub(in crate::machine) fn run_timer(&mut self) {
        self.budget_timer();
        if let Some(at) = self.run_limit() {
            self.set_timer(TimerKind::Run, at);
        }
    }
}
