//! The effort of model calls by anyone, and the models asked.

use serde::{Deserialize, Serialize};

use crate::{health::BreakerNote, machine::words::AttemptUsage};
use wf_base::{digest::Sha256Digest, name::Name};
use wf_model::{Money, TokenUsage};

/// The effort of a model call: its tokens, its cost, its time, and how often it was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallEffort {
    /// The tokens counted by the provider; of a stopped call, the estimated ones of its request.
    pub usage: TokenUsage,
    /// The cost, in millionths of a US dollar.
    #[serde(default, rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
    /// The models called in vain before its reply, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passed_over: Vec<PassedOverModel>,
    /// The breaker changes caused by it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<BreakerNote>,
    /// The requests sent for it, failed ones included.
    pub requests: u32,
    /// The duration, in milliseconds.
    pub duration_ms: u64,
}

/// A failed model, before its fallback was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PassedOverModel {
    /// The model.
    pub model: Name,
    /// The reason, in one sentence.
    pub reason: String,
}

impl CallEffort {
    /// Returns the effort of a call of one request, before anything is known of its end.
    pub fn of_one_request() -> Self {
        Self { requests: 1, ..Self::default() }
    }
}

/// A model call of a judge, a gate, a planner or a compactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AskedModel {
    /// The model asked.
    pub model: Name,
    /// The fallback replying in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replied_by: Option<Name>,
    /// The digest of the request.
    pub request: Sha256Digest,
    /// The digest of the reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Sha256Digest>,
    /// The reason why there is no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its tokens, its cost and its time.
    #[serde(flatten)]
    pub effort: CallEffort,
}

/// The model calls of a planner about alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannerCalls {
    /// The amounts used by them.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
    /// The calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedModel>,
}
