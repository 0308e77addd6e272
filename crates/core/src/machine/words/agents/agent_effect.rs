//! The orders to the engine about the work of an agent.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    agent::{ChildrenReport, ContextCut},
    machine::words::{
        Attempt, CallSupplement, InvalidAnswer, PersonAnswer, ToolCallId, WorkExit, serde_pairs,
    },
};
use wf_base::digest::Sha256Digest;

/// A model call of an agent, to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCall {
    #[serde(flatten)]
    pub attempt: Attempt,
    pub call: u32,
    /// The mistake in the last answer, for the model to repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<String>,
    /// The reasons of the tool calls refused before, by position.
    #[serde(default, with = "serde_pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub refusals: BTreeMap<u32, String>,
    /// The cut of the conversation.
    #[serde(default, skip_serializing_if = "ContextCut::is_none")]
    pub context: ContextCut,
    /// The texts of gates for the call.
    pub supplement: Box<CallSupplement>,
}

/// A tool call of an agent, to be executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOrder {
    #[serde(flatten)]
    pub id: ToolCallId,
    /// The time outside the limits of the attempt, in milliseconds.
    pub waited_ms: u64,
    /// The result, of a call of `dispatch` or `collect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children: Option<Box<ChildrenReport>>,
    /// The answer of people, if the call is a question to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Box<PersonAnswer>>,
    /// True if the agent was given untrusted text before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// The turn of a program of its own: it gets the reply to its last request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientTurn {
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The number of its last call; 0: none was made.
    pub call: u32,
    /// The reasons of the forbidden tool calls in the reply, by position.
    #[serde(default, with = "serde_pairs", skip_serializing_if = "BTreeMap::is_empty")]
    pub refusals: BTreeMap<u32, String>,
    /// The invalid answer, to be repaired by a new start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<InvalidAnswer>,
}

/// The end of an agent, to be collected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEnding {
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The exit of the agent.
    pub exit: WorkExit,
    /// The digest of the answer of a program of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Sha256Digest>,
    /// The source of its untrusted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}
