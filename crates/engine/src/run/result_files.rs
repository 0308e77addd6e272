//! The files of the results of a run, as far as they are known: the outputs of attempts, the evidence of tasks, and the
//! copies of both.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard, PoisonError},
};

use wf_base::{digest::Sha256Digest, name::Name};
use wf_core::machine::{Artifact, Attempt, StaleFile, StepItem, TaskId};
use wf_store::StoreError;

use super::{
    attempt_task::step_of,
    context::RunContext,
    declarations::{Declarations, SharedFiles},
    evidence_record::EvidenceRecord,
};

/// The folder of the copies in that of a run.
pub(crate) const FOLDER: &str = "kept";

/// The known files of results.
#[derive(Default)]
pub(crate) struct ResultFiles {
    /// The stored files an attempt left.
    pub(super) outputs: BTreeMap<Attempt, Vec<Artifact>>,
    /// The evidence of tasks.
    pub(super) evidence: EvidenceRecord,
    /// The changed files of verified results, still to be reported.
    pub(super) stale: Vec<StaleFile>,
    /// The verified files of what a nested run's step depends on.
    pub(super) inherited_files: Vec<KeptFile>,
    /// The copies not shown any more.
    pub(super) released: BTreeSet<PathBuf>,
    /// The products the steps declare.
    pub(crate) declarations: Option<Arc<Declarations>>,
    /// The lists of repeated steps.
    pub(crate) items: BTreeMap<Name, Vec<StepItem>>,
    /// The files several items of a step name.
    pub(crate) shared: BTreeMap<Name, Arc<SharedFiles>>,
}

/// A file a task was verified with, and that is stored.
#[derive(Clone, Debug)]
pub(crate) struct KeptFile {
    /// The step of the task.
    pub(crate) step: Name,
    pub(crate) path: String,
    pub(crate) digest: Sha256Digest,
    pub(crate) copy: PathBuf,
    /// True if the asker depends on the step directly.
    pub(crate) is_direct: bool,
}

impl KeptFile {
    /// Returns its path in the workspace.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl RunContext {
    pub(crate) fn files(&self) -> MutexGuard<'_, ResultFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the files an attempt left, for when it is checked.
    pub(crate) fn note_outputs(&self, attempt: &Attempt, artifacts: &[Artifact]) {
        self.files().outputs.insert(attempt.clone(), artifacts.to_vec());
    }

    /// Returns the stored files an attempt left. A result from the cache left none.
    pub(crate) fn outputs_of(&self, attempt: &Attempt) -> Result<Vec<Artifact>, StoreError> {
        if let Some(left) = self.files().outputs.remove(attempt) {
            return Ok(left);
        }
        let step = step_of(self, &attempt.task_id);
        if attempt.attempt == 0 || step.artifacts.is_empty() {
            return Ok(Vec::new());
        }
        // It ended under an earlier engine.
        let artifacts = self.session.store.log_reader()?.artifacts().of_run(&self.run_ref.id)?.into_iter();
        let of_it = artifacts.filter(|row| {
            let place = &attempt.task_id;
            (&row.step, row.item, row.attempt) == (&place.step, place.item, attempt.attempt)
        });
        Ok(of_it.map(|row| row.artifact).collect())
    }

    /// Notes that a file of a verified result has changed.
    pub(crate) fn note_stale(&self, stale: StaleFile) {
        self.files().stale.push(stale);
    }

    /// Takes the changed files noted so far.
    pub(crate) fn take_stale(&self) -> Vec<StaleFile> {
        std::mem::take(&mut self.files().stale)
    }

    /// Notes the files a task was checked with.
    pub(crate) fn note_evidence(&self, task_id: &TaskId, artifacts: &[Artifact]) {
        let mut files = self.files();
        let copies = folder(self, task_id);
        files.released.retain(|copy| !copy.starts_with(&copies));
        files.evidence.record_artifacts(task_id, artifacts);
    }

    /// Returns the files that all its tasks were checked with, and that are there: those that
    /// `finally` steps cleaned up mean nothing any more.
    pub(crate) fn evidence_files(&self) -> Vec<Artifact> {
        let files = self.files();
        let mut artifacts: Vec<&Artifact> = files.evidence.tasks().values().flatten().collect();
        // Of two that have a file, the one that nobody releases counts.
        artifacts.sort_by_key(|file| !file.is_product());
        let there = artifacts.into_iter().filter(|file| self.session.root.join(&file.path).exists());
        let by_path = there.map(|file| (file.path.clone(), file.clone()));
        let by_path: BTreeMap<String, Artifact> = by_path.collect();
        by_path.into_values().collect()
    }

    /// Returns the files a task was checked with.
    pub(crate) fn evidence_of(&self, task_id: &TaskId) -> Option<Vec<Artifact>> {
        self.files().evidence.tasks().get(task_id).cloned()
    }

    /// Returns the files its tasks were checked with.
    pub(crate) fn all_evidence(&self) -> BTreeMap<TaskId, Vec<Artifact>> {
        self.files().evidence.tasks().clone()
    }

    /// Notes the verified files of what the step of this nested run depends on.
    pub(crate) fn inherit(&self, files: Vec<KeptFile>) {
        self.files().inherited_files = files;
    }

    /// Returns the verified files of what the step of this nested run depends on.
    pub(crate) fn inherited_files(&self) -> Vec<KeptFile> {
        self.files().inherited_files.clone()
    }

    /// Notes the end of the use of a copy.
    pub(crate) fn release(&self, copy: PathBuf) {
        self.files().released.insert(copy);
    }

    /// True if a copy is not shown any more.
    pub(crate) fn is_released(&self, copy: &Path) -> bool {
        self.files().released.contains(copy)
    }

    /// Returns the tasks of some steps checked with files.
    pub(crate) fn tasks_with_evidence<'a>(&self, steps: impl Iterator<Item = &'a Name>) -> Vec<TaskId> {
        let files = self.files();
        if files.evidence.tasks().is_empty() {
            return Vec::new();
        }
        let steps: Vec<&Name> = steps.collect();
        let places = files.evidence.tasks().keys();
        places.filter(|place| steps.contains(&&place.step)).cloned().collect()
    }
}

/// Returns the folder of the copies of what a task left.
pub(crate) fn folder(run: &RunContext, task_id: &TaskId) -> PathBuf {
    run.dir.join(FOLDER).join(task_id.to_string())
}
