//! Reads and writes `skills.lock`.

use std::io;

use super::put::replace_file;
use crate::{CliExitCode, CommandError, Workspace};
use wf_base::remedy::{Remedy, UserAction};
use wf_skill::lock::{LOCK, SkillLock};

/// The largest lock file, in bytes.
const MAX_LOCK_SIZE: u64 = 64 << 20;

/// The lock of a workspace; without a file it has none.
pub fn read_lock(workspace: &Workspace) -> Result<SkillLock, CommandError> {
    let path = workspace.root.join(LOCK);
    let wrong = |reason: String| {
        let remedy = Remedy::from("restore it from git, or remove it and lock every skill again: ")
            .action(UserAction::LockSomeSkill)
            .text(format!(" (only wf writes {LOCK})"));
        CommandError::new(CliExitCode::Approval, reason).hint(remedy)
    };
    match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SkillLock::default()),
        Ok(data) if !data.is_file() => return Err(wrong(format!("{LOCK} is not a file"))),
        Ok(data) if data.len() > MAX_LOCK_SIZE => {
            return Err(wrong(format!("{LOCK} is too large")));
        }
        _ => {}
    }
    let text =
        std::fs::read_to_string(&path).map_err(|error| wrong(format!("cannot read {LOCK}: {error}")))?;
    SkillLock::parse(&text).map_err(|error| wrong(error.to_string()))
}

/// Writes the lock of a workspace.
pub fn write_lock(workspace: &Workspace, lock: &SkillLock) -> Result<(), CommandError> {
    replace_file(&workspace.root.join(LOCK), &lock.text())
        .map_err(|error| CommandError::new(CliExitCode::State, format!("cannot write {LOCK}: {error}")))
}

/// The failure for a skill without a lock.
pub fn not_locked(name: &str) -> CommandError {
    let message = format!("the skill `{}` is not locked", name.escape_debug());
    CommandError::new(CliExitCode::Usage, message).remedy("for the locked skills: ", UserAction::ListLocks)
}
