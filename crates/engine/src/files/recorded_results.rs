//! The results of runs as recorded. A reused result is the one of the run with the work.

use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    path::Path,
};

use wf_base::name::{Name, RunId};
use wf_core::machine::{Artifact, Event, EventKind, ReusedItem, ReusedResult, StaleFile, TaskId};
use wf_exec::evidence::{DigestMemo, first_stale};
use wf_model::{JsonObject, Plan};
use wf_store::{ArtifactRow, StoreError, StoreReader};

use crate::{
    reuse::{RepeatedRun, add_item_digests, items, nested_run},
    run::{declarations::Declarations, evidence_record::EvidenceRecord},
};

/// The recorded results of runs, each run read once.
pub struct RecordedResults<'a> {
    reader: &'a StoreReader,
    runs: BTreeMap<RunId, RunResults>,
}

/// The results of a run's tasks, as recorded.
#[derive(Clone, Default)]
struct RunResults {
    keys: BTreeMap<Name, Vec<String>>,
    results: BTreeMap<TaskId, RecordedResult>,
    evidence: EvidenceRecord,
}

/// The recorded data of a result.
#[derive(Clone, Debug, Default)]
pub struct RecordedResult {
    /// The files it was checked with.
    pub evidence: Vec<Artifact>,
    /// The artifacts its work left.
    pub artifacts: Vec<Artifact>,
    /// True if a service the work started lived on.
    pub(crate) service: bool,
    /// The run that did the work, if it was another one.
    reused_from: Option<RunId>,
}

impl<'a> RecordedResults<'a> {
    /// Returns the results a reader knows.
    pub fn new(reader: &'a StoreReader) -> Self {
        Self { reader, runs: BTreeMap::new() }
    }

    /// Returns the data of a result that a run which is repeated has, of its own or from another one.
    pub(crate) fn of_reused(
        &mut self,
        repeated_run: &RepeatedRun,
        result: &ReusedResult,
    ) -> Result<RecordedResult, StoreError> {
        let mut recorded = self.of_result(&result.from, &result.step, result.item.as_deref())?;
        if let Some(run) = repeated_run.run_id().filter(|run| **run != result.from) {
            let (step, key) = (&result.step, result.item.as_deref());
            self.run(run)?.retain_evidence(step, key, &mut recorded.evidence);
        }
        Ok(recorded)
    }

    /// Returns the data of the result of a step, or of an item of it, by the run that did the work; of a repeated step
    /// the data of its items. Nothing is known of a forgotten run.
    pub fn of_result(
        &mut self,
        run: &RunId,
        step: &Name,
        key: Option<&str>,
    ) -> Result<RecordedResult, StoreError> {
        let recorded = self.run(run)?.of_result(step, key);
        let mut sum = RecordedResult::default();
        for (key, result) in recorded {
            match result.reused_from.clone().filter(|from| from != run) {
                Some(from) => {
                    let mut theirs = self.of_result(&from, step, key.as_deref())?;
                    self.run(run)?.retain_evidence(step, key.as_deref(), &mut theirs.evidence);
                    sum.add(theirs);
                }
                None => sum.add(result),
            }
        }
        Ok(sum)
    }

    fn run(&mut self, run: &RunId) -> Result<&RunResults, StoreError> {
        Ok(match self.runs.entry(run.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(RunResults::of(&self.reader.events().of_run(run, 0)?)),
        })
    }

    /// Returns a fact with the evidence of the reused result that it names, which earlier versions did not record.
    pub(super) fn completed<'f>(&mut self, kind: &'f EventKind) -> Result<Cow<'f, EventKind>, StoreError> {
        let mut fact = Cow::Borrowed(kind);
        let (step, key, from) = match &*fact {
            EventKind::StepReused { step, standing, reused_from, evidence, .. }
                if standing.is_checked() && evidence.is_empty() =>
            {
                (step, None, reused_from)
            }
            EventKind::ItemReused(item) if item.standing.is_checked() && item.evidence.is_empty() => {
                (&item.step, Some(item.item_key.as_str()), &item.reused_from)
            }
            _ => return Ok(fact),
        };
        let mut recorded_evidence = self.of_result(from, step, key)?.evidence;
        // Earlier versions knew no products.
        recorded_evidence.retain(|file| !file.is_product());
        match fact.to_mut() {
            EventKind::StepReused { evidence, .. } | EventKind::ItemReused(ReusedItem { evidence, .. }) => {
                *evidence = recorded_evidence;
            }
            _ => {}
        }
        Ok(fact)
    }

    /// Adds to reused results the files they were checked with.
    pub(crate) fn add_evidence(
        &mut self,
        repeated_run: &RepeatedRun,
        result: &mut [ReusedResult],
    ) -> Result<(), StoreError> {
        for reused in result.iter_mut().filter(|kept| kept.standing.is_checked()) {
            reused.evidence = self.of_reused(repeated_run, reused)?.evidence;
        }
        Ok(())
    }
}

