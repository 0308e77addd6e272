use std::{
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use crate::{CliExitCode, CommandError};
use wf_base::name::RunId;
use wf_store::{StoreReader, create_in, open_regular, own_file};

/// An exclusive lock on a file; it is released when this is dropped, and by the system when the
/// process dies.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

/// The lock file of the leader, which decides about scheduled times.
pub const LEADER_LOCK: &str = "leader.lock";

/// The folder of these files, in the state folder.
const LOCK_DIR: &str = "goals";

/// Another process has the lock.
#[derive(Debug)]
pub struct FileLockBusy;

impl FileLock {
    /// Locks a file of the state folder, if it is free.
    pub fn try_lock(state: &Path, name: &str) -> Result<Result<Self, FileLockBusy>, CommandError> {
        let (file, path) = open(state, name)?;
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self { file, path })),
            Err(TryLockError::WouldBlock) => Ok(Err(FileLockBusy)),
            Err(TryLockError::Error(error)) => Err(lock_error("lock", &path, &error)),
        }
    }

    /// Locks a file of the state folder; waits until it is free.
    pub fn lock_blocking(state: &Path, name: &str) -> Result<Self, CommandError> {
        let (file, path) = open(state, name)?;
        match file.lock() {
            Ok(()) => Ok(Self { file, path }),
            Err(error) => Err(lock_error("lock", &path, &error)),
        }
    }

    /// True if a process has locked a file of the state folder. Nothing is created.
    pub fn is_locked(state: &Path, name: &str) -> bool {
        let file = open_regular(&state.join(LOCK_DIR).join(name));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Releases the lock and removes its file, which is not needed any more.
    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
        drop(self.file);
    }
}

/// Removes the locks of reconciliations that never started, because their processes died just before.
pub fn remove_stale_locks(state: &Path, reader: &StoreReader) -> Result<(), CommandError> {
    let files = fs::read_dir(state.join(LOCK_DIR)).into_iter().flatten();
    for file in files.flatten() {
        let name = file.file_name().display().to_string();
        let Some(run) = name.strip_suffix(".lock") else {
            continue;
        };
        let is_run = run.len() == 32 && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_run
            && let Ok(hold) = FileLock::try_lock(state, &name)?
            && !is_live(reader, run)?
        {
            hold.remove();
        }
    }
    Ok(())
}

fn is_live(reader: &StoreReader, run: &str) -> Result<bool, CommandError> {
    let cycle = reader.reconciliations().find(&RunId::from_stored(run))?;
    Ok(cycle.is_some_and(|cycle| cycle.ended.is_none()))
}

fn open(state: &Path, name: &str) -> Result<(File, PathBuf), CommandError> {
    let dir = state.join(LOCK_DIR);
    let path = dir.join(name);
    let workspace = state.parent().unwrap_or(state);
    create_in(workspace, &dir, 0o777).map_err(|error| lock_error("create", &dir, &error))?;
    let file = open_lock(&path).map_err(|error| lock_error("open", &path, &error))?;
    Ok((file, path))
}

/// Opens the file of a lock, which is created if there is none. A pipe in its place is refused, and not waited for.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    own_file(path)?;
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let file = File::options().create(true).append(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

fn lock_error(doing: &str, path: &Path, error: &io::Error) -> CommandError {
    let message = format!("cannot {doing} {}: {error}", path.display());
    CommandError::new(CliExitCode::State, message)
}

#[cfg(test)]
mod tests {
    use super::{FileLock, remove_stale_locks};
    use std::sync::Arc;
    use wf_base::time::SystemClock;
    use wf_store::{Store, StoreDurability};

    #[test]
    fn one_at_a_time_has_a_file_and_what_nobody_needs_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), StoreDurability::Normal, Arc::new(SystemClock)).unwrap();
        let [one, two] = ["1".repeat(32) + ".lock", "2".repeat(32) + ".lock"];
        let lock = FileLock::try_lock(dir.path(), &one).unwrap().unwrap();
        assert!(FileLock::try_lock(dir.path(), &one).unwrap().is_err());
        drop(FileLock::lock_blocking(dir.path(), &two).unwrap());
        drop(FileLock::lock_blocking(dir.path(), "leader.lock").unwrap());
        remove_stale_locks(dir.path(), &store.reader().unwrap()).unwrap();
        let is_there = |name: &str| dir.path().join("goals").join(name).exists();
        assert!(is_there(&one) && !is_there(&two) && is_there("leader.lock"));
        let is_held = |name: &str| FileLock::is_locked(dir.path(), name);
        assert!(is_held(&one) && !is_held("leader.lock") && !is_held(&two) && !is_there(&two));
        lock.remove();
        assert!(!is_there(&one));
    }
}
