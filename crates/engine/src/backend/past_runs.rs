//! The record of the run a run elsewhere repeats: what the runs nested in it reuse is decided where they begin again,
//! by the same rules as here, which read a record.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{Event, EventKind, TaskId};
use wf_exec::cache::cache_key;
use wf_model::JsonObject;
use wf_store::{CacheEntry, CacheLookup, EventBatch, NewRun, Store, StoreError, StoreReader};

use crate::{
    reuse::{RepeatedRun, StepFate, StepRerun},
    session::{EngineError, EngineSession},
};

/// The repeated run, the runs nested in it, and those whose results it had reused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PastRuns {
    /// The repeated run; `None`: no record is needed.
    pub repeated: Option<RunId>,
    /// The runs, each after the one it is nested in.
    runs: Vec<PastRun>,
}

/// The record of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PastRun {
    run: RunId,
    plan: PlanId,
    path: String,
    params: JsonObject,
    parent: Option<(RunId, String)>,
    sources: Vec<(String, String)>,
    config: Value,
    created: Moment,
    events: Vec<Event>,
    lookups: Vec<CacheLookup>,
}

impl PastRuns {
    /// Reads the record, if a nested run may reuse something of it.
    pub(crate) fn from_repeated(
        reader: &StoreReader,
        repeated_run: &RepeatedRun,
    ) -> Result<Self, StoreError> {
        let reuses = |fate: &StepFate| matches!(fate, StepFate::Rerun(StepRerun { reuses_nested: true, .. }));
        let Some(repeated) =
            repeated_run.run_id().filter(|_| repeated_run.fates().any(|(_, fate)| reuses(fate)))
        else {
            return Ok(Self::default());
        };
        let (mut open, mut runs_by_id) = (vec![repeated.clone()], BTreeMap::new());
        while let Some(run) = open.pop() {
            if runs_by_id.contains_key(&run) {
                continue;
            }
            let Some(past) = PastRun::read(reader, &run)? else { continue };
            open.extend(past.parent.iter().map(|(outer, _)| outer.clone()));
            open.extend(reader.runs().children(&run)?.into_iter().map(|(nested, _)| nested));
            open.extend(reader.steps().of_run(&run)?.into_iter().filter_map(|row| row.reused_from));
            runs_by_id.insert(run, past);
        }
        let depths: BTreeMap<RunId, usize> =
            runs_by_id.keys().map(|run| (run.clone(), outer_runs(&runs_by_id, run).count())).collect();
        let mut runs: Vec<PastRun> = runs_by_id.into_values().collect();
        runs.sort_by_key(|past| depths.get(&past.run).copied());
        Ok(Self { repeated: Some(repeated.clone()), runs })
    }

