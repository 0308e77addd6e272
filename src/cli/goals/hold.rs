use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::cli::{Exit, Failure};

/// A file that only one process has at a time; it is given back when this is dropped, and by the
/// system when the process dies.
#[derive(Debug)]
pub struct Hold {
    file: File,
    path: PathBuf,
}

/// The file of who decides about slots.
pub const LEADER: &str = "leader.lock";

/// The folder of these files, in the state folder.
const DIR: &str = "goals";

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

    /// Whether somebody has a file of the state folder. Nothing is made.
    pub fn is_held(state: &Path, name: &str) -> bool {
        let file = File::open(state.join(DIR).join(name));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Gives the file back and removes it: nobody needs it any more.
    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
        drop(self.file);
    }
}

fn open(state: &Path, name: &str) -> Result<(File, PathBuf), Failure> {
    let dir = state.join(DIR);
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
