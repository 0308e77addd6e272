//! The backup of the state.

use std::path::Path;

use super::logs::damaged_logs_of_newest;
use crate::{Caller, CliExitCode, CommandError, relative_path, watch};
use wf_base::{
    remedy::{Remedy, UserAction},
    time::Moment,
    units::plural,
    untrusted::{WARN, paint},
};
use wf_store::{
    BackupManifest, StoreReader, backup,
    feed::{LogAnchor, WorkspaceAction},
};

/// The content of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupContent {
    /// The number of events in its log.
    pub events: u64,
    /// The number of files.
    pub files: u64,
    /// The time at which it was made.
    pub created: Moment,
    /// False if another version of wf wrote the state: it was copied as it is.
    pub is_verified: bool,
}

impl From<BackupManifest> for BackupContent {
    fn from(manifest: BackupManifest) -> Self {
        Self {
            events: manifest.events,
            files: manifest.files,
            created: manifest.created,
            is_verified: manifest.verified,
        }
    }
}

/// Writes a backup of the state of the workspace to a file, which may be replaced if so requested.
pub fn back_up(caller: &dyn Caller, file: &Path, replace: bool) -> Result<BackupContent, CommandError> {
    let state = caller.host().workspace().state;
    keep_intact_logs(caller, &state, file)?;
    let manifest = backup(&state, file, replace, caller.host().now())?;
    let end = LogAnchor { seq: manifest.events, hash: manifest.head };
    watch::record_quietly(caller, WorkspaceAction::BackedUp { end });
    Ok(manifest.into())
}

/// Refuses to replace a backup while logs are damaged: it may have them whole. Another file may have the state as it is.
fn keep_intact_logs(caller: &dyn Caller, state: &Path, file: &Path) -> Result<(), CommandError> {
    // A state that cannot be opened is copied unverified.
    let Ok(reader) = StoreReader::open(state) else { return Ok(()) };
    let damaged = damaged_logs_of_newest(&reader, usize::MAX)?;
    let Some(first) = damaged.first() else { return Ok(()) };
    let more = match damaged.len() {
        1 => String::new(),
        count => format!(", and {} more", plural(count - 1, "log")),
    };
    if !file.exists() {
        caller.message(&format!(
            "{} {first}{more}: the backup has them as they are\n",
            paint(WARN, "warning:")
        ));
        return Ok(());
    }
    let shown = relative_path(file, caller.host().cwd());
    let message = format!("{first}{more}; {shown} may have what is missing, and is not replaced");
    Err(CommandError::new(CliExitCode::State, message).hint(
        Remedy::from("`")
            .action(UserAction::ExamineEverything)
            .text("` names all; back up to another file, or restore this one"),
    ))
}
