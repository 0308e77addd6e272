use std::collections::BTreeMap;

use super::RepeatedRun;
use wf_base::digest::Sha256Digest;
use wf_base::name::{Name, RunId};
use wf_core::machine::{EventKind, ReusedResult};
use wf_store::{StoreError, StoreReader};

/// The digests of the values of a run's items, by step and key.
type ItemDigests = BTreeMap<(Name, String), Sha256Digest>;

/// Adds to the reused results of items the digests of their values, where a step names its items by a property: an item with
/// the same key may have another value now. A result of an item whose value is not known is left out.
pub(crate) fn add_item_digests(
    reader: &StoreReader,
    repeated_run: &RepeatedRun,
    reused_results: &mut Vec<ReusedResult>,
) -> Result<(), StoreError> {
    let plan = repeated_run.plan();
    let is_named = |reused_results: &ReusedResult| {
        let ix = plan.find(reused_results.step.as_str());
        reused_results.item.is_some() && ix.is_some_and(|ix| plan.step(ix).key.is_some())
    };
    let mut runs: BTreeMap<RunId, ItemDigests> = BTreeMap::new();
    for result in reused_results.iter_mut().filter(|kept| is_named(kept)) {
        let item = (result.step.clone(), result.item.clone().unwrap_or_default());
        for run in repeated_run.run().into_iter().chain([&result.from]) {
            if !runs.contains_key(run) {
                runs.insert(run.clone(), item_digests(reader, run)?);
            }
            let digest = runs.get(run).and_then(|digests| digests.get(&item)).copied();
            result.item_digest = result.item_digest.or(digest);
        }
    }
    reused_results.retain(|kept| !is_named(kept) || kept.item_digest.is_some());
    Ok(())
}

fn item_digests(reader: &StoreReader, run: &RunId) -> Result<ItemDigests, StoreError> {
    let mut digests = ItemDigests::new();
    for event in reader.facts(run, &["step_expanded"])? {
        if let EventKind::StepExpanded { step, items } = event.fact {
            digests.extend(items.iter().map(|item| ((step.clone(), item.key.clone()), item.digest())));
        }
    }
    Ok(digests)
}
