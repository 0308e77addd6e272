//! The subjects of approvals for an agent's work: a tool call, and a part of its conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::words::{ExchangeGated, GatePoint, ToolCallId};
use wf_base::digest::Sha256Digest;

/// The tool call in a request for approval. The attempt is one of the waiting task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCallSubject {
    /// The number of the attempt.
    pub attempt: u32,
    /// The number of its model call.
    pub call: u32,
    /// Its position in the reply, from 0.
    pub position: u32,
    /// The tool.
    pub tool: String,
    /// SHA-256 of its arguments, as the model wrote them.
    pub arguments: Sha256Digest,
    /// True if the call is a question to people: their signed text answers it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_question: bool,
    /// True if the answer to the question also is an approval: a gate, or the plan's rule for untrusted text, requires one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub approves: bool,
}

impl ToolCallSubject {
    /// Creates the subject of a tool call, not of a question.
    pub(in crate::machine) fn of(id: &ToolCallId, tool: String, arguments: Sha256Digest) -> Self {
        Self {
            attempt: id.attempt.attempt,
            call: id.call,
            position: id.position,
            tool,
            arguments,
            is_question: false,
            approves: false,
        }
    }
}

/// A part of a conversation for people to approve: the arguments of a tool call, a request, a reply or a
/// result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownContent {
    /// SHA-256 of all of it.
    pub digest: Sha256Digest,
    /// The part as approvers see it, masked.
    pub shown: Value,
}

/// Returns the words for the subject of a gate's question.
pub(in crate::machine) fn subject(point: GatePoint) -> &'static str {
    match point {
        GatePoint::Request => "the model call",
        GatePoint::Reply => "the reply of the model",
        _ => "the result",
    }
}

/// The part of an agent's conversation in a request for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ExchangeSubject {
    /// The decision behind an approval.
    #[serde(flatten)]
    pub passed: ExchangeGated,
    /// SHA-256 of the request, the reply or the result, as the model got or gets it.
    pub body: Sha256Digest,
}

impl ExchangeSubject {
    pub(in crate::machine) fn question(&self) -> String {
        let call = self.passed.call;
        match self.passed.point {
            GatePoint::Request => format!("allow model call {call}?"),
            GatePoint::Reply => format!("act on the reply to model call {call}?"),
            _ => {
                let number = self.passed.position.map_or(1, |position| position.saturating_add(1));
                format!("give the model the result of tool call {call}.{number}?")
            }
        }
    }
}
