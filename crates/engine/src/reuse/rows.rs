//! The recorded steps of a repeated run, and the values of its items. Results it reused itself are read from the run that
//! did the work.

use std::collections::{BTreeMap, BTreeSet};

use wf_base::{
    digest::Sha256Digest,
    name::{Name, RunId},
};
use wf_core::machine::{EventKind, NOT_CHOSEN, ReusedResult, StepState, TaskId};
use wf_store::{StepRow, StoreError, StoreReader};

use super::{RepeatChoice, RepeatedRun};

/// The recorded steps of a run, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedSteps {
    steps: BTreeMap<Name, StepRow>,
    items: BTreeMap<Name, Vec<StepRow>>,
}

impl RecordedSteps {
    pub(super) fn new(rows: Vec<StepRow>) -> Self {
        let mut sorted = Self::default();
        for row in rows {
            if row.item.is_none() {
                sorted.steps.insert(row.step.clone(), row);
            } else {
                sorted.items.entry(row.step.clone()).or_default().push(row);
            }
        }
        sorted
    }

    /// Reads the steps of a run. The items of a reused repeated step are those of the run that did the work.
    pub(super) fn read_steps(reader: &StoreReader, run: &RunId) -> Result<Self, StoreError> {
        let mut rows = Self::new(reader.steps().of_run(run)?);
        let mut workers: BTreeMap<RunId, Vec<Name>> = BTreeMap::new();
        for row in rows.steps.values() {
            if let Some(from) = &row.reused_from {
                workers.entry(from.clone()).or_default().push(row.step.clone());
            }
        }
        for (worker, steps) in workers {
            let mut theirs = Self::new(reader.steps().of_run(&worker)?);
            for step in steps {
                let mut items = theirs.items.remove(&step).unwrap_or_default();
                for item in &mut items {
                    item.reused_from.get_or_insert_with(|| worker.clone());
                }
                rows.items.insert(step, items);
            }
        }
        Ok(rows)
    }

    pub(super) fn step(&self, step: &Name) -> Option<&StepRow> {
        self.steps.get(step)
    }

    pub(super) fn items(&self, step: &Name) -> &[StepRow] {
        self.items.get(step).map_or(&[], Vec::as_slice)
    }

    pub(super) fn succeeded(&self, step: &Name) -> bool {
        self.step(step).is_some_and(|row| row.state == StepState::Succeeded)
    }

    /// Returns the steps and items affected by a choice, inside which something was left out.
    pub(super) fn partial(
        &self,
        reader: &StoreReader,
        run: &RunId,
        choice: &RepeatChoice,
    ) -> Result<BTreeSet<(Name, Option<String>)>, StoreError> {
        let mut partial = BTreeSet::new();
        let rows = self.steps.values().chain(self.items.values().flatten());
        for row in rows.filter(|row| !choice.chosen_items(&row.step).is_empty()) {
            let key = row.item_key.clone();
            if let Some(nested) = nested_run(reader, run, &row.step, key.as_deref())?
                && has_deselected(reader, &nested)?
            {
                partial.insert((row.step.clone(), key));
            }
        }
        Ok(partial)
    }

    fn item(&self, step: &Name, key: &str) -> Option<&StepRow> {
        let mut items = self.items(step).iter();
        items.find(|row| row.item_key.as_deref() == Some(key))
    }
}

/// True if a run, or one nested in it, left something out by choice.
fn has_deselected(reader: &StoreReader, run: &RunId) -> Result<bool, StoreError> {
    if reader.steps().of_run(run)?.iter().any(|row| row.reason == NOT_CHOSEN) {
        return Ok(true);
    }
    for (child, _) in reader.runs().children(run)? {
        if has_deselected(reader, &child)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the result of a step or an item, to be reused from a run.
pub(super) fn reused_result(row: &StepRow, run: &RunId) -> ReusedResult {
    ReusedResult {
        step: row.step.clone(),
        item: row.item_key.clone(),
        item_digest: None,
        outputs: row.outputs.clone(),
        standing: row.standing,
        from: row.reused_from.clone().unwrap_or_else(|| run.clone()),
        evidence: Vec::new(),
    }
}

/// Returns the items of a step of a run, even if it reused them.
pub fn items(reader: &StoreReader, run: &RunId, step: &Name) -> Result<Vec<StepRow>, StoreError> {
    let mut rows = RecordedSteps::read_steps(reader, run)?;
    Ok(rows.items.remove(step).unwrap_or_default())
}

/// Returns the last run nested in a step of a run, or in an item of it, even if it was reused.
pub fn nested_run(
    reader: &StoreReader,
    run: &RunId,
    step: &Name,
    key: Option<&str>,
) -> Result<Option<RunId>, StoreError> {
    let rows = RecordedSteps::read_steps(reader, run)?;
    let row = match key {
        Some(key) => rows.item(step, key),
        None => rows.step(step),
    };
    let Some(row) = row else { return Ok(None) };
    let place = TaskId { step: step.clone(), item: None };
    let (worker, place) = match (&row.reused_from, key) {
        (Some(worker), Some(key)) => {
            let theirs = RecordedSteps::new(reader.steps().of_run(worker)?);
            let item = theirs.item(step, key).and_then(|row| row.item);
            (worker.clone(), TaskId { item, ..place })
        }
        (Some(worker), None) => (worker.clone(), place),
        (None, _) => (run.clone(), TaskId { item: row.item, ..place }),
    };
    let name = place.to_string();
    let of = |attempt: &str| {
        let place = attempt.rsplit_once('#').map(|(place, _)| place);
        place == Some(&*name)
    };
    let children = reader.runs().children(&worker)?;
    let last = children.into_iter().rfind(|(_, attempt)| of(attempt));
    Ok(last.map(|(child, _)| child))
}

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
    for result in reused_results.iter_mut().filter(|reused| is_named(reused)) {
        let item = (result.step.clone(), result.item.clone().unwrap_or_default());
        for run in repeated_run.run_id().into_iter().chain([&result.from]) {
            if !runs.contains_key(run) {
                runs.insert(run.clone(), item_digests(reader, run)?);
            }
            let digest = runs.get(run).and_then(|digests| digests.get(&item)).copied();
            result.item_digest = result.item_digest.or(digest);
        }
    }
    reused_results.retain(|reused| !is_named(reused) || reused.item_digest.is_some());
    Ok(())
}

fn item_digests(reader: &StoreReader, run: &RunId) -> Result<ItemDigests, StoreError> {
    let mut digests = ItemDigests::new();
    for event in reader.events().of_kinds(run, &["step_expanded"])? {
        if let EventKind::StepExpanded { step, items } = event.fact {
            digests.extend(items.iter().map(|item| ((step.clone(), item.key.clone()), item.digest())));
        }
    }
    Ok(digests)
}
