//! Reads and writes `skills.lock`.

use std::io;

use super::put::replace;
use crate::cli::{Exit, Failure, Workspace};
use crate::skill::lock::{LOCK, Lock};

/// The largest lock file, in bytes.
const LARGEST: u64 = 64 << 20;

/// The lock of a workspace; without a file it has none.
pub fn read(workspace: &Workspace) -> Result<Lock, Failure> {
    let path = workspace.root.join(LOCK);
    let wrong = |why: String| {
        let hint = format!(
            "restore it from git, or remove it and lock every skill anew: wf skill lock NAME ({LOCK} is written by wf alone)"
        );
        Failure::new(Exit::Approval, why).hint(hint)
    };
    match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lock::default()),
        Ok(data) if !data.is_file() => return Err(wrong(format!("{LOCK} is not a file"))),
        Ok(data) if data.len() > LARGEST => return Err(wrong(format!("{LOCK} is too large"))),
        _ => {}
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| wrong(format!("{LOCK} cannot be read: {error}")))?;
    Lock::parse(&text).map_err(|bad| wrong(bad.to_string()))
}

/// Writes the lock of a workspace.
pub fn write(workspace: &Workspace, lock: &Lock) -> Result<(), Failure> {
    replace(&workspace.root.join(LOCK), &lock.text())
        .map_err(|error| Failure::new(Exit::State, format!("{LOCK} cannot be written: {error}")))
}
