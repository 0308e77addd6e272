//! The work of agents, as the state has it: which agent works, and which call of a tool is next.

use std::time::Duration;

use crate::machine::{
    state::{
        self, Run, TaskIx, in_flight::TaskRequest, parts::task_record::TaskRecord, task_phase::ActivityKind,
    },
    words::{
        AgentRecord, ApprovalRequest, Attempt, AttemptUsage, ChildRecord, TimerKind, ToolCallId, WorkExit,
        agents::agent_record::AgentStep,
    },
};
use wf_base::name::Name;
use wf_model::{AgentWork, AgentWorkspace, StepWork};

impl Run {
    /// Returns the next tool call.
    pub(in crate::machine) fn next_tool_call(&self, task: TaskIx) -> Option<ToolCallId> {
        let (record, activity) = (self.agent_record(task)?, self.state().activity(task)?);
        let attempt = state::attempt(self.plan(), task, activity.attempt);
        match record.next_step() {
            AgentStep::Tool(position, _) => Some(ToolCallId { attempt, call: record.call(), position }),
            _ => None,
        }
    }

    pub(in crate::machine) fn agent_work(&self, task: TaskIx) -> Option<&AgentWork> {
        match &self.plan().step(task.ix()).work {
            StepWork::Agent(work) => Some(work),
            _ => None,
        }
    }

    /// Returns the progress of the agent of a task.
    pub(in crate::machine) fn agent_record(&self, task: TaskIx) -> Option<&AgentRecord> {
        self.state().task_record(task)?.agent()
    }

    pub(in crate::machine) fn working_agent(&self, attempt: &Attempt) -> Option<TaskIx> {
        let (task, _) = self.current_activity(attempt, ActivityKind::Working)?;
        self.agent_work(task).is_some().then_some(task)
    }

    /// Returns the task of a working agent, briefed by this machine.
    pub(in crate::machine) fn awaiting_agent(&self, attempt: &Attempt) -> Option<TaskIx> {
        self.working_agent(attempt).filter(|task| self.flight.request(*task).is_none())
    }

    /// Returns the reserves of the model calls under way.
    pub(in crate::machine) fn open_reserves(&self) -> AttemptUsage {
        let active = self.state().activities().into_iter();
        let records = active.filter_map(|(task, _)| self.agent_record(task));
        records.filter_map(AgentRecord::open_reserve).fold(AttemptUsage::default(), AttemptUsage::plus)
    }

    /// Returns the arguments of a task as rewritten by gates.
    pub(in crate::machine) fn tool_args(&self, task: TaskIx) -> Option<Box<serde_json::Value>> {
        let record = self.state().task_record(task)?;
        record.tool_args().cloned().map(Box::new)
    }

    /// Returns the wait of a task's agent for approvals and child runs.
    pub(in crate::machine) fn waited(&self, task: TaskIx) -> Duration {
        self.agent_record(task).map(AgentRecord::waited).unwrap_or_default()
    }

    /// Waits for the briefing of an agent, at its beginning or after a resume.
    pub(in crate::machine) fn await_briefing(
        &mut self,
        task: TaskIx,
        attempt: &Attempt,
        since: wf_base::time::Moment,
    ) {
        if self.agent_work(task).is_none() {
            return;
        }
        self.flight.set(task, Some(TaskRequest::Briefing));
        self.agent_timer(task, attempt, since);
    }

    /// Sets the timer of an agent, begun at an instant.
    pub(in crate::machine) fn agent_timer(
        &mut self,
        task: TaskIx,
        attempt: &Attempt,
        since: wf_base::time::Moment,
    ) {
        if let Some(limit) = self.plan().step(task.ix()).timeout {
            let waited = self.waited(task);
            self.set_timer(TimerKind::Agent(attempt.clone()), since.after(waited).after(limit));
        }
    }

    /// Returns the exit of an attempt's work; `None` if it cannot end now. That of an agent ends when what it left is
    /// collected, or before it is briefed: if it was stopped then, its time may have been over.
    pub(in crate::machine) fn work_exit(&self, task: TaskIx, exit: WorkExit) -> Option<WorkExit> {
        if self.agent_work(task).is_none() || self.is_agent_done(task) {
            return Some(exit);
        }
        let briefing = self.flight.request(task) == Some(TaskRequest::Briefing);
        let forced = self.forced_exit(task).filter(|_| exit == WorkExit::Cancelled);
        briefing.then(|| forced.unwrap_or(exit))
    }

    /// True if the exit of an agent is recorded.
    pub(in crate::machine) fn is_agent_done(&self, task: TaskIx) -> bool {
        self.agent_record(task).is_some_and(|record| record.exit.is_some())
    }

    /// Returns the exit of a halted or late agent.
    pub(in crate::machine) fn forced_exit(&self, task: TaskIx) -> Option<WorkExit> {
        if self.is_halting(task) {
            return Some(WorkExit::Cancelled);
        }
        self.is_agent_late(task).then_some(WorkExit::TimedOut)
    }

    /// True if the time of an agent is over. It does not pass while the agent waits for child runs.
    pub(in crate::machine) fn is_agent_late(&self, task: TaskIx) -> bool {
        let since = self.state().activity(task).map(|activity| activity.since);
        let limit = self.plan().step(task.ix()).timeout;
        let waited = self.waited(task);
        if self.agent_record(task).is_some_and(|record| record.collecting_since.is_some()) {
            return false;
        }
        since.zip(limit).is_some_and(|(since, limit)| since.after(waited).after(limit) <= self.now())
    }

    /// Returns the child runs of the current attempt of a task, in the order of the requests.
    pub(in crate::machine) fn children(&self, task: TaskIx) -> &[ChildRecord] {
        self.agent_record(task).map_or(&[], |record| &record.children)
    }

    pub(in crate::machine) fn has_open_children(&self, task: TaskIx) -> bool {
        self.children(task).iter().any(|record| record.end().is_none())
    }

    /// Returns the names of the open child runs.
    pub(in crate::machine) fn open_children(&self, task: TaskIx) -> Vec<Name> {
        let open = self.children(task).iter().filter(|record| record.end().is_none());
        open.map(|record| record.start.child.clone()).collect()
    }

    /// True if a task ends well only after a merge that was not yet made.
    pub(in crate::machine) fn must_merge(&self, task: TaskIx) -> bool {
        let made = self.state().task_record(task).and_then(TaskRecord::merge);
        let is_live = self.state().activity(task).is_some_and(|live| live.attempt > 0);
        let in_worktree = |work: &AgentWork| work.workspace == AgentWorkspace::Worktree;
        is_live && made.is_none() && self.agent_work(task).is_some_and(in_worktree)
    }

    /// True if people are asked about a call of the agent of a task.
    pub(in crate::machine) fn asks_about_agent(&self, task: TaskIx) -> bool {
        self.state().gates.requests_of(Some(task)).any(ApprovalRequest::is_of_agent)
    }
}
