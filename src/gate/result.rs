use serde::{Deserialize, Serialize};

use crate::model::{Lane, Object, Trigger};
use crate::name::GateId;

/// The keys of a context that a gate may rewrite.
pub const ALLOWED_MUTATIONS: [&str; 3] = ["response", "message", "tool_args"];

/// What a gate is asked about: a JSON object with `trigger`, `run`, `plan`, `params` and, as far as
/// they are known, `step`, `item`, `steps`, `tool_name`, `tool_args`, `message` and `response`.
pub type Context = Object;

/// What a gate says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It may go on.
    Continue,
    /// Somebody must agree first.
    RequireApproval,
    /// It may not go on.
    Block,
}

/// What a provider says.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// What is to happen.
    pub action: Action,
    /// Why; may be empty if it goes on.
    pub reason: String,
    /// How good it is, from 0 to 1.
    pub score: Option<f64>,
    /// What was noticed.
    pub flags: Vec<String>,
    /// What is to be rewritten.
    pub modified: Object,
}

/// What is recorded of the answer of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateResult {
    /// The gate.
    pub gate: GateId,
    /// When it was asked.
    pub trigger: Trigger,
    /// Whether it decides or advises.
    pub lane: Lane,
    /// What it said; of a quality gate, that it goes on.
    pub action: Action,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// How good it is, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What was noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// What it rewrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// What it wanted to rewrite and may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<String>,
    /// What a quality gate wanted to happen, which it may not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<Action>,
    /// How long it took.
    pub millis: u64,
}

/// What comes of all gates of a trigger point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gated {
    /// What each said, in the order in which they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<GateResult>,
    /// What was rewritten, and to what.
    #[serde(default, skip_serializing_if = "Object::is_empty")]
    pub rewritten: Object,
}

impl Action {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::RequireApproval => "require_approval",
            Self::Block => "block",
        }
    }
}

impl Answer {
    /// It may go on.
    pub fn pass() -> Self {
        Self::of(Action::Continue, "")
    }

    /// It may not go on.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::of(Action::Block, reason)
    }

    /// Somebody must agree.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::of(Action::RequireApproval, reason)
    }

    fn of(action: Action, reason: impl Into<String>) -> Self {
        Self {
            action,
            reason: reason.into(),
            score: None,
            flags: Vec::new(),
            modified: Object::new(),
        }
    }
}
