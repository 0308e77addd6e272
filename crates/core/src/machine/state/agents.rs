//! The work of agents, as the state has it: which agent works, and which call of a tool is next.

use std::time::Duration;

use crate::machine::state::task_phase::ActivityKind;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::agents::agent_record::AgentStep;
use crate::machine::words::{AgentRecord, Attempt, AttemptUsage, ToolCallId};
use wf_model::{AgentWork, StepWork};

impl Run {
    /// Returns the tool call that is to begin next.
    pub(in crate::machine) fn next_tool_call(&self, task: TaskIx) -> Option<ToolCallId> {
        let (record, activity) = (self.agent_record(task)?, self.state.activity(task)?);
        let attempt = state::attempt(&self.plan, task, activity.attempt);
        match record.next_step() {
            AgentStep::Tool(position, _) => Some(ToolCallId { attempt, call: record.call(), position }),
            _ => None,
        }
    }

    pub(in crate::machine) fn agent_work(&self, task: TaskIx) -> Option<&AgentWork> {
        match &self.plan.step(task.ix()).work {
            StepWork::Agent(work) => Some(work),
            _ => None,
        }
    }

    /// Returns the progress of the agent of a task.
    pub(in crate::machine) fn agent_record(&self, task: TaskIx) -> Option<&AgentRecord> {
        self.state.task_record(task)?.agent.as_deref()
    }

    pub(in crate::machine) fn working_agent(&self, attempt: &Attempt) -> Option<TaskIx> {
        let (task, _) = self.current_activity(attempt, ActivityKind::Working)?;
        self.agent_work(task).is_some().then_some(task)
    }

    /// Returns the task of an agent at work that has been briefed, by this machine.
    pub(in crate::machine) fn awaiting_agent(&self, attempt: &Attempt) -> Option<TaskIx> {
        self.working_agent(attempt).filter(|task| self.flight.request(*task).is_none())
    }

    /// Returns what the model calls under way may use.
    pub(in crate::machine) fn open_reserves(&self) -> AttemptUsage {
        let active = self.state.activities().into_iter();
        let records = active.filter_map(|(task, _)| self.agent_record(task));
        records.filter_map(AgentRecord::open_reserve).fold(AttemptUsage::default(), AttemptUsage::plus)
    }

    /// Returns the arguments of a task as rewritten by gates.
    pub(in crate::machine) fn tool_args(&self, task: TaskIx) -> Option<Box<serde_json::Value>> {
        let record = self.state.task_record(task)?;
        record.tool_args.clone().map(Box::new)
    }

    /// Returns the time that the agent of a task waited for approvals and child runs.
    pub(in crate::machine) fn waited(&self, task: TaskIx) -> Duration {
        self.agent_record(task).map(AgentRecord::waited).unwrap_or_default()
    }
}
