//! The facts about the work of an agent (DESIGN section 13): each call is durable before the next relies on it.
//! Bodies are texts of the run; the facts carry their digests.

use serde::{Deserialize, Serialize};

use crate::{
    agent::{
        ChildRequest, ContextCut, PriorConversation, ResolvedMode, StopReason, authoring::MemoryCalibration,
    },
    machine::words::{Attempt, CallEffort, CompactorLimits, WorkExit},
};
use wf_base::{
    digest::Sha256Digest,
    name::{GateId, Name},
};
use wf_model::{AgentEngine, FailureClass, ModelPrice};

/// The briefing of an agent, before its first model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentBriefing {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The model.
    pub model: Name,
    /// The program around it.
    #[serde(default, skip_serializing_if = "is_builtin")]
    pub engine: AgentEngine,
    /// The digest of the first request; of a program of its own, the digest of its instructions.
    pub request: Sha256Digest,
    /// The limits of its calls.
    pub limits: ModelLimits,
    /// The untrusted source of its values or its conversation; absent: all are trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The continued conversation, as it gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<PriorConversation>,
    /// The knowledge of memory about its task, as it is told.
    #[serde(default, skip_serializing_if = "MemoryCalibration::is_empty")]
    pub calibration: MemoryCalibration,
    /// Its mode for people, if it was resolved from the signals of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<ResolvedMode>,
    /// The model for cuts of its conversation; absent: the oldest turns are omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compactor: Option<CompactorLimits>,
}

/// The limits and prices of the calls of a model: the reserve of a call follows from them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelLimits {
    /// The estimated tokens of the first request.
    pub first_input: u64,
    /// The limit of tokens of a request and its reply together.
    pub context_window: u64,
    /// The maximum tokens of a reply.
    pub max_output: u64,
    /// The prices: those of the dearest among the model and its fallbacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<ModelPrice>,
}

/// A call of a model, about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelCallStart {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of the call in its attempt, from 1.
    pub call: u32,
    /// The mistake in the last answer, for the model to repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<String>,
    /// The cut of the conversation.
    #[serde(default, skip_serializing_if = "ContextCut::is_none")]
    pub context: ContextCut,
    /// The request, if a program of its own makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCall>,
}

/// A request to the model by a program working as an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClientCall {
    /// The digest of the request.
    pub request: Sha256Digest,
    /// The estimated tokens of the request.
    pub input: u64,
    /// The maximum tokens of the reply: no more than the model's.
    pub max_output: u64,
}

/// The end of a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelCallEnd {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of the call.
    pub call: u32,
    /// Its outcome.
    #[serde(flatten)]
    pub outcome: ModelCallOutcome,
    /// The gate answering in the model's place; absent: none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<GateId>,
    /// Its tokens, its cost and its time.
    #[serde(flatten)]
    pub effort: CallEffort,
}

/// The outcome of a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum ModelCallOutcome {
    /// The model replied.
    Replied {
        /// The replying model: another one than asked, after a failure.
        model: Name,
        /// The digest of the reply.
        reply: Sha256Digest,
        /// The reason for its end.
        stop: StopReason,
        /// The estimated tokens of the reply, as a part of the conversation.
        #[serde(default)]
        reply_tokens: u64,
        /// Its tool calls, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<RequestedTool>,
    },
    /// No model replied.
    Failed {
        /// The reason, in one sentence.
        reason: String,
        /// The failure class.
        failure_class: FailureClass,
    },
    /// The call was stopped on request.
    Stopped,
}

/// A tool call in a reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RequestedTool {
    /// The tool.
    pub tool: String,
    /// The reason why it is not executed, for the model; absent: it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mistake: Option<String>,
    /// Its calls of a script or to a host: `run:PROGRAM`, `fetch:HOST`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// The meaning of a valid call of `dispatch` or `collect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<Box<ChildRequest>>,
}

/// A tool call of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCallId {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of its model call.
    pub call: u32,
    /// Its position in the reply, from 0.
    pub position: u32,
}

/// A tool call, about to be executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCallStart {
    /// The call.
    #[serde(flatten)]
    pub id: ToolCallId,
    /// The tool.
    pub tool: String,
}

/// The end of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCallEnd {
    /// The call.
    #[serde(flatten)]
    pub id: ToolCallId,
    /// The digest of the result.
    pub result: Sha256Digest,
    /// The estimated tokens of the result.
    pub tokens: u64,
    /// True if the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The source of an untrusted result; absent: it is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The duration, in milliseconds.
    pub duration_ms: u64,
}

/// A refused tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCallRefusal {
    /// The call.
    #[serde(flatten)]
    pub id: ToolCallId,
    /// The tool.
    pub tool: String,
    /// The reason, the model's result.
    pub reason: String,
}

/// The end of an agent's work, before its results are collected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentExit {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The exit.
    pub exit: WorkExit,
    /// The digest of the answer, if a program of its own gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Sha256Digest>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_builtin(engine: &AgentEngine) -> bool {
    *engine == AgentEngine::Builtin
}

impl ModelCallStart {
    /// Creates the start of the call after the first calls of an agent.
    pub(in crate::machine) fn after(attempt: &Attempt, calls: u32, repairs: Option<String>) -> Self {
        Self {
            attempt: attempt.clone(),
            call: calls.saturating_add(1),
            repairs,
            context: ContextCut::default(),
            client: None,
        }
    }
}

/// An unfit answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InvalidAnswer {
    /// The mistake, in one sentence.
    pub mistake: String,
    /// The digest of the answer; absent: there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Sha256Digest>,
}

/// A program is begun again to repair its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClientRepair {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The answer.
    #[serde(flatten)]
    pub invalid: InvalidAnswer,
}
