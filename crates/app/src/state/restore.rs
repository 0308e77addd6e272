//! The restore of a backup.

use std::path::Path;

use super::{
    backup::BackupContent,
    file_lock::{FileLock, LEADER_LOCK},
};
use crate::{Caller, CommandError, daemon::already_led};

/// Replaces the state of the workspace with a backup, while no daemon decides by it.
pub fn restore_backup(
    caller: &dyn Caller,
    file: &Path,
    replace: bool,
) -> Result<BackupContent, CommandError> {
    let state = caller.host().workspace().state;
    let lead = if state.exists() { Some(FileLock::try_lock(&state, LEADER_LOCK)?) } else { None };
    if let Some(Err(_)) = lead {
        return Err(already_led(&state).hint("stop it, and start it again after the restore"));
    }
    Ok(wf_audit::restore(file, &state, replace, caller.host().now())?.into())
}
