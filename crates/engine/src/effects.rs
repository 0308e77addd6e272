//! The effects that the machine orders, and the units that carry them out.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use wf_core::machine::{AgentRecord, ApprovalRequest, Attempt, Effect, InputKind};
use wf_exec::StopLevel;
use wf_model::StepWork;

use super::dispatch::RunDispatcher;
use super::run::RunContext;
use super::{
    agent, asking, attempt_task, children, current_step, evidence, gating, generated, guidance, judging,
    planning, worktrees,
};

impl RunDispatcher {
    /// Carries out an effect.
    pub(super) fn execute_effect(&mut self, effect: Effect) {
        let run = Arc::clone(&self.run);
        match effect {
            Effect::Wake { timer, at } => self.set_timer(at, timer),
            Effect::Kill { attempt, force } => {
                let degree = if force { StopLevel::AtOnce } else { StopLevel::Gently };
                self.send_stop(attempt.as_ref(), degree);
            }
            Effect::Unlock { place } => self.release_locks(place),
            // A forced end does not wait for evidence to be checked again.
            Effect::Finish { .. } => {
                if let Some(confirms) = self.confirms.take() {
                    confirms.abort();
                }
            }
            Effect::Lock { place, locks } => {
                if locks.lock.is_none() {
                    // It is asked for in order: until then, it has to wait.
                    let held = InputKind::LockHeld { place: place.clone() };
                    self.spawn_unit(async { Ok(Some(held)) });
                }
                self.acquire_locks(place, locks, None);
            }
            Effect::Ask(ask) => self.poll_approval(ask),
            Effect::Dismiss { number } => {
                if let Some((_, looks)) = self.asks.remove(&number) {
                    looks.abort();
                }
            }
            other => self.work_for_agent(run, other),
        }
    }

    /// Carries out an effect that an agent needs.
    fn work_for_agent(&mut self, run: Arc<RunContext>, effect: Effect) {
        match effect {
            Effect::CallModel { attempt, call, repairs, refusals, context, supplement } => {
                let stop = self.stopper(Some(attempt.clone()));
                let place = attempt.place.clone();
                let call = agent::ModelCall { attempt, call, repairs, refusals, context, supplement };
                self.spawn_execution(&place, stop, |stop| agent::call_model(run, call, stop));
            }
            Effect::CallTool { id, waited_ms, children, answer, untrusted } => {
                let stop = self.stopper(Some(id.attempt.clone()));
                let waited = Duration::from_millis(waited_ms);
                let place = id.attempt.place.clone();
                let order = agent::ToolOrder { id, waited, children, answer, untrusted };
                self.spawn_execution(&place, stop, |stop| agent::call_tool(run, order, stop));
            }
            Effect::Compact { request } => {
                let stop = self.stopper(Some(request.start.attempt.clone()));
                self.spawn_unit(agent::compact(run, request, stop));
            }
            Effect::StartChild { id, plan, params } => {
                let stop = self.children.insert(id.clone());
                self.spawn_unit(children::run(run, children::ChildRun { id, plan, params }, stop));
            }
            Effect::ServeClient { attempt, call, refusals, repairs } => {
                let stop = self.stopper(Some(attempt.clone()));
                let place = attempt.place.clone();
                let turn = agent::ClientTurn { attempt, call, refusals, repairs };
                self.spawn_execution(&place, stop, |stop| agent::serve_client(run, turn, stop));
            }
            Effect::EndAgent { attempt, exit, answer, untrusted } => {
                self.spawn_unit(agent::end(run, agent::AgentEnding { attempt, exit, answer, untrusted }));
            }
            other => self.spawn(run, other),
        }
    }

    /// Tells the activity for an attempt to end, and its child runs.
    pub(super) fn send_stop(&self, attempt: Option<&Attempt>, degree: StopLevel) {
        if let Some(attempt) = attempt {
            self.children.stop(attempt, degree);
        }
        if let Some(stop) = self.stops.get(&attempt.cloned()) {
            stop.send_if_modified(|now| std::mem::replace(now, degree.max(*now)) < degree);
        }
    }

    /// Looks for an answer to a request for approval.
    fn poll_approval(&mut self, ask: Box<ApprovalRequest>) {
        let run = Arc::clone(&self.run);
        let looks = self.spawn_unit(asking::check_decision(run, ask.clone()));
        self.asks.insert(ask.request, (ask, looks));
    }

