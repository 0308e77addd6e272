//! The effects ordered by the machine: those concerning the loop itself (timers, approvals, stops), and the start of units
//! for the others.

use std::sync::Arc;

use tokio::{
    sync::{oneshot, watch},
    task::AbortHandle,
};

use wf_base::time::Moment;
use wf_core::machine::{ApprovalRequest, Attempt, Effect, InputKind, TaskId, TimerKind};
use wf_exec::StopLevel;
use wf_model::{StepWork, WaitCondition};

use super::{dispatcher::RunDispatcher, permits, units::EffectUnit};
use crate::{decisions::asking, nested::children, run::attempt_task, session::UnitResult};

impl RunDispatcher {
    /// Carries out an effect.
    pub(super) fn execute_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Wake { timer, at } => self.set_timer(at, timer),
            Effect::Kill { attempt, force } => {
                let degree = if force { StopLevel::AtOnce } else { StopLevel::Gently };
                self.send_stop(attempt.as_ref(), degree);
            }
            Effect::Unlock { task_id } => self.release_locks(task_id),
            // A forced end does not wait for evidence to be checked again.
            Effect::Finish { .. } => {
                if let Some(confirms) = self.confirms.take() {
                    confirms.abort();
                }
            }
            Effect::Lock { task_id, locks } => {
                if locks.lock.is_none() {
                    // It is asked for in order: until then, it has to wait.
                    let input = InputKind::LockHeld { task_id: task_id.clone() };
                    self.spawn_unit(async { Ok(Some(input)) });
                }
                self.acquire_locks(task_id, locks, None);
            }
            Effect::Ask(ask) => self.poll_approval(ask),
            Effect::Dismiss { number } => {
                if let Some((_, looks)) = self.asks.remove(&number) {
                    looks.abort();
                }
            }
            Effect::StartChild { id, plan, params } => {
                let run = Arc::clone(&self.run);
                let stop = self.children.insert(id.clone());
                self.spawn_unit(children::run_child(run, children::ChildRun { id, plan, params }, stop));
            }
            other => self.spawn_effect(other),
        }
    }

    /// Starts the unit carrying out an effect.
    fn spawn_effect(&mut self, effect: Effect) {
        let confirms = matches!(effect, Effect::Confirm { .. });
        let Some(unit) = EffectUnit::from_effect(Arc::clone(&self.run), effect) else {
            return;
        };
        self.nested.extend(unit.nested_attempt);
        let (stop, heard) = watch::channel(StopLevel::No);
        if unit.is_stoppable {
            self.stops.insert(unit.attempt, stop);
        }
        let handle = match unit.executes {
            Some(place) => self.spawn_execution(&place, heard, unit.begin),
            None => self.spawn_unit((unit.begin)(heard)),
        };
        if confirms {
            self.confirms = Some(handle);
        }
    }

    /// Tells the activity for an attempt to end, and its child runs.
    pub(super) fn send_stop(&self, attempt: Option<&Attempt>, level: StopLevel) {
        if let Some(attempt) = attempt {
            for child in self.children.stop(attempt, level) {
                self.rouse_nested(child.task_path());
            }
        }
        if let Some(stop) = self.stops.get(&attempt.cloned()) {
            let is_new = stop.send_if_modified(|now| std::mem::replace(now, level.max(*now)) < level);
            if let Some(attempt) = attempt.filter(|_| is_new) {
                self.rouse_nested(attempt.task_id.to_string());
            }
        }
    }

    /// Keeps the session from ending while a run nested in a task has not heard that it must end.
    fn rouse_nested(&self, place: String) {
        let mut path = self.run.run_ref.path.clone();
        path.push(place);
        self.run.session.shared.suspended_runs.rouse(&path);
    }

    /// Looks for an answer to a request for approval, after the looks before: answers count in the order of the requests.
    fn poll_approval(&mut self, request: Box<ApprovalRequest>) {
        let (run, asked) = (Arc::clone(&self.run), request.clone());
        let (end, next) = oneshot::channel::<()>();
        let before = self.last_look.replace(next);
        let looks = self.spawn_unit(async move {
            if let Some(before) = before {
                // It is closed once that look is over, or was given up.
                let _ = before.await;
            }
            let decision = asking::check_decision(run, asked).await;
            drop(end);
            decision
        });
        self.asks.insert(request.request, (request, looks));
    }

    /// Looks for an answer given before the deadline, which is over.
    fn poll_approval_last(&mut self, request: Box<ApprovalRequest>) {
        let run = Arc::clone(&self.run);
        self.spawn_unit(asking::check_decision_last(run, request));
    }

    /// Looks for answers once more.
    pub(super) fn poll_approvals(&mut self) {
        let open = self.asks.values().filter(|(_, looks)| looks.is_finished());
        let requests: Vec<Box<ApprovalRequest>> = open.map(|(ask, _)| ask.clone()).collect();
        for ask in requests {
            self.poll_approval(ask);
        }
    }

    /// Starts a unit of work in which a step executes; `stop` tells it to end.
    fn spawn_execution<W, F>(
        &mut self,
        task_id: &TaskId,
        stop: watch::Receiver<StopLevel>,
        work: W,
    ) -> AbortHandle
    where
        W: FnOnce(watch::Receiver<StopLevel>) -> F,
        F: Future<Output = UnitResult> + Send + 'static,
    {
        if self.run.session.shared.permits.limits.is_none() {
            return self.spawn_unit(work(stop));
        }
        let (run, work) = (Arc::clone(&self.run), Box::pin(work(stop.clone())));
        self.spawn_unit(permits::execute(run, task_id.clone(), stop, work))
    }

    pub(super) fn fire_due_timers(&mut self) {
        let wall = self.run.session.clock.now();
        while let Some((at, timer)) = self.timers.pop(wall) {
            let question = match &timer {
                TimerKind::Ask { number } => self.asks.get(number).map(|(ask, _)| ask.clone()),
                _ => None,
            };
            match question {
                Some(ask) => self.poll_approval_last(ask),
                None => self.process_input(at, InputKind::Woke { timer }),
            }
        }
    }

    fn set_timer(&mut self, at: Moment, timer: TimerKind) {
        let step = match &timer {
            TimerKind::Wait(attempt) => Some(attempt_task::step_of(&self.run, &attempt.task_id)),
            _ => None,
        };
        // Its limit, if that is earlier, is a duration.
        let named =
            |work: &StepWork| matches!(work, StepWork::Wait(WaitCondition::Until(until)) if *until == at);
        if step.is_some_and(|step| named(&step.work)) {
            let wall = self.run.session.clock.now();
            self.timers.set_on_wall(at, wall, timer);
        } else {
            self.timers.set(at, self.now, timer);
        }
    }
}
