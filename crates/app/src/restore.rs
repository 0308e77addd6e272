//! The restore of a backup.

use std::fs;
use std::path::Path;

use crate::approve::ACCEPTANCE_SUFFIX;
use crate::daemon::already_led;
use crate::goals::{FileLock, LEADER_LOCK};
use crate::{Caller, CliExitCode, CommandError};
use wf_store::BackupManifest;

/// Replaces the state of the workspace with a backup, while no daemon decides by it. What a person accepted stays accepted:
/// it is signed, and about files that a restore does not change.
pub fn restore_backup(
    caller: &dyn Caller,
    file: &Path,
    replace: bool,
) -> Result<BackupManifest, CommandError> {
    let state = caller.host().workspace().state;
    let lead = if state.exists() { Some(FileLock::try_lock(&state, LEADER_LOCK)?) } else { None };
    if let Some(Err(_)) = lead {
        return Err(already_led(&state).hint("stop it, and start it again after the restore"));
    }
    let accepted = acceptances(&state);
    let restored = wf_audit::restore(file, &state, replace, caller.host().now())?;
    let folder = state.join("goals");
    let failed =
        |error| CommandError::new(CliExitCode::State, format!("cannot keep {}: {error}", folder.display()));
    fs::create_dir_all(&folder).map_err(failed)?;
    for (name, text) in accepted {
        fs::write(folder.join(name), text).map_err(failed)?;
    }
    Ok(restored)
}

/// Returns the acceptances of goals in a state, by the names of their files.
fn acceptances(state: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let files = fs::read_dir(state.join("goals")).into_iter().flatten().flatten();
    let accepted = files.filter(|file| file.file_name().to_string_lossy().ends_with(ACCEPTANCE_SUFFIX));
    accepted.filter_map(|file| Some((file.file_name(), fs::read(file.path()).ok()?))).collect()
}