    /// Looks for an answer given before the deadline, which is over.
    pub(super) fn poll_approval_last(&mut self, ask: Box<ApprovalRequest>) {
        let run = Arc::clone(&self.run);
        self.spawn_unit(asking::check_decision_last(run, ask));
    }

    /// Looks for answers once more.
    pub(super) fn poll_approvals(&mut self) {
        let open = self.asks.values().filter(|(_, looks)| looks.is_finished());
        let open: Vec<Box<ApprovalRequest>> = open.map(|(ask, _)| ask.clone()).collect();
        for ask in open {
            self.poll_approval(ask);
        }
    }

    /// Starts a unit of work.
    fn spawn(&mut self, run: Arc<RunContext>, effect: Effect) {
        match effect {
            Effect::Start { attempt, item_value, reads, correction, tool_args } => {
                let task = attempt_task::AttemptTask {
                    correction,
                    tool_args,
                    ..attempt_task::AttemptTask::new(run, attempt, item_value, reads)
                };
                self.begin(task, None);
            }
            Effect::Watch { attempt, since, item_value, reads, correction, tool_args, agent, generated } => {
                let task = attempt_task::AttemptTask {
                    since: Some(since),
                    correction,
                    tool_args,
                    generated,
                    ..attempt_task::AttemptTask::new(run, attempt, item_value, reads)
                };
                self.begin(task, agent);
            }
            other => self.spawn_check(run, other),
        }
    }

    /// Starts to ask gates, to check, or to look at evidence or into the cache.
    fn spawn_check(&mut self, run: Arc<RunContext>, effect: Effect) {
        match effect {
            Effect::Lookup { place, item_value, reads } => {
                self.spawn_unit(super::cache::restore_cached(run, place, item_value, reads));
            }
            Effect::Remember { place, outputs, artifacts } => {
                self.spawn_unit(super::cache::remember(run, place, outputs, artifacts));
            }
            Effect::Gate(question) => {
                let stop = self.stopper(gating::name(&question));
                self.spawn_unit(gating::GateEvaluation { run, question }.ask(stop));
            }
            Effect::Check { attempt, phase, item_value: item, reads } => {
                self.judge(judging::CheckSubject { run, attempt, phase: Some(phase), item, reads });
            }
            Effect::Plan { request } => {
                let stop = self.stopper(None);
                self.spawn_unit(planning::ask(run, request, stop));
            }
            Effect::PrepareMerge { attempt } => drop(self.spawn_unit(worktrees::prepare(run, attempt))),
            Effect::Merge(start) => drop(self.spawn_unit(worktrees::merge(run, *start))),
            Effect::Guide { request } => {
                let stop = self.stopper(Some(request.attempt.clone()));
                self.spawn_unit(guidance::ask(run, request, stop));
            }
            Effect::Confirm { places } => {
                self.confirms = Some(self.spawn_unit(evidence::confirm(run, places)));
            }
            _ => {}
        }
    }

    /// Starts checks.
    fn judge(&mut self, case: judging::CheckSubject) {
        let stop = self.stopper(case.attempt.clone());
        match case.attempt.as_ref().map(|attempt| attempt.place.clone()) {
            Some(place) => self.spawn_execution(&place, stop, |stop| judging::check(case, stop)),
            None => self.spawn_unit(judging::check(case, stop)),
        };
    }

    /// Starts, or resumes, the work of an attempt.
    fn begin(&mut self, task: attempt_task::AttemptTask, record: Option<Box<AgentRecord>>) {
        let stop = self.stopper(Some(task.attempt.clone()));
        let step = current_step::step_of(&task.run, &task.attempt.place);
        if matches!(step.work, StepWork::Uses(_)) || task.generated.is_some() {
            self.nested.insert(task.attempt.clone());
        }
        match step.work {
            StepWork::Agent(_) => self.spawn_unit(task.brief(record, stop)),
            StepWork::Generated(_) if task.generated.is_none() => self.spawn_unit(generated::read(task)),
            // They wait: for runs, whose steps ask for themselves, for time, or for people.
            StepWork::Uses(_) | StepWork::Generated(_) | StepWork::Wait(_) | StepWork::Approve(_) => {
                self.spawn_unit(task.work(stop))
            }
            StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Http(_) => {
                let place = task.attempt.place.clone();
                self.spawn_execution(&place, stop, |stop| task.work(stop))
            }
        };
    }

    fn stopper(&mut self, attempt: Option<Attempt>) -> watch::Receiver<StopLevel> {
        let (stop, heard) = watch::channel(StopLevel::No);
        self.stops.insert(attempt, stop);
        heard
    }
}
