use crate::{CliExitCode, CommandError, StateReader};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_engine::artifacts_of_run;
use wf_store::{ArtifactRow, BlobStore, ComparedFile, StoreDurability};

/// An artifact of a run, open for reading.
#[derive(Debug)]
pub struct OpenedArtifact {
    /// Its path, as it was recorded.
    pub path: String,
    pub file: ComparedFile,
}

/// Opens the content of an artifact of a run, by its path. A stored file that was modified is refused.
pub fn open_artifact(state: &StateReader, run: &RunId, path: &str) -> Result<ComparedFile, CommandError> {
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
) -> Result<Option<OpenedArtifact>, CommandError> {
    let rows = artifacts_of_run(state.store(), run)?;
    let row = rows.into_iter().find(|row| row.artifact.digest == *digest);
    let open =
        |row: ArtifactRow| Ok(OpenedArtifact { file: open_row(state, run, &row)?, path: row.artifact.path });
    row.map(open).transpose()
}

fn open_row(state: &StateReader, run: &RunId, row: &ArtifactRow) -> Result<ComparedFile, CommandError> {
    let (reader, path) = (state.store(), &row.artifact.path);
    if !reader.artifacts().pruned([row.artifact.digest])?.is_empty() {
        let message =
            format!("`{path}` of run {} was removed by `retention`; its record is kept", run.short());
        let hint = "run the plan again to make it anew; `max_artifact_bytes` in wf.yaml says how much stays";
        return Err(CommandError::new(CliExitCode::State, message).hint(hint));
    }
    let blobs = BlobStore::new(reader.folder().blobs(), StoreDurability::Normal);
    Ok(blobs.open_compared(&row.artifact.digest)?)
}