    /// Returns the paths of the files its results are compared with.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        let events = self.runs.iter().flat_map(|past| &past.events);
        let files = events.flat_map(|event| match &event.fact {
            EventKind::AttemptEnded { artifacts, .. } => artifacts.as_slice(),
            EventKind::EvidenceTaken { files, .. } => files.as_slice(),
            EventKind::CacheHit { found, .. } => found.artifacts.as_slice(),
            _ => &[],
        });
        files.map(|file| file.path.clone()).collect()
    }

    /// Returns the keys of its results in the cache.
    pub(super) fn cache_keys(&self) -> BTreeSet<Sha256Digest> {
        self.lookups().map(|lookup| lookup.key).collect()
    }

    pub(super) fn cached_results(&self, reader: &StoreReader) -> Result<Vec<CacheEntry>, StoreError> {
        let keys = self.cache_keys();
        let entries = keys.iter().map(|key| reader.cache().find(key));
        let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
        Ok(entries.into_iter().flatten().filter_map(Result::ok).collect())
    }

    fn lookups(&self) -> impl Iterator<Item = &CacheLookup> {
        self.runs.iter().flat_map(|past| &past.lookups)
    }

    /// Makes it part of another state.
    pub(super) async fn take_in(&self, session: &EngineSession) -> Result<(), EngineError> {
        let store = &session.store;
        for outermost in self.runs.iter().filter(|past| past.parent.is_none()) {
            self.take_in_family(outermost, store).await?;
        }
        for lookup in self.lookups() {
            store.cache().note_lookup(lookup.clone()).await?;
        }
        let Some(shared) = session.shared.results.get() else { return Ok(()) };
        for key in self.cache_keys() {
            // Without it, the files of the result count as unknown.
            if let Ok(Some(entry)) = shared.find(&key, store.blobs()).await {
                store.cache().put(entry).await?;
            }
        }
        Ok(())
    }

    /// Records an outermost run and those nested in it, which its end would close.
    async fn take_in_family(&self, outermost: &PastRun, store: &Store) -> Result<(), StoreError> {
        let (token, owned) = store.own_new_run(&outermost.run, "");
        let split = outermost.events.len().saturating_sub(1);
        let (events, end) = outermost.events.split_at(split);
        let batch = |past: &PastRun, is_new: bool, events: &[Event]| EventBatch {
            run: past.run.clone(),
            token: token.clone(),
            after: None,
            new: is_new.then(|| past.as_new()),
            events: events.to_vec(),
        };
        let begun = store.append(batch(outermost, true, events));
        let _fence = owned.await?;
        begun.await?;
        for past in self.runs.iter().filter(|past| self.root(past) == Some(&outermost.run)) {
            store.append(batch(past, true, &past.events)).await?;
        }
        store.append(batch(outermost, false, end)).await?;
        Ok(())
    }

    /// Returns the outermost run around a nested one.
    fn root(&self, past: &PastRun) -> Option<&RunId> {
        let (outer, _) = past.parent.as_ref()?;
        let outer = self.runs.iter().find(|past| past.run == *outer)?;
        self.root(outer).or(Some(&outer.run))
    }
}

/// Returns the runs around a run.
fn outer_runs<'a>(runs: &'a BTreeMap<RunId, PastRun>, run: &RunId) -> impl Iterator<Item = &'a RunId> {
    let outer = |run: &RunId| runs.get(run)?.parent.as_ref().map(|(outer, _)| outer);
    std::iter::successors(outer(run), move |run| outer(run))
}

impl PastRun {
    /// Reads a run; `None`: it was forgotten.
    fn read(reader: &StoreReader, run: &RunId) -> Result<Option<Self>, StoreError> {
        let row = match reader.runs().get(run) {
            Ok(row) => row,
            Err(StoreError::UnknownRun(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Ok(plan) = PlanId::parse(&row.plan) else { return Ok(None) };
        let mut lookups = Vec::new();
        for step in reader.steps().of_run(run)? {
            let cache_parts = reader.cache().lookup(run, &step.step, step.item_key.as_deref())?;
            lookups.extend(cache_parts.map(|(hit, parts)| CacheLookup {
                run: run.clone(),
                task_id: TaskId { step: step.step, item: step.item },
                item_key: step.item_key,
                key: cache_key(&parts),
                hit,
                parts,
            }));
        }
        Ok(Some(Self {
            run: run.clone(),
            plan,
            path: row.path,
            params: row.params,
            parent: row.parent,
            sources: reader.sources().of_run(run)?,
            config: reader.runs().config(run)?,
            created: row.created,
            events: reader.events().of_run(run, 0)?.into_iter().map(|(_, event)| event).collect(),
            lookups,
        }))
    }

    fn as_new(&self) -> NewRun {
        NewRun {
            plan: self.plan.clone(),
            path: self.path.clone(),
            params: self.params.clone(),
            parent: self.parent.clone(),
            retry_of: None,
            session: None,
            sources: self.sources.clone(),
            created: self.created,
            config: self.config.clone(),
            claim: None,
        }
    }
}
