use std::path::Path;

use serde_json::Value;

use super::{
    ArtifactRow, AttemptRow, CacheEntry, CheckRow, FindError, Owner, RunFilter, RunRow, StepRow,
    StoreError,
};
use crate::digest::Digest;
use crate::machine::Event;
use crate::name::{Name, PlanId, RunId};

/// A connection that only reads, while others write.
pub struct Reader;

impl Reader {
    /// Opens the state folder for reading. [`StoreError::NoState`] where there is none.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Err(StoreError::NoState(dir.into()))
    }

    /// The latest runs, newest first.
    pub fn runs(&self, limit: usize, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let _ = (limit, filter);
        Err(StoreError::Closed)
    }

    /// The run whose id begins with a prefix; nested runs too.
    pub fn find_run(&self, prefix: &str) -> Result<RunId, FindError> {
        let _ = prefix;
        Err(FindError::NoRuns)
    }

    /// The latest run that is not nested.
    pub fn last_run(&self) -> Result<RunId, FindError> {
        Err(FindError::NoRuns)
    }

    /// A run.
    pub fn run(&self, run: &RunId) -> Result<RunRow, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The configuration that a run was recorded with.
    pub fn config(&self, run: &RunId) -> Result<Value, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The process that works on a run, or did last; `None` once it gave the run back.
    pub fn owner(&self, run: &RunId) -> Result<Option<Owner>, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The steps of a run that something happened to, in the order in which it first did.
    pub fn steps(&self, run: &RunId) -> Result<Vec<StepRow>, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The attempts of a run, in the order in which they began.
    pub fn attempts(&self, run: &RunId) -> Result<Vec<AttemptRow>, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The rulings of a run, in order.
    pub fn checks(&self, run: &RunId) -> Result<Vec<CheckRow>, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The files that a run's attempts left.
    pub fn artifacts(&self, run: &RunId) -> Result<Vec<ArtifactRow>, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The events of a run after a number (0: all), with their numbers.
    pub fn events(&self, run: &RunId, after: u64) -> Result<Vec<(u64, Event)>, StoreError> {
        let _ = after;
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The texts that a run runs by: path and content, its own spec first.
    pub fn sources(&self, run: &RunId) -> Result<Vec<(String, String)>, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// The runs nested in a run, with the attempt that each is nested in.
    pub fn children(&self, run: &RunId) -> Result<Vec<(RunId, String)>, StoreError> {
        Err(StoreError::UnknownRun(run.clone()))
    }

    /// A kept result.
    pub fn cache_get(&self, key: &Digest) -> Result<Option<CacheEntry>, StoreError> {
        let _ = key;
        Err(StoreError::Closed)
    }

    /// What a place asked the cache in a run: whether it was a hit, and what the key was
    /// computed from.
    pub fn cache_parts(
        &self,
        run: &RunId,
        step: &Name,
        item_key: Option<&str>,
    ) -> Result<Option<(bool, Value)>, StoreError> {
        let _ = (run, step, item_key);
        Err(StoreError::Closed)
    }

    /// The latest run of a plan, before a run, in which a place asked the cache, and what its
    /// key was computed from then.
    pub fn last_cache_parts(
        &self,
        plan: &PlanId,
        step: &Name,
        item_key: Option<&str>,
        before: &RunId,
    ) -> Result<Option<(RunId, Value)>, StoreError> {
        let _ = (plan, step, item_key, before);
        Err(StoreError::Closed)
    }
}
