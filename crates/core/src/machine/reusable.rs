//! The results of an earlier run that this one reuses: those of items as soon as the items are known.

use serde::{Deserialize, Serialize};

use crate::machine::event::EventKind;
use crate::machine::evidence::Artifact;
use crate::machine::standing::{Standing, StepItem};
use crate::machine::state::MachineState;
use wf_base::digest::Sha256Digest;
use wf_base::name::{Name, RunId};
use wf_model::{JsonObject, Plan};

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
    /// The run that did the work.
    pub from: RunId,
    /// The files that it was checked with, if it is verified.
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
    /// The run that did the work.
    pub reused_from: RunId,
    /// The files that it was checked with, if it is verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Artifact>,
}

/// The result of an item that the run may reuse once the item is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct ReusableResult {
    pub(in crate::machine) outputs: JsonObject,
    pub(in crate::machine) standing: Standing,
    /// The run that did the work, if it was another one.
    pub(in crate::machine) from: Option<RunId>,
    /// True if it was checked there against files whose digests came with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::machine) has_evidence: bool,
    /// The digest of the item's value, if the key does not say what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) item_digest: Option<Sha256Digest>,
}

impl MachineState {
    /// Stores the reused result of an item until its list is known.
    pub(in crate::machine) fn offer_item(&mut self, plan: &Plan, item: &ReusedItem) {
        if let Some(ix) = plan.find(item.step.as_str()) {
            let result = ReusableResult {
                outputs: item.outputs.clone(),
                standing: item.standing,
                from: Some(item.reused_from.clone()),
                has_evidence: !item.evidence.is_empty(),
                item_digest: item.item_digest,
            };
            self.offers.insert((ix.0, item.item_key.clone()), result);
        }
    }

    /// Returns the result that an item of a step had before, whatever its value was.
    pub(in crate::machine) fn earlier_result(&self, step: u32, item: &StepItem) -> Option<&ReusableResult> {
        self.offers.get(&(step, item.key.clone()))
    }
}

impl ReusableResult {
    /// True if it is the result of an item with this value.
    pub(in crate::machine) fn is_of(&self, item: &StepItem) -> bool {
        self.item_digest.is_none_or(|digest| digest == item.digest())
    }
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
