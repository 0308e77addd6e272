use serde::{Deserialize, Serialize};

use crate::machine::call_effort::CallEffort;
use crate::machine::ledger::AttemptUsage;
use wf_base::digest::Sha256Digest;
use wf_base::name::Name;

/// A model call that was not made by an agent: by a judge, a gate, a planner or a compactor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AskedModel {
    /// The model that was asked.
    pub model: Name,
    /// The fallback that replied in its place.
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
    /// The tokens, the cost and the time that it took.
    #[serde(flatten)]
    pub effort: CallEffort,
}

/// The model calls of a planner that was asked for alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlannerCalls {
    /// The amounts that they used.
    #[serde(default, skip_serializing_if = "AttemptUsage::is_zero")]
    pub usage: AttemptUsage,
    /// The calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedModel>,
}
