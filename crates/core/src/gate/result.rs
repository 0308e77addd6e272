use serde::{Deserialize, Serialize};

use crate::machine::AskedModel;
use wf_base::{keywords, name::GateId};
use wf_model::{GateLane, GateTrigger, JsonObject, Money};

/// The keys of a context a gate may rewrite.
pub const ALLOWED_MUTATIONS: [&str; 3] = ["response", "message", "tool_args"];

/// The input of a gate: a JSON object with `trigger`, `run`, `plan`, `params` and, if known,
/// `step`, `item`, `steps`, `tool_name`, `tool_args`, `message` and `response`.
pub type GateContext = JsonObject;

keywords! {
    /// The action of a gate.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum GateAction {
        /// Continue.
        Continue = "continue",
        /// Ask the approver first.
        RequireApproval = "require_approval",
        /// Block.
        Block = "block",
    }
}

/// The answer of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct GateAnswer {
    /// The action.
    pub action: GateAction,
    /// The reason; may be empty to continue.
    pub reason: String,
    /// The quality, from 0 to 1.
    pub score: Option<f64>,
    /// The flags raised.
    pub flags: Vec<String>,
    /// The keys to rewrite.
    pub modified: JsonObject,
}

/// The record of a gate's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateResult {
    /// The gate.
    pub gate: GateId,
    /// The trigger at which it was asked.
    pub trigger: GateTrigger,
    /// The lane: deciding or advising.
    pub lane: GateLane,
    /// The action; for a quality gate, to continue.
    pub action: GateAction,
    /// The reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The quality, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The flags raised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The keys it rewrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The keys it wanted to rewrite and may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<String>,
    /// The action that a quality gate wanted and may not order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<GateAction>,
    /// True if it gave no answer that can be used; its action is the one that is safe.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The time it took, in milliseconds.
    pub duration_ms: u64,
    /// The tokens that its model used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// The cost of its model, in millionths of a US dollar.
    #[serde(default, rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
    /// The call of its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<AskedModel>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

/// A text a gate gives to a model call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateText {
    /// The gate.
    pub gate: GateId,
    /// The text.
    pub text: String,
}

/// The outcome of all gates of a trigger point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GateOutcome {
    /// The results, in the order in which the gates were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<GateResult>,
    /// The rewritten keys, with their values.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub rewritten: JsonObject,
    /// The texts the model gets with its next call, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<GateText>,
    /// The reply in the place of the model: that of the first gate giving one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<GateText>,
}

impl GateAnswer {
    /// Returns the answer to continue.
    pub fn pass() -> Self {
        Self::of(GateAction::Continue, "")
    }

    /// Returns the answer to block.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::of(GateAction::Block, reason)
    }

    /// Returns the answer to ask the approver.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::of(GateAction::RequireApproval, reason)
    }

    fn of(action: GateAction, reason: impl Into<String>) -> Self {
        Self { action, reason: reason.into(), score: None, flags: Vec::new(), modified: JsonObject::new() }
    }
}
