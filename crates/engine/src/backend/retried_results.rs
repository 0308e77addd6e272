//! The results of an earlier run a run elsewhere begins with.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use wf_core::machine::{DeselectedStep, DiscardedResult, InputKind, ReusedResult};
use wf_model::JsonObject;
use wf_store::{StoreError, StoreReader};

use crate::{
    files::recorded_results::{RecordedResults, reused_results},
    reuse::RepeatedRun,
};

/// The results of the run a run repeats, as decided where both are recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetriedResults {
    kept: Vec<ReusedResult>,
    left: Vec<DeselectedStep>,
    dropped: Vec<DiscardedResult>,
    /// The files the reused results are made of, as paths in the workspace.
    pub artifacts: BTreeSet<String>,
}

impl RetriedResults {
    /// Returns what a run takes from the run it repeats.
    pub(crate) fn from_repeated(
        reader: &StoreReader,
        repeated_run: &RepeatedRun,
        params: &JsonObject,
    ) -> Result<Self, StoreError> {
        let reused = reused_results(reader, repeated_run, params)?;
        let mut artifacts = BTreeSet::new();
        let mut results = RecordedResults::new(reader);
        for result in &reused {
            let left = results.of_reused(repeated_run, result)?.artifacts;
            artifacts.extend(left.into_iter().map(|artifact| artifact.path));
        }
        Ok(Self {
            kept: reused,
            left: repeated_run.deselected_steps(),
            dropped: repeated_run.dropped().to_vec(),
            artifacts,
        })
    }

    /// Adds them to the input the run begins with.
    pub fn add_to(&self, input: InputKind) -> InputKind {
        match input {
            InputKind::Begin { baseline, approved, advice, intent, .. } => InputKind::Begin {
                kept: self.kept.clone(),
                left: self.left.clone(),
                dropped: self.dropped.clone(),
                baseline,
                approved,
                advice,
                intent,
            },
            other => other,
        }
    }
}
