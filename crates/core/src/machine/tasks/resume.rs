//! The resume after a replay: everything in flight is asked for again.

use std::sync::Arc;

use crate::machine::state::in_flight::{InFlight, TaskRequest};
use crate::machine::state::scope::{self, TaskScope};
use crate::machine::state::task_phase::{ActivityKind, TaskPhase};
use crate::machine::state::{self, MachineTurn, Run, TaskIx};
use crate::machine::tasks::advance::wait_end;
use crate::machine::words::{ApprovalRequest, Attempt, Effect, GatePoint, RunPhase, TaskLocks, TimerKind};
use wf_base::time::Moment;
use wf_model::LockBusyPolicy;

impl Run {
    /// Returns the effects that the run needs to go on after a replay.
    pub(in crate::machine) fn resume(&mut self, now: Moment) -> MachineTurn {
        self.now = self.now.max(now);
        if self.state.outcome.is_some() || self.state.started.is_none() {
            return MachineTurn::default();
        }
        self.flight = InFlight::derive(&self.plan, &self.state);
        self.resume_timers();
        self.resume_asks();
        self.resume_locks();
        for (task, _) in self.state.activities() {
            if !self.flight.is_returning(task) {
                self.resume_activity(task, false);
            }
        }
        if self.is_planning() {
            self.ask_planner_again();
        } else if self.state.phase == RunPhase::Verify {
            match self.state.judged {
                None => self.check_plan(),
                Some(_) => self.after_verify(),
            }
        }
        if self.state.phase == RunPhase::Confirm && !self.state.is_force_cancelled() {
            self.resume_confirmation();
        }
        // A stop request from before may not have reached what runs.
        self.kill_live(self.state.is_force_cancelled());
        self.advance();
        self.notice_budget();
        std::mem::take(&mut self.turn)
    }

    /// Lets an agent at work go on whose conversation was lost with its host: it is built anew from what is recorded, and what was under
    /// way is asked for again.
    pub(in crate::machine) fn resume_agent(&mut self, attempt: &Attempt, now: Moment) -> MachineTurn {
        self.now = self.now.max(now);
        if let Some(task) = self.working_agent(attempt) {
            self.resume_activity(task, false);
        }
        std::mem::take(&mut self.turn)
    }

    /// Asks again for everything waited for, after a resume.
    fn resume_asks(&mut self) {
        let asks: Vec<ApprovalRequest> =
            (self.state.asks.values()).map(|pending| pending.ask.clone()).collect();
        for ask in asks {
            self.wait_for(ask);
        }
        let point = match self.state.phase {
            RunPhase::Gates => GatePoint::Start,
            RunPhase::Publish => GatePoint::Publish,
            _ => return,
        };
        let pending = self.state.asks.values().any(|pending| pending.task.is_none());
        if pending || self.state.blocked.is_some() {
            return;
        }
        if !self.state.is_ending() {
            self.ask_gates(None, point);
        } else if point == GatePoint::Publish {
            // No input will come to say that it publishes nothing.
            self.after_publish();
        }
    }

    /// Sets the timers again, also those of tasks that wait for their turn: the time in between counts. Tasks
    /// whose step is still to be considered get their timer there.
    fn resume_timers(&mut self) {
        self.run_timer();
        let mut waiting = Vec::new();
        for (task, record) in self.state.tasks() {
            let waits = match record.phase {
                TaskPhase::Active(_) | TaskPhase::Ended(_) => false,
                TaskPhase::Locking => true,
                // Gates let it queue, or a person let it begin another round.
                TaskPhase::Queued | TaskPhase::Resting(_) => record.attempts_of_round() == 0,
                TaskPhase::Pending | TaskPhase::Due | TaskPhase::Undecided => {
                    task.item.is_some() && record.attempts_of_round() == 0
                }
            };
            if waits {
                waiting.push(task);
            }
            if let TaskPhase::Resting(at) = record.phase {
                let attempt = state::attempt(&self.plan, task, record.attempts.saturating_add(1));
                self.turn.effects.push(Effect::Wake { timer: TimerKind::Retry(attempt), at });
            }
        }
        for task in waiting {
            self.queue_timer(task);
        }
    }

    /// Asks for the locks of tasks that go on, and keep their room.
    fn resume_locks(&mut self) {
        // A task whose attempt has not begun holds no lock, even while an approval is pending for it; one
        // with a result from the cache has begun.
        let asks_before = |task| {
            let mut own = self.state.asks.values().filter(|pending| pending.task == Some(task));
            own.any(|pending| matches!(pending.ask.point, Some(GatePoint::Enter | GatePoint::Again)))
        };
        let mut begun = self.state.activities();
        begun.retain(|(task, activity)| !activity.is_asking_first() || !asks_before(*task));
        for (task, _) in begun {
            // What it began, it goes on with, whoever has the lock now.
            let when_busy = LockBusyPolicy::Queue;
            let locks = TaskLocks { when_busy, ..TaskLocks::of(&self.plan, &self.state, task) };
            if !locks.is_empty() && !self.is_halting(task) {
                let place = state::task_id(&self.plan, task);
                self.turn.effects.push(Effect::Lock { place, locks });
                self.flight.set(task, Some(TaskRequest::Return { approved: false }));
            }
        }
    }

    /// Asks again for the activity of a task; `approved`: and for an answer that came too early.
    pub(in crate::machine) fn resume_activity(&mut self, task: TaskIx, approved: bool) {
        let plan = Arc::clone(&self.plan);
        let step = plan.step(task.ix());
        let Some(live) = self.state.activity(task) else {
            return;
        };
        let attempt = state::attempt(&plan, task, live.attempt);
        self.request_children(task, &attempt);
        match (live.doing, &step.work) {
            // The approval is requested again with all others.
            (ActivityKind::Asking, _) => {
                if approved {
                    let asks = self.state.asks.values();
                    let of_it = asks.filter(|pending| pending.task == Some(task));
                    let again = of_it.map(|pending| Effect::Ask(Box::new(pending.ask.clone())));
                    self.turn.effects.extend(again);
                }
            }
            (ActivityKind::Leaving, _) => self.ask_gates(Some(task), GatePoint::Leave),
            (ActivityKind::Checking, _) => self.after_gates(task),
            // It is asked for again in its turn.
            (ActivityKind::Merging, _) => {}
            (ActivityKind::Consulting, _) => self.request_guidance(task, attempt),
            (ActivityKind::Working, work) if let Some((at, _)) = wait_end(work, step.timeout, live.since) => {
                self.set_timer(TimerKind::Wait(attempt), at);
            }
            (ActivityKind::Working, _) => {
                self.await_briefing(task, &attempt, live.since);
                self.watch(task, attempt, live.since);
            }
        }
    }

    /// Asks for the end of work that has begun.
    pub(in crate::machine) fn watch(&mut self, task: TaskIx, attempt: Attempt, since: Moment) {
        let view = TaskScope { plan: &self.plan, state: &self.state, task: Some(task) };
        let reads = scope::work_reads(&view, self.plan.step(task.ix())).unwrap_or_default();
        self.turn.effects.push(Effect::Watch {
            attempt,
            since,
            item_value: self.state.item(task).cloned(),
            reads,
            correction: self.correction(task),
            tool_args: self.tool_args(task),
            agent: self.agent_record(task).cloned().map(Box::new),
            generated: self.state.task_record(task).and_then(|record| record.generated),
        });
    }
}
