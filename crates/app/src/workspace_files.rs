use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use crate::{CliExitCode, CommandError, Workspace, git::GitRepository};
use wf_exec::HostEnv;

/// Returns the own files of a workspace, relative to its root: those git tracks, and new ones it
/// does not ignore. `None`: it is in no repository, and all files belong to it.
pub fn workspace_files(workspace: &Workspace, host: &HostEnv) -> Result<Option<Vec<PathBuf>>, CommandError> {
    let failed = |error: crate::git::GitError| {
        CommandError::new(CliExitCode::Usage, error.to_string()).hint(error.remedy())
    };
    let Some(repository) = GitRepository::find(&workspace.root, &workspace.state, host).map_err(failed)?
    else {
        return Ok(None);
    };
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = repository.answer(&args).map_err(failed)?;
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(Some(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()))
}
