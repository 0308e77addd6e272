use std::fs::File;

use crate::{CliExitCode, CommandError, StateReader};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_engine::artifacts_of_run;
use wf_store::{ArtifactRow, BlobStore, StoreDurability};

/// Opens the content of an artifact of a run, by its path.
pub fn open_artifact(state: &StateReader, run: &RunId, path: &str) -> Result<File, CommandError> {
    let rows = artifacts_of_run(state.store(), run)?;
    let Some(row) = rows.iter().rfind(|row| row.artifact.path == path) else {
        let error = CommandError::new(CliExitCode::Usage, format!("the run has no artifact `{path}`"));
        let paths: Vec<&str> = rows.iter().map(|row| row.artifact.path.as_str()).collect();
        return Err(match paths.as_slice() {
            [] => error.hint("it has no artifacts"),
            _ => error.hint(format!("its artifacts are {}", paths.join(", "))),
        });
    };
    open_row(state, run, row)
}

/// Opens the content of an artifact of a run, by its digest; `None`: the run has recorded none with that.
pub fn open_artifact_with(
    state: &StateReader,
    run: &RunId,
    digest: &Sha256Digest,
) -> Result<Option<File>, CommandError> {
    let rows = artifacts_of_run(state.store(), run)?;
    rows.iter().find(|row| row.artifact.digest == *digest).map(|row| open_row(state, run, row)).transpose()
}

fn open_row(state: &StateReader, run: &RunId, row: &ArtifactRow) -> Result<File, CommandError> {
    let (reader, path) = (state.store(), &row.artifact.path);
    if !reader.artifacts().pruned([row.artifact.digest])?.is_empty() {
        let message =
            format!("`{path}` of run {} was removed by `retention`; its record is kept", run.short());
        let hint = "run the plan again to make it anew; `max_artifact_bytes` in wf.yaml says how much stays";
        return Err(CommandError::new(CliExitCode::State, message).hint(hint));
    }
    let blobs = BlobStore::new(reader.folder().blobs(), StoreDurability::Normal);
    Ok(blobs.open(&row.artifact.digest)?)
}
