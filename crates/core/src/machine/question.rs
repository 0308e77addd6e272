//! The questions of agents to people: tool calls that only a person can answer.
//!
//! A question is a request like that for an approval of its call, by the same people and with the same deadline, and the
//! attempt waits for it in the same way. The answer is the result of the call. **Invariant:** an answer is no approval: it
//! lets its own call end, and no other begin. **Invariant:** an attempt asks no more than the plan allows, whether it is
//! answered or not.

use serde_json::Value;

use crate::machine::state::{Machine, TaskIx};
use crate::machine::words::requests::approval_request::choices;
use wf_model::{AgentTool, AgentWork};

impl Machine {
    /// True if a tool call of the agent of a task is a question to people. A program of its own has no such tool.
    pub(in crate::machine) fn is_question(&self, task: TaskIx, tool: &str) -> bool {
        let is_own = |work: &AgentWork| !work.engine.is_client() && work.tools.contains(&AgentTool::Ask);
        tool == AgentTool::Ask.as_str() && self.agent_work(task).is_some_and(is_own)
    }

    /// Returns the reason why an agent may not ask once more; `None`: it may.
    pub(in crate::machine) fn question_obstacle(&self, task: TaskIx, tool: &str) -> Option<String> {
        let limit = self.agent_work(task).filter(|_| self.is_question(task, tool))?.max_questions;
        let asked = self.agent_record(task)?.questions;
        (asked >= limit).then(|| {
            format!("this attempt has asked {asked} of at most {limit} questions; go on with what you know")
        })
    }
}

/// Returns the text of a question, with the answers to choose from.
pub(in crate::machine) fn question_text(arguments: &Value) -> String {
    let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default();
    match choices(arguments).as_slice() {
        [] => format!("the agent asks: {question}"),
        choices => format!("the agent asks: {question} ({})", choices.join(", ")),
    }
}
