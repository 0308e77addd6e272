//! The questions of agents to people: tool calls that only a person can answer.
//!
//! A question is a request like that for an approval of its call, by the same people and with the same deadline, and the
//! attempt waits for it in the same way. The answer is the result of the call. **Invariant:** an answer is no approval: it
//! lets its own call end, and no other begin. **Invariant:** an attempt asks no more than the plan allows, whether it is
//! answered or not.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::agent_record::AgentRecord;
use crate::machine::approval_request::{ApprovalOutcome, ApprovalRequest, RequestDecision};
use crate::machine::state::{MachineState, TaskIx};
use crate::machine::tool_approval::ToolCallSubject;
use crate::machine::turn::Machine;
use crate::risk::ActionRisk;
use wf_base::digest::Sha256Digest;
use wf_model::{AgentTool, AgentWork};

/// The answer of people to a question of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonAnswer {
    /// The names of those who answered.
    pub by: Vec<String>,
    /// The text.
    pub text: String,
}

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

impl ApprovalRequest {
    /// True if it is a question, of an agent or about one that is stuck: what is signed is then an answer, and no
    /// approval.
    pub fn is_question(&self) -> bool {
        self.stuck.is_some() || self.tool_call.as_ref().is_some_and(|call| call.is_question)
    }

    /// Returns the risk of a yes; none of a question, whose answer approves nothing.
    pub fn risk_of_approval(&self) -> Option<&ActionRisk> {
        self.risk.as_ref().filter(|_| !self.is_question())
    }

    /// Returns the key whose yes does not count by the policy `reviewed`: that of who started the run. To a question
    /// that approves nothing, it counts.
    pub fn barred(&self, initiator: Option<Sha256Digest>) -> Option<Sha256Digest> {
        let approves = self.tool_call.as_ref().is_none_or(|call| call.approves || !call.is_question);
        initiator.filter(|_| approves)
    }

    /// True if a decision lets what waits go on: an approval, or the answer to a question.
    pub fn is_granted_by(&self, decision: RequestDecision) -> bool {
        match decision {
            RequestDecision::Approved => !self.is_question(),
            RequestDecision::Answered => self.is_question(),
            RequestDecision::Denied
            | RequestDecision::Expired
            | RequestDecision::Void
            | RequestDecision::Withdrawn => false,
        }
    }

    /// Returns the answers that an agent lets people choose from; empty: any text.
    pub fn choices(&self) -> Vec<&str> {
        self.show.get("arguments").map(choices).unwrap_or_default()
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

pub(in crate::machine) fn choices(arguments: &Value) -> Vec<&str> {
    let choices = arguments.get("choices").and_then(Value::as_array);
    choices.into_iter().flatten().filter_map(Value::as_str).collect()
}

impl MachineState {
    /// Counts a question. That further people are asked does not make it another one.
    pub(in crate::machine) fn note_question(&mut self, task: TaskIx, subject: Option<&ToolCallSubject>) {
        let Some(subject) = subject.filter(|subject| subject.is_question) else {
            return;
        };
        if let Some(agent) = self.agent_of(task)
            && agent.last_question.as_ref() != Some(subject)
        {
            agent.last_question = Some(subject.clone());
            agent.questions += 1;
        }
    }

    /// Keeps the answer to a question for the call that gives it to the model.
    pub(in crate::machine) fn note_person_answer(
        &mut self,
        task: TaskIx,
        ask: &ApprovalRequest,
        given: &ApprovalOutcome,
    ) {
        let is_answer = ask.is_question() && ask.is_granted_by(given.decision);
        if let Some(agent) = self.agent_of(task).filter(|_| is_answer) {
            let by = given.by.iter().map(|by| by.name.clone()).collect();
            agent.person_answer = Some(PersonAnswer { by, text: given.reason.clone() });
        }
    }

    fn agent_of(&mut self, task: TaskIx) -> Option<&mut AgentRecord> {
        self.task_record_mut(task)?.agent.as_deref_mut()
    }
}