/// Returns the artifacts of a run: those of the results it reused and of what was nested in these, as attempt 0, then
/// those of its own attempts.
pub fn artifacts_of_run(reader: &StoreReader, run: &RunId) -> Result<Vec<ArtifactRow>, StoreError> {
    let mut results = RecordedResults::new(reader);
    let mut artifacts = Vec::new();
    for row in reader.steps().of_run(run)? {
        let Some(from) = &row.reused_from else { continue };
        let key = row.item_key.as_deref();
        let mut left = results.of_result(from, &row.step, key)?.artifacts;
        let keys = items(reader, run, &row.step)?.into_iter().filter_map(|item| item.item_key);
        let inside = if row.item.is_some() { vec![row.item_key.clone()] } else { keys.map(Some).collect() };
        let inside = if inside.is_empty() { vec![None] } else { inside };
        for key in inside {
            if let Some(nested) = nested_run(reader, run, &row.step, key.as_deref())? {
                left.extend(artifacts_of_run(reader, &nested)?.into_iter().map(|row| row.artifact));
            }
        }
        let (step, item) = (&row.step, row.item);
        let left = left.into_iter();
        artifacts.extend(left.map(|artifact| ArtifactRow { step: step.clone(), item, attempt: 0, artifact }));
    }
    artifacts.extend(reader.artifacts().of_run(run)?);
    Ok(artifacts)
}

impl RunResults {
    fn of(events: &[(u64, Event)]) -> Self {
        let mut worked = Self::default();
        for (_, event) in events {
            worked.evidence.apply(&event.fact);
            worked.apply_fact(&event.fact);
        }
        for (place, files) in worked.evidence.tasks() {
            worked.results.entry(place.clone()).or_default().evidence.clone_from(files);
        }
        worked
    }

    fn apply_fact(&mut self, kind: &EventKind) {
        match kind {
            EventKind::StepExpanded { step, items } => {
                let keys = items.iter().map(|item| item.key.clone()).collect();
                self.keys.insert(step.clone(), keys);
            }
            EventKind::AttemptStarted(attempt) => {
                self.results.insert(attempt.task_id.clone(), RecordedResult::default());
            }
            EventKind::CacheHit { task_id, found } => {
                let left = RecordedResult { artifacts: found.artifacts.clone(), ..RecordedResult::default() };
                self.results.insert(task_id.clone(), left);
            }
            EventKind::AttemptEnded { attempt, artifacts, left: ended, .. } => {
                let left = self.results.entry(attempt.task_id.clone()).or_default();
                left.artifacts.clone_from(artifacts);
                left.service = ended.service && !ended.detached;
            }
            EventKind::StepEnded { task_id, reused_from: from @ Some(_), .. } => {
                self.results.entry(task_id.clone()).or_default().reused_from.clone_from(from);
            }
            EventKind::StepReused { step, reused_from, .. } => {
                let from = Some(reused_from.clone());
                self.results.entry(TaskId::of_step(step)).or_default().reused_from = from;
            }
            _ => {}
        }
    }

