//! The end of a run that nothing carries out any more.

use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::in_flight::InFlight;
use crate::machine::state::task_phase::{ActivityKind, TaskActivity};
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::{Attempt, ChildEnd, ChildId, Event, EventKind, WorkExit};
use wf_base::time::Moment;

impl Run {
    /// Ends the run at once, with no effects: what was under way was interrupted, nobody reports about it, and what
    /// has not begun never does. Returns the events; none if the run has not begun, or is over.
    pub(in crate::machine) fn terminate(&mut self, reason: &str, now: Moment) -> Vec<Event> {
        self.now = self.now.max(now);
        if !self.has_begun() || self.state.outcome.is_some() {
            return Vec::new();
        }
        self.flight = InFlight::derive(&self.plan, &self.state);
        while !self.state.is_force_cancelled() {
            self.cancel(reason.to_owned());
        }
        for step in 0..u32::try_from(self.state.steps.len()).unwrap_or(u32::MAX) {
            if !self.state.step_record(step).state.is_final() {
                self.sweep_step(step, true);
            }
        }
        for (task, activity) in self.state.activities() {
            self.interrupt(task, activity);
        }
        self.withdraw(None);
        self.end_run();
        std::mem::take(&mut self.turn).events
    }

    /// Ends a task whose activity was interrupted. None waits for people: the cancellation has withdrawn the requests of tasks.
    fn interrupt(&mut self, task: TaskIx, activity: TaskActivity) {
        let attempt = state::attempt(&self.plan, task, activity.attempt);
        self.interrupt_children(task, &attempt);
        if activity.doing == ActivityKind::Working {
            self.end_attempt(attempt, WorkExit::Interrupted);
        }
        self.finish(task, TaskCompletion::cancelled(self.halting_reason()));
    }

    /// Ends the child runs that an agent waits for.
    fn interrupt_children(&mut self, task: TaskIx, attempt: &Attempt) {
        for child in self.open_children(task) {
            let id = ChildId { attempt: attempt.clone(), child };
            let end = ChildEnd::without_result(id, WorkExit::Interrupted);
            self.emit(EventKind::ChildEnded(Box::new(end)));
        }
    }
}
