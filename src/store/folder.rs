use std::fs;
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::crash;
use crate::name::RunId;

/// The state folder and the places in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// Takes the path of a state folder, which need not exist.
    pub fn new(dir: &Path) -> Self {
        Self(dir.to_path_buf())
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.0.join("state.db")
    }

    /// How far the log is known to reach.
    pub(super) fn mark(&self) -> PathBuf {
        self.0.join("state.mark")
    }

    /// The files kept under their digests.
    pub fn blobs(&self) -> PathBuf {
        self.0.join("blobs")
    }

    /// Where the processes are known that outlive an engine.
    pub fn keepers(&self) -> PathBuf {
        self.0.join("keepers")
    }

    /// Where a run keeps its logs and output files.
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.0.join("runs").join(run.as_str())
    }

    /// Makes the folder of a run.
    pub fn create_run(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let path = self.run(run);
        create(&path)?;
        Ok(path)
    }

    /// Says, before anything is begun, that the folder is there and may not be written.
    pub fn may_be_written(&self) -> Result<(), StoreError> {
        use rustix::fs::{Access, access};
        if self.0.exists() && access(&self.0, Access::WRITE_OK).is_err() {
            return Err(StoreError::ReadOnly(self.0.clone()));
        }
        Ok(())
    }

    /// Makes the folder, and keeps version control out of it.
    pub fn create(&self) -> Result<(), StoreError> {
        create(&self.0)?;
        let ignore = self.0.join(".gitignore");
        // An empty one is what a kill left of it.
        if !ignore.metadata().is_ok_and(|file| file.len() > 0) {
            fs::write(&ignore, "*\n").map_err(|error| StoreError::io("write", &ignore, &error))?;
            crash::point("ignore.after");
        }
        Ok(())
    }
}

fn create(path: &Path) -> Result<(), StoreError> {
    crash::point("folder.before");
    fs::create_dir_all(path).map_err(|error| StoreError::io("create", path, &error))?;
    crash::point("folder.after");
    Ok(())
}
