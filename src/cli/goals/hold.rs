use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::cli::{Exit, Failure};
use crate::name::RunId;
use crate::store::Reader;

/// A file that only one process has at a time; it is given back when this is dropped, and by the
/// system when the process dies.
#[derive(Debug)]
pub struct Hold {
    file: File,
    path: PathBuf,
}

/// The file of who decides about slots.
pub const LEADER: &str = "leader.lock";

/// Somebody else has it.
#[derive(Debug)]
pub struct Held;

impl Hold {
    /// Takes a file of the state folder, if nobody has it.
    pub fn attempt(state: &Path, name: &str) -> Result<Result<Self, Held>, Failure> {
        let (file, path) = open(state, name)?;
        match file.try_lock() {
            Ok(()) => Ok(Ok(Self { file, path })),
            Err(TryLockError::WouldBlock) => Ok(Err(Held)),
            Err(TryLockError::Error(error)) => Err(failed("lock", &path, &error)),
        }
    }

    /// Takes a file of the state folder; waits for whoever has it.
    pub fn wait(state: &Path, name: &str) -> Result<Self, Failure> {
        let (file, path) = open(state, name)?;
        match file.lock() {
            Ok(()) => Ok(Self { file, path }),
            Err(error) => Err(failed("lock", &path, &error)),
        }
    }

    /// Gives the file back and removes it: nobody needs it any more.
    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
        drop(self.file);
    }
}

/// Removes the locks of cycles that never began, because their processes died just before.
pub fn sweep(state: &Path, reader: &Reader) -> Result<(), Failure> {
    let files = fs::read_dir(state.join("goals")).into_iter().flatten();
    for file in files.flatten() {
        let name = file.file_name().display().to_string();
        let Some(run) = name.strip_suffix(".lock") else {
            continue;
        };
        let is_run = run.len() == 32 && run.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_run
            && let Ok(hold) = Hold::attempt(state, &name)?
            && !is_live(reader, run)?
        {
            hold.remove();
        }
    }
    Ok(())
}

fn is_live(reader: &Reader, run: &str) -> Result<bool, Failure> {
    let cycle = reader.cycle(&RunId::from_stored(run))?;
    Ok(cycle.is_some_and(|cycle| cycle.ended.is_none()))
}

fn open(state: &Path, name: &str) -> Result<(File, PathBuf), Failure> {
    let dir = state.join("goals");
    let path = dir.join(name);
    fs::create_dir_all(&dir).map_err(|error| failed("make", &dir, &error))?;
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.map_err(|error| failed("open", &path, &error))?;
    Ok((file, path))
}

fn failed(doing: &str, path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot {doing} {}: {error}", path.display());
    Failure::new(Exit::State, message)
}

#[cfg(test)]
mod tests {
    use super::{Hold, sweep};
    use crate::store::{Durability, Store};
    use crate::time::SystemClock;
    use std::sync::Arc;

    #[test]
    fn one_at_a_time_has_a_file_and_what_nobody_needs_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Durability::Normal, Arc::new(SystemClock)).unwrap();
        let [one, two] = ["1".repeat(32) + ".lock", "2".repeat(32) + ".lock"];
        let held = Hold::attempt(dir.path(), &one).unwrap().unwrap();
        assert!(Hold::attempt(dir.path(), &one).unwrap().is_err());
        drop(Hold::wait(dir.path(), &two).unwrap());
        drop(Hold::wait(dir.path(), "leader.lock").unwrap());
        sweep(dir.path(), &store.reader().unwrap()).unwrap();
        let is_there = |name: &str| dir.path().join("goals").join(name).exists();
        assert!(is_there(&one) && !is_there(&two) && is_there("leader.lock"));
        held.remove();
        assert!(!is_there(&one));
    }
}
