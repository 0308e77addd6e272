use std::fs::File;

use crate::{CliExitCode, CommandError, StateReader};
use wf_base::name::RunId;
use wf_engine::artifacts_of_run;
use wf_store::{BlobStore, StoreDurability};

/// Opens the content of an artifact of a run, by its path.
pub fn open_artifact(state: &StateReader, run: &RunId, path: &str) -> Result<File, CommandError> {
    let reader = state.store();
    let rows = artifacts_of_run(reader, run)?;
    let Some(row) = rows.iter().rfind(|row| row.artifact.path == path) else {
        let error = CommandError::new(CliExitCode::Usage, format!("the run has no artifact `{path}`"));
        let paths: Vec<&str> = rows.iter().map(|row| row.artifact.path.as_str()).collect();
        return Err(match paths.as_slice() {
            [] => error.hint("it has no artifacts"),
            _ => error.hint(format!("its artifacts are {}", paths.join(", "))),
        });
    };
    if !reader.pruned_artifacts([row.artifact.digest])?.is_empty() {
        let message =
            format!("`{path}` of run {} was removed by `retention`; its record is kept", run.short());
        let hint = "run the plan again to make it anew; `max_artifact_bytes` in wf.yaml says how much stays";
        return Err(CommandError::new(CliExitCode::State, message).hint(hint));
    }
    let blobs = BlobStore::new(reader.folder().blobs(), StoreDurability::Normal);
    Ok(blobs.open(&row.artifact.digest)?)
}
