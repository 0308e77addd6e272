//! The results of an earlier run that are offered to the items of a step.

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::MachineState,
    words::{ReusedItem, Standing, StepItem},
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_model::{JsonObject, Plan};

/// The result of an item that the run may reuse once the item is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct ReusableResult {
    pub(in crate::machine) outputs: JsonObject,
    pub(in crate::machine) standing: Standing,
    /// The original run, if it was another one.
    pub(in crate::machine) from: Option<RunId>,
    /// True if it was checked there against files whose digests came with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::machine) has_evidence: bool,
    /// The digest of the item's value, if the key does not say what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) item_digest: Option<Sha256Digest>,
}

/// Stores the reused result of an item until its list is known.
pub(in crate::machine) fn offer_item(state: &mut MachineState, plan: &Plan, item: &ReusedItem) {
    if let Some(ix) = plan.find(item.step.as_str()) {
        let result = ReusableResult {
            outputs: item.outputs.clone(),
            standing: item.standing,
            from: Some(item.reused_from.clone()),
            has_evidence: !item.evidence.is_empty(),
            item_digest: item.item_digest,
        };
        state.offers.insert((ix.0, item.item_key.clone()), result);
    }
}

impl ReusableResult {
    pub(in crate::machine) fn is_of(&self, item: &StepItem) -> bool {
        self.item_digest.is_none_or(|digest| digest == item.digest())
    }
}
