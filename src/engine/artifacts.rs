use std::sync::Arc;

use super::run::Ongoing;
use super::scope::Known;
use crate::exec::{Unable, files};
use crate::expr::EvalError;
use crate::machine::Artifact;
use crate::model::Step;

/// The globs of the files that a step leaves, as a place means them.
pub(super) fn globs(step: &Step, known: &Known<'_>) -> Result<Vec<String>, Unable> {
    let globs = step.artifacts.iter().map(|glob| files::glob(glob, known));
    let globs: Result<Vec<String>, EvalError> = globs.collect();
    globs.map_err(|error| Unable::logical(error.to_string()))
}

/// Puts the files away that globs mean; none that a secret can be read from.
pub(super) async fn put_away(
    run: &Arc<Ongoing>,
    globs: Vec<String>,
) -> Result<Vec<Artifact>, Unable> {
    let run = Arc::clone(run);
    let mask = run.mask().await;
    let collect = move || {
        let blobs = run.session.store.blobs();
        files::artifacts(&run.session.root, &globs, &mask, |path| {
            blobs.put_file(path)
        })
    };
    match tokio::task::spawn_blocking(collect).await {
        Ok(found) => found,
        Err(_) => Err(Unable::environmental(
            "the artifacts could not be collected",
        )),
    }
}
