use std::sync::Arc;

use super::run::Ongoing;
use crate::exec::{Unable, files};
use crate::machine::Artifact;
use crate::model::Step;

/// Puts the files away that a step leaves; none that a secret can be read from.
pub(super) async fn put_away(run: &Arc<Ongoing>, step: &Step) -> Result<Vec<Artifact>, Unable> {
    let (run, globs) = (Arc::clone(run), step.artifacts.clone());
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
