//! The effect of the passing of time.

use super::in_flight::TaskRequest;
use super::state::TaskIx;
use super::task_phase::TaskPhase;
use super::{Effect, EventKind, Machine, RunPhase, TimerKind};
use wf_base::time::Moment;

impl Machine {
    pub(super) fn on_timer(&mut self, timer: TimerKind) {
        match timer {
            TimerKind::Retry(attempt) => {
                if let Some(spot) = self.task_ix(&attempt.place)
                    && self.is_due(spot, attempt.attempt)
                {
                    self.flight.enqueue(&self.plan, spot);
                }
            }
            TimerKind::Wait(attempt) => self.end_wait(&attempt),
            TimerKind::Queue(place) => self.on_queue_timeout(&place),
            TimerKind::Ask { number } => self.on_request_expired(number),
            TimerKind::Budget { ms } => self.on_budget_timer(ms),
            TimerKind::Run => {
                let late = self.run_limit().is_some_and(|limit| limit <= self.now);
                if late && !self.state.is_ending() && self.state.phase < RunPhase::Finally {
                    self.emit(EventKind::RunTimedOut);
                    self.sweep();
                }
            }
        }
    }

    /// True if an attempt is the next one of a task, and may begin.
    fn is_due(&self, spot: TaskIx, attempt: u32) -> bool {
        let slot = self.state.task_record(spot);
        let due = slot.is_some_and(|slot| {
            let next = slot.attempts.saturating_add(1) == attempt;
            next && matches!(slot.phase, TaskPhase::Resting(due) if due <= self.now)
        });
        due && self.flight.request(spot) == Some(TaskRequest::Timer)
    }

    /// Returns the instant at which the run has taken too long.
    fn run_limit(&self) -> Option<Moment> {
        Some(self.state.started?.after(self.plan.parts().timeout?))
    }

    /// Sets the timer of the whole run.
    pub(super) fn run_timer(&mut self) {
        self.budget_timer();
        if let Some(at) = self.run_limit() {
            let timer = TimerKind::Run;
            self.turn.effects.push(Effect::Wake { timer, at });
        }
    }
}
