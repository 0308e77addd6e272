//! The part of the state of a workspace a run elsewhere may need.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use wf_base::name::{Name, SessionName};
use wf_core::memory::MemoryBundle;
use wf_exec::view::family;
use wf_model::{Plan, Step};
use wf_store::{CacheEntry, MegramSelection, StoreError, StoreReader};

use super::past_runs::PastRuns;
use crate::{
    memory,
    run::RunContext,
    session::{EngineError, EngineSession},
};

/// The number of cached results of a step that are carried, at most: the latest ones.
const RESULTS_OF_STEP: u32 = 50;

/// The part of the state of a workspace going with a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CarriedState {
    /// The session of the workspace the run belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionName>,
    /// All that memory knows, if the run may ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryBundle>,
    /// The record of the run it repeats.
    #[serde(default)]
    pub past: PastRuns,
    /// The cached results the run may find.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<CacheEntry>,
}

impl CarriedState {
    /// Reads the state a run may need.
    pub(crate) fn from_run(run: &RunContext) -> Result<Self, StoreError> {
        let (session, reader) = (&run.session, run.session.store.reader()?);
        let past = match &run.repeated_run {
            Some(past) => PastRuns::from_repeated(&session.store.log_reader()?, past)?,
            None => PastRuns::default(),
        };
        let mut carried = Self::of_plan(&run.plan, &reader, session.reuses)?;
        carried.results.extend(past.cached_results(&reader)?);
        Ok(Self { session: run.session_name.clone(), past, ..carried })
    }

    /// Reads what the runs of a plan may need, whichever they are; `reuses`: they find cached results.
    pub fn of_plan(plan: &Arc<Plan>, reader: &StoreReader, reuses: bool) -> Result<Self, StoreError> {
        let plans = family(plan);
        let memory = if plans.iter().any(|plan| memory::may_be_asked(plan)) {
            let megrams = reader.memory().megrams(&MegramSelection::All)?;
            Some(MemoryBundle { megrams, notes: reader.memory().notes()? })
        } else {
            None
        };
        let steps = plans.iter().flat_map(|plan| plan.steps()).flat_map(Step::ways);
        let cached = steps.filter(|step| reuses && step.cache.is_some());
        let cached: BTreeSet<&Name> = cached.map(|step| &step.id).collect();
        let results = cached.into_iter().map(|step| reader.cache().latest(step, RESULTS_OF_STEP));
        let entries: Vec<CacheEntry> = results.collect::<Result<Vec<_>, StoreError>>()?.concat();
        Ok(Self { session: None, memory, past: PastRuns::default(), results: entries })
    }

    /// Returns the paths of the files that results of the repeated run are compared with, and those they restore.
    pub(super) fn past_files(&self) -> BTreeSet<String> {
        let mut files = self.past.files();
        let keys = self.past.cache_keys();
        let results = self.results.iter().filter(|entry| keys.contains(&entry.key));
        files.extend(results.flat_map(|entry| &entry.files).map(|file| file.path.clone()));
        files
    }

    /// Makes it part of another state, except for the cached results.
    pub async fn take_in(&self, session: &EngineSession) -> Result<(), EngineError> {
        if let Some(name) = &self.session {
            session.store.sessions().begin(name, session.clock.now()).await?;
        }
        if let Some(memory) = &self.memory {
            session.store.memory().import(memory.clone()).await?;
        }
        self.past.take_in(session).await
    }
}
