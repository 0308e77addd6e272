use serde::{Deserialize, Serialize};

use crate::gate::GateResult;
use crate::machine::exchange_approval::ExchangeSubject;
use crate::machine::gates::GatePoint;
use crate::machine::merge_event::MergeSubject;
use crate::machine::run_approval::ApprovalSigner;
use crate::machine::stuck::StuckAttempt;
use crate::machine::task_id::TaskId;
use crate::machine::tool_approval::ToolCallSubject;
use crate::machine::typed_answer::{AnswerOptions, TypedAnswer};
use crate::risk::ActionRisk;
use wf_base::digest::Sha256Digest;
use wf_base::keywords;
use wf_base::name::{GateId, Name};
use wf_base::time::Moment;
use wf_model::{CheckPhase, JsonObject};

/// A request for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalRequest {
    /// Its number within the run, from 1.
    pub request: u32,
    /// The time of the request.
    pub since: Moment,
    /// The task that waits for it; absent: the run does.
    #[serde(flatten)]
    pub place: Option<TaskId>,
    /// The point of the gates that request it; absent: the step itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<GatePoint>,
    /// The phase of checks that an approval lets be ignored; absent: it is about something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<CheckPhase>,
    /// The tool call of an agent that it is about; absent: it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ToolCallSubject>,
    /// The part of an agent's conversation that it is about; absent: it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<ExchangeSubject>,
    /// The merge that it is about; absent: it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeSubject>,
    /// The failed attempt of an agent that is stuck; absent: it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<StuckAttempt>,
    /// The gates that request it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateId>,
    /// The results of other gates that did not pass: they count after an approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred_results: Vec<GateResult>,
    /// The question.
    pub message: String,
    /// The risk of what may happen after a yes: of the task and all that depend on it, or of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<ActionRisk>,
    /// The values that are shown with it and covered by the approval.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub show: JsonObject,
    /// The answers that are permitted; absent: yes or no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerOptions>,
    /// The parts that the gates rewrote, with their new values.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub rewritten: JsonObject,
    /// The number of approvals needed; absent: as many as the workspace's policy demands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<u32>,
    /// The names of the approvers who may decide; empty: every approver of the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// The names of the approvers asked next if no answer arrives in time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalate_to: Vec<String>,
    /// The queue that the approver works from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The escalation that follows if no answer arrives in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The escalations already used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried_escalations: Vec<String>,
    /// The reason for the block that the request is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The deadline for an answer.
    pub expires: Moment,
    /// The steps whose checked files are approved with it: a change to one makes it void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers_steps: Vec<Name>,
}

/// The resolution of a request for approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ApprovalOutcome {
    /// The decision.
    pub decision: RequestDecision,
    /// The approvers who decided; empty if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<ApprovalSigner>,
    /// SHA-256 of the content that each of them signed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<Sha256Digest>,
    /// The reason that they gave.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The answer that all of them signed; absent: it was a plain yes, or no yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<TypedAnswer>,
}

impl ApprovalOutcome {
    /// Creates the resolution of a request that no approver decided.
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
