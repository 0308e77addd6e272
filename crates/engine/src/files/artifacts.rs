//! The artifacts of an attempt: they are found, stored and copied.

use std::sync::Arc;

use super::copies;
use crate::run::RunContext;
use crate::run::scope::TemplateValues;
use wf_core::machine::{Artifact, Attempt, CachedFile};
use wf_exec::{WorkError, files};
use wf_model::Step;
use wf_model::expr::EvalError;

/// Returns the globs of the files a step leaves, rendered for a task.
pub(crate) fn globs(step: &Step, values: &TemplateValues<'_>) -> Result<Vec<String>, WorkError> {
    let globs = step.artifacts.iter().map(|glob| files::glob(glob, values));
    let globs: Result<Vec<String>, EvalError> = globs.collect();
    globs.map_err(|error| WorkError::logical(error.to_string()))
}

/// Stores the files of a task matching globs, except those revealing a secret.
pub(crate) async fn store_artifacts(
    run: &Arc<RunContext>,
    attempt: &Attempt,
    globs: Vec<String>,
) -> Result<Vec<Artifact>, WorkError> {
    let (run, attempt) = (Arc::clone(run), attempt.clone());
    let mask = run.mask().await;
    let collect = move || {
        let blobs = run.session.store.blobs();
        let found = files::artifacts(&run.folder_of(&attempt), &globs, &mask, |path| blobs.put_file(path))?;
        copies::keep(&run, &attempt, &found)?;
        let artifact = |file: CachedFile| Artifact {
            path: file.path,
            digest: file.digest,
            size: file.size,
            released_by: None,
        };
        Ok(found.into_iter().map(artifact).collect())
    };
    match tokio::task::spawn_blocking(collect).await {
        Ok(found) => found,
        Err(_) => Err(WorkError::environmental("cannot collect the artifacts")),
    }
}
