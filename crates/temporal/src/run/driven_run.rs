//! One of the runs a driver decides about: the one that was started, or one nested in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use wf_base::{name::RunId, time::Moment};
use wf_core::machine::{Attempt, Effect, Event, Machine, RestoreError, TaskId};
use wf_engine::NestedRun;
use wf_exec::StopLevel;
use wf_model::{AgentWorkspace, JsonObject, Plan, StepWork};

use crate::{
    messages::order::LogEntry,
    run::{open_work::step_of, progress::StoredRun},
};

/// A run between two occurrences.
pub(crate) struct DrivenRun {
    pub(crate) machine: Machine,
    /// The place of the run, if it is nested.
    pub(crate) nesting: Option<RunNesting>,
    /// The task queues of the hosts where agents work, which have their conversation, and where work was left.
    pub(crate) hosts: BTreeMap<Attempt, String>,
    /// The task queues of the hosts that made the results of tasks whose results are cached.
    pub(crate) makers: BTreeMap<TaskId, String>,
    /// The attempts whose work was ordered from workers and taken back before one began it.
    pub(crate) unbegun: BTreeSet<Attempt>,
    /// The answers to waiting requests.
    pub(crate) tokens: BTreeMap<u32, Vec<String>>,
    /// The degree to which a nested run was told to end.
    pub(crate) stopped: StopLevel,
}

/// A nested run in its outer one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunNesting {
    pub(crate) nested: NestedRun,
    /// The effect that began the attempt it is.
    pub(crate) effect: Effect,
    pub(crate) began: Option<Moment>,
    /// True if the time of its step was over before it ended.
    pub(crate) timed_out: bool,
    /// True if the end of the attempt was ordered.
    #[serde(skip)]
    pub(crate) ends: bool,
}

impl RunNesting {
    /// A nested run without a history.
    pub(crate) fn new(nested: NestedRun, effect: Effect) -> Self {
        Self { nested, effect, began: None, timed_out: false, ends: false }
    }
}

impl DrivenRun {
    /// A run without a history.
    pub(crate) fn new(plan: Arc<Plan>, run: RunId, params: JsonObject) -> Self {
        Self::of(Machine::new(plan, run, params))
    }

    /// A nested run without a history.
    pub(crate) fn nested(plan: Arc<Plan>, nested: &NestedRun) -> Self {
        let machine = Machine::new(plan, nested.id(), nested.params.clone());
        Self::of(machine.with_dispatch(nested.child.clone()))
    }

    fn of(machine: Machine) -> Self {
        let stopped = match machine.requested_cancel() {
            None => StopLevel::No,
            Some(false) => StopLevel::Gently,
            Some(true) => StopLevel::AtOnce,
        };
        Self {
            machine,
            nesting: None,
            hosts: BTreeMap::new(),
            makers: BTreeMap::new(),
            unbegun: BTreeSet::new(),
            tokens: BTreeMap::new(),
            stopped,
        }
    }

    pub(crate) fn restore(stored: StoredRun, plan: Arc<Plan>) -> Result<Self, RestoreError> {
        let StoredRun { nesting, state, hosts, makers, unbegun, tokens } = stored;
        let (hosts, makers) = (hosts.into_iter().collect(), makers.into_iter().collect());
        Ok(Self { nesting, hosts, makers, unbegun, tokens, ..Self::of(Machine::from_state(plan, state)?) })
    }

    /// Returns what the run goes on with later.
    pub(crate) fn stored(&self) -> StoredRun {
        StoredRun {
            nesting: self.nesting.clone(),
            state: self.machine.state().clone(),
            hosts: self.hosts.clone().into_iter().collect(),
            makers: self.makers.clone().into_iter().collect(),
            unbegun: self.unbegun.clone(),
            tokens: self.tokens.clone(),
        }
    }

    /// Returns events as entries of the log, and notes when a nested run began.
    pub(crate) fn entries(&mut self, run: &RunId, events: Vec<Event>) -> Vec<LogEntry> {
        let Some(nesting) = &mut self.nesting else {
            return events.into_iter().map(|event| LogEntry { run: None, nested: None, event }).collect();
        };
        let entry = |event: Event| {
            let is_first = nesting.began.is_none();
            nesting.began.get_or_insert(event.at);
            let nested = is_first.then(|| Box::new(nesting.nested.clone()));
            LogEntry { run: Some(run.clone()), nested, event }
        };
        events.into_iter().map(entry).collect()
    }

    /// True if the work of an attempt goes on with what was done before: in a conversation, or in a worktree.
    pub(crate) fn goes_on(&self, attempt: &Attempt) -> bool {
        step_of(&self.machine, attempt).is_some_and(|step| match &step.work {
            StepWork::Agent(work) => {
                work.conversation.is_some() || work.workspace == AgentWorkspace::Worktree
            }
            _ => false,
        })
    }

    /// True if agents do the work of an attempt.
    pub(crate) fn is_agent(&self, attempt: &Attempt) -> bool {
        step_of(&self.machine, attempt).is_some_and(|step| matches!(step.work, StepWork::Agent(_)))
    }
}
