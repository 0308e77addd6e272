//! The results of an earlier run, reused by a run.

use serde::{Deserialize, Serialize};

use crate::machine::words::{Artifact, EventKind, Standing};
use wf_base::{
    digest::Sha256Digest,
    name::{Name, RunId},
};
use wf_model::JsonObject;

/// A result reused from an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReusedResult {
    /// The step.
    pub step: Name,
    /// The key of one of its items; `None`: the whole step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The digest of the item's value, if its step names its items by a property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_digest: Option<Sha256Digest>,
    /// Its outputs.
    pub outputs: JsonObject,
    /// The verification status of the result.
    pub standing: Standing,
    /// The original run.
    pub from: RunId,
    /// Its evidence, if it is verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Artifact>,
}

/// The result of an item, reused from an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReusedItem {
    /// The step.
    pub step: Name,
    /// The key of the item.
    pub item_key: String,
    /// The digest of its value, if its step names its items by a property: an item with another value runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_digest: Option<Sha256Digest>,
    /// Its outputs.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    pub outputs: JsonObject,
    /// The verification status of the result.
    pub standing: Standing,
    /// The original run.
    pub reused_from: RunId,
    /// Its evidence, if it is verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Artifact>,
}

impl From<ReusedResult> for EventKind {
    fn from(kept: ReusedResult) -> Self {
        let ReusedResult { step, item, item_digest, outputs, standing, from: reused_from, evidence } = kept;
        match item {
            None => Self::StepReused { step, outputs, standing, reused_from, evidence },
            Some(item_key) => Self::ItemReused(ReusedItem {
                step,
                item_key,
                item_digest,
                outputs,
                standing,
                reused_from,
                evidence,
            }),
        }
    }
}
