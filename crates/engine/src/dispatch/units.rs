//! The unit of work carrying out an effect, whoever decides about the run: the dispatcher in this process, or a machine
//! elsewhere for which this process works.

use std::{pin::Pin, sync::Arc};

use tokio::sync::watch;

use wf_core::machine::{AgentRecord, Attempt, Effect, TaskId};
use wf_exec::StopLevel;
use wf_model::StepWork;

use crate::{
    agent,
    attempt::{cache, generate},
    decisions::{gating::GateEvaluation, guidance, planning},
    files::{reliance, worktrees},
    proof::{
        before_work,
        judging::{self, CheckSubject},
    },
    run::{AttemptTask, RunContext, attempt_task},
    session::UnitResult,
};

/// The work of a unit, until it has ended.
pub(super) type UnitWork = Pin<Box<dyn Future<Output = UnitResult> + Send>>;

/// A unit not yet begun.
pub(crate) struct EffectUnit {
    /// True if it can be stopped: with its attempt, or with the work for the plan itself.
    pub(super) is_stoppable: bool,
    /// The attempt it is stopped with.
    pub(crate) attempt: Option<Attempt>,
    /// The task executing in it, under a permit.
    pub(super) executes: Option<TaskId>,
    /// The attempt as a nested run.
    pub(crate) nested_attempt: Option<Attempt>,
    /// Begins it, given the stop requests it heeds.
    pub(crate) begin: Box<dyn FnOnce(watch::Receiver<StopLevel>) -> UnitWork + Send>,
}

impl EffectUnit {
    /// A unit that nothing stops.
    fn unstoppable(work: impl Future<Output = UnitResult> + Send + 'static) -> Self {
        Self {
            is_stoppable: false,
            attempt: None,
            executes: None,
            nested_attempt: None,
            begin: Box::new(|_| Box::pin(work)),
        }
    }

    /// A unit stopped with an attempt, or with the work for the plan.
    fn stoppable<W, F>(attempt: Option<Attempt>, begin: W) -> Self
    where
        W: FnOnce(watch::Receiver<StopLevel>) -> F + Send + 'static,
        F: Future<Output = UnitResult> + Send + 'static,
    {
        Self {
            is_stoppable: true,
            attempt,
            executes: None,
            nested_attempt: None,
            begin: Box::new(|stop| Box::pin(begin(stop))),
        }
    }

    /// A unit in which a step executes.
    fn execution<W, F>(attempt: Attempt, begin: W) -> Self
    where
        W: FnOnce(watch::Receiver<StopLevel>) -> F + Send + 'static,
        F: Future<Output = UnitResult> + Send + 'static,
    {
        let executes = Some(attempt.task_id.clone());
        Self { executes, ..Self::stoppable(Some(attempt), begin) }
    }

    /// Returns the unit carrying out an effect; `None`: it is not work, but concerns waits and the loop of the run.
    pub(crate) fn from_effect(run: Arc<RunContext>, mut effect: Effect) -> Option<Self> {
        Some(match effect {
            Effect::Start { .. } => Self::of_attempt(AttemptTask::from_effect(run, effect)?, None),
            Effect::Watch { ref mut agent, .. } => {
                let record = agent.take();
                Self::of_attempt(AttemptTask::from_effect(run, effect)?, record)
            }
            Effect::Check { attempt, phase, item_value: item, reads } => {
                let subject = attempt.clone();
                let case = CheckSubject { run, attempt, phase: Some(phase), item, reads };
                match subject {
                    Some(attempt) => Self::execution(attempt, |stop| judging::check(case, stop)),
                    None => Self::stoppable(None, |stop| judging::check(case, stop)),
                }
            }
            Effect::Gate(question) => {
                Self::stoppable(question.attempt(), |stop| GateEvaluation { run, question }.ask(stop))
            }
            Effect::Lookup { task_id, item_value, reads } => {
                Self::unstoppable(cache::restore_cached(run, task_id, item_value, reads))
            }
            Effect::Remember { task_id, outputs, artifacts } => {
                Self::unstoppable(cache::remember(run, task_id, outputs, artifacts))
            }
            Effect::Plan { request } => Self::stoppable(None, |stop| planning::ask(run, request, stop)),
            Effect::Guide { request } => {
                Self::stoppable(Some(request.attempt.clone()), |stop| guidance::ask(run, request, stop))
            }
            Effect::PrepareMerge { attempt } => Self::unstoppable(worktrees::prepare(run, attempt)),
            Effect::Merge(start) => Self::unstoppable(worktrees::merge(run, *start)),
            Effect::Confirm { places } => Self::unstoppable(reliance::confirm(run, places)),
            other => return Self::of_agent(run, other),
        })
    }

    /// Returns the unit an agent needs.
    fn of_agent(run: Arc<RunContext>, effect: Effect) -> Option<Self> {
        Some(match effect {
            Effect::CallModel(call) => {
                Self::execution(call.attempt.clone(), |stop| agent::call_model(run, call, stop))
            }
            Effect::CallTool(order) => {
                Self::execution(order.id.attempt.clone(), |stop| agent::call_tool(run, order, stop))
            }
            Effect::ServeClient(turn) => {
                Self::execution(turn.attempt.clone(), |stop| agent::serve_client(run, turn, stop))
            }
            Effect::Compact { request } => {
                let attempt = request.start.attempt.clone();
                Self::stoppable(Some(attempt), |stop| agent::compact(run, request, stop))
            }
            Effect::EndAgent(ending) => Self::unstoppable(agent::end(run, ending)),
            _ => return None,
        })
    }

    /// Returns the unit that begins the work of an attempt, or goes on with it.
    fn of_attempt(task: AttemptTask, record: Option<Box<AgentRecord>>) -> Self {
        let step = attempt_task::step_of(&task.run, &task.attempt.task_id);
        let attempt = task.attempt.clone();
        let before = before_work::is_wanted(&step).then(|| CheckSubject {
            run: Arc::clone(&task.run),
            attempt: Some(attempt.clone()),
            phase: None,
            item: task.item.clone(),
            reads: task.reads.clone(),
        });
        let is_nested = matches!(step.work, StepWork::Uses(_)) || task.generated.is_some();
        let nested = is_nested.then(|| attempt.clone());
        let unit = match step.work {
            StepWork::Agent(_) => Self::stoppable(Some(attempt), |stop| agent::brief(task, record, stop)),
            StepWork::Generated(_) if task.generated.is_none() => {
                Self::stoppable(Some(attempt), |_| generate::read_generated_plan(task))
            }
            // They wait: for runs, whose steps ask for themselves, for time, or for people.
            StepWork::Uses(_) | StepWork::Generated(_) | StepWork::Wait(_) | StepWork::Approve(_) => {
                Self::stoppable(Some(attempt), |stop| task.work(stop))
            }
            StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Http(_) => {
                Self::execution(attempt, |stop| task.work(stop))
            }
        };
        let unit = Self { nested_attempt: nested, ..unit };
        match before {
            Some(case) => unit.after_checks(case),
            None => unit,
        }
    }

    /// Puts the checks run before the work in front of it.
    fn after_checks(self, subject: CheckSubject) -> Self {
        let work = self.begin;
        let begin = |stop: watch::Receiver<StopLevel>| async move {
            match before_work::examine(&subject, &stop).await {
                Some(ended) => {
                    subject.run.session.executor.ensure_supervised()?;
                    Ok(Some(ended))
                }
                None => work(stop).await,
            }
        };
        Self { begin: Box::new(|stop| Box::pin(begin(stop))), ..self }
    }
}