    /// Keeps of the files of a reused result the products this run still relies on, and all others.
    fn retain_evidence(&self, step: &Name, key: Option<&str>, artifacts: &mut Vec<Artifact>) {
        if !artifacts.iter().any(Artifact::is_product) {
            return;
        }
        let own = self.of_result(step, key).into_iter().flat_map(|(_, result)| result.evidence);
        let of_step = self.evidence.tasks().get(&TaskId::of_step(step)).into_iter().flatten().cloned();
        let of_item = key.map(|key| self.evidence.of_reused_item(step, key)).into_iter().flatten().cloned();
        let known_artifacts: Vec<Artifact> = own.chain(of_step).chain(of_item).collect();
        let is_known = |artifact: &Artifact| {
            known_artifacts.iter().any(|own| (&own.path, own.digest) == (&artifact.path, artifact.digest))
        };
        artifacts.retain(|file| !file.is_product() || is_known(file));
    }

    /// Returns the result of a step or of an item; of a repeated step those of all items, each with its key.
    fn of_result(&self, step: &Name, key: Option<&str>) -> Vec<(Option<String>, RecordedResult)> {
        let of = |item| self.results.get(&TaskId { step: step.clone(), item }).cloned();
        let keys = (0..).zip(self.keys.get(step).into_iter().flatten());
        let mut items = keys.filter(|(_, own)| key.is_none_or(|key| *own == key)).peekable();
        if key.is_none() && items.peek().is_none() {
            return of(None).map(|result| (None, result)).into_iter().collect();
        }
        items.filter_map(|(item, key)| Some((Some(key.clone()), of(Some(item))?))).collect()
    }
}

impl RecordedResult {
    /// Adds the data of another item. A shared file is the one of the last.
    fn add(&mut self, other: Self) {
        for (own, others) in [(&mut self.evidence, other.evidence), (&mut self.artifacts, other.artifacts)] {
            for file in others {
                own.retain(|own_file| own_file.path != file.path);
                own.push(file);
            }
        }
        self.service |= other.service;
    }
}

/// Returns the evidence of a run's tasks. For results it reused without a record of their evidence, as earlier versions
/// did, it is that of the runs that did the work.
pub(crate) fn evidence_of_run(
    reader: &StoreReader,
    events: &[(u64, Event)],
) -> Result<EvidenceRecord, StoreError> {
    let mut results = RecordedResults::new(reader);
    let mut record = EvidenceRecord::default();
    for (_, event) in events {
        record.apply(results.completed(&event.fact)?.as_ref());
    }
    Ok(record)
}

/// The kinds of events that record the files of checks.
pub const EVIDENCE_EVENTS: [&str; 7] = [
    "attempt_started",
    "cache_hit",
    "step_ended",
    "evidence_taken",
    "step_reused",
    "item_reused",
    "step_expanded",
];

/// Returns the files that some steps were checked with, as recorded.
pub fn recorded_evidence(events: &[Event], steps: &[Name]) -> Vec<Artifact> {
    let record = EvidenceRecord::from_events(events);
    let of_them = record.tasks().iter().filter(|(place, _)| steps.contains(&place.step));
    of_them.flat_map(|(_, files)| files.clone()).collect()
}

/// Returns the results of a run whose files changed since they were checked. Missing files were cleaned up,
/// if the plan has steps for that.
pub fn stale_now(
    reader: &StoreReader,
    root: &Path,
    plan: &Plan,
    events: &[(u64, Event)],
) -> Result<Vec<StaleFile>, StoreError> {
    let (memo, gone) = (DigestMemo::default(), !plan.has_finally());
    let record = evidence_of_run(reader, events)?;
    let results = record.tasks().iter().filter_map(|(place, evidence)| {
        let path = first_stale(root, evidence, &memo, gone)?;
        Some(StaleFile { task_id: place.clone(), path })
    });
    Ok(results.collect())
}

/// Returns the results a run reuses, with their evidence: its own plan names the steps releasing products.
pub(crate) fn reused_results(
    reader: &StoreReader,
    repeated_run: &RepeatedRun,
    params: &JsonObject,
) -> Result<Vec<ReusedResult>, StoreError> {
    let mut results = repeated_run.reused_results();
    add_item_digests(reader, repeated_run, &mut results)?;
    RecordedResults::new(reader).add_evidence(repeated_run, &mut results)?;
    if results.iter().flat_map(|reused| &reused.evidence).any(Artifact::is_product) {
        let declarations = Declarations::from_plan(repeated_run.plan(), params);
        for reused in &mut results {
            declarations.name_releasing(&reused.step, &mut reused.evidence);
        }
    }
    Ok(results)
}
