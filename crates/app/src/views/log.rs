use serde::Serialize;

use crate::{CliExitCode, CommandError};
use wf_base::name::RunId;
use wf_core::machine::Attempt;
use wf_exec::log;
use wf_store::StoreReader;

/// The most lines of a tail.
const MAX_LINES: usize = 2_000;

/// The end of the output of an attempt.
#[derive(Debug, Serialize)]
pub struct LogTailView {
    /// The number of the attempt.
    pub attempt: u32,
    /// Its last lines; empty if it wrote none.
    pub text: String,
}

/// Returns the end of the output of an attempt.
pub(super) fn log_tail(
    reader: &StoreReader,
    run: &RunId,
    attempt: &Attempt,
) -> Result<LogTailView, CommandError> {
    let path = log::path(&reader.folder().run(run), attempt);
    let text = log::tail(&path, MAX_LINES).map_err(|error| {
        CommandError::new(CliExitCode::State, format!("cannot read the log {}: {error}", path.display()))
    })?;
    Ok(LogTailView { attempt: attempt.attempt, text })
}
