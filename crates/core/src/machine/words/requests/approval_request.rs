//! The requests for approval and their outcomes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    gate::GateResult,
    machine::words::{
        AnswerOptions, ApprovalSigner, ExchangeSubject, GatePoint, MergeSubject, TaskId, ToolCallSubject,
        TypedAnswer,
    },
    risk::ActionRisk,
};
use wf_base::{
    digest::Sha256Digest,
    keywords,
    name::{GateId, Name},
    time::Moment,
};
use wf_model::{CheckPhase, FailureClass, JsonObject};

/// A request for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalRequest {
    /// Its number within the run, from 1.
    pub request: u32,
    /// The time of the request.
    pub since: Moment,
    /// The waiting task; absent: the run waits.
    #[serde(flatten)]
    pub task_id: Option<TaskId>,
    /// The point of the requesting gates; absent: the step itself requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<GatePoint>,
    /// The phase of checks ignored by an approval; absent: it is about something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<CheckPhase>,
    /// The tool call of an agent in question; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCallSubject>,
    /// The part of an agent's conversation in question; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeSubject>,
    /// The merge in question; absent: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeSubject>,
    /// The failed attempt of a stuck agent; absent: it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckAttempt>,
    /// The requesting gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateId>,
    /// The results of other gates without a pass: they count after an approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred_results: Vec<GateResult>,
    /// The question.
    pub message: String,
    /// The risk of a yes: of the task and all its dependents, or of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<ActionRisk>,
    /// The values shown with it and covered by the approval.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub show: JsonObject,
    /// The permitted answers; absent: yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerOptions>,
    /// The parts rewritten by the gates, with their new values.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub rewritten: JsonObject,
    /// The number of approvals needed; absent: as many as the workspace's policy demands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<u32>,
    /// The names of the permitted approvers; empty: every approver of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The names of the approvers asked next if no answer arrives in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalate_to: Vec<String>,
    /// The queue of the approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The next escalation if no answer arrives in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The escalations already used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried_escalations: Vec<String>,
    /// The reason for the block in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The deadline for an answer.
    pub expires: Moment,
    /// The steps approved with it, by their checked files: a change to one makes it void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers_steps: Vec<Name>,
}

/// The resolution of a request for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalOutcome {
    /// The decision.
    pub decision: RequestDecision,
    /// The deciding approvers; empty if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<ApprovalSigner>,
    /// SHA-256 of the content signed by each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Sha256Digest>,
    /// Their reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The answer signed by all of them; absent: it was a plain yes, or no yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<TypedAnswer>,
}

impl ApprovalOutcome {
    /// Creates the resolution of a request without a decision.
    pub(in crate::machine) fn unanswered(decision: RequestDecision) -> Self {
        Self { decision, by: Vec::new(), tokens: Vec::new(), reason: String::new(), answer: None }
    }
}

keywords! {
    /// A decision on a request for approval. Only the first is a yes, and only a question is answered.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum RequestDecision {
        /// The required approvers agreed.
        Approved = "approved",
        /// The required approvers answered the question of an agent.
        Answered = "answered",
        /// An authorized approver refused.
        Denied = "denied",
        /// No answer arrived in time.
        Expired = "expired",
        /// The subject of the approval has changed since: it is requested anew.
        Void = "void",
        /// It is not needed any more.
        Withdrawn = "withdrawn",
    }
}

impl ApprovalRequest {
    /// True if it is about a call of a working agent.
    pub fn is_of_agent(&self) -> bool {
        self.tool_call.is_some() || self.exchange.is_some()
    }

    /// True if it is a question, of an agent or about a stuck one: the signed text is then an answer, and no
    /// approval.
    pub fn is_question(&self) -> bool {
        self.stuck.is_some() || self.tool_call.as_ref().is_some_and(|call| call.is_question)
    }

    /// Returns the risk of a yes; none of a question: its answer approves nothing.
    pub fn risk_of_approval(&self) -> Option<&ActionRisk> {
        self.risk.as_ref().filter(|_| !self.is_question())
    }

    /// Returns the key without a counted yes by the policy `reviewed`: the key of the run's starter. To a question
    /// without an approval, it counts.
    pub fn barred(&self, initiator: Option<Sha256Digest>) -> Option<Sha256Digest> {
        let approves = self.tool_call.as_ref().is_none_or(|call| call.approves || !call.is_question);
        initiator.filter(|_| approves)
    }

    /// True if a decision lets the waiting task or run go on: an approval, or the answer to a question.
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

    /// Returns an agent's answers to choose from; empty: any text.
    pub fn choices(&self) -> Vec<&str> {
        self.show.get("arguments").map(choices).unwrap_or_default()
    }
}

/// The failed attempt in a request to people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StuckAttempt {
    /// The number of the attempt.
    pub attempt: u32,
    /// The reason for its failure.
    pub reason: String,
    /// Its failure class; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<FailureClass>,
    /// True if checks refuted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_refuted: bool,
}

pub(in crate::machine) fn choices(arguments: &Value) -> Vec<&str> {
    let choices = arguments.get("choices").and_then(Value::as_array);
    choices.into_iter().flatten().filter_map(Value::as_str).collect()
}
