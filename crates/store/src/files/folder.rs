use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use wf_base::failpoint;
use wf_base::name::{RunId, SessionName};

/// The state folder and the paths in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder(PathBuf);

impl StateFolder {
    /// Takes the path of a state folder, which need not exist.
    pub fn new(dir: &Path) -> Self {
        Self(dir.to_path_buf())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("state.db")
    }

    /// Holds back whoever prunes, or makes a backup, until the file is dropped; `None`: somebody does so already.
    pub fn try_lock_pruning(&self) -> Option<File> {
        try_lock_schema(self)
    }

    /// Returns the path of the mark of the log's last event.
    pub(crate) fn mark(&self) -> PathBuf {
        self.0.join("state.mark")
    }

    /// Returns the folder of the copies of the database from before upgrades.
    pub(crate) fn upgrades(&self) -> PathBuf {
        self.0.join("upgrades")
    }

    /// Returns the folder of the files stored under their digests.
    pub fn blobs(&self) -> PathBuf {
        self.0.join("blobs")
    }

    /// Returns the folder of the supervisors, whose processes outlive an engine.
    pub fn keepers(&self) -> PathBuf {
        self.0.join("keepers")
    }

    /// Returns the folder of a run's logs and output files.
    pub fn run(&self, run: &RunId) -> PathBuf {
        self.runs().join(run.as_str())
    }

    pub fn runs(&self) -> PathBuf {
        self.0.join("runs")
    }

    /// Returns the folder in which each check writing a test report gets one of its own while it runs.
    pub fn reports(&self) -> PathBuf {
        self.0.join("reports")
    }

    /// Returns the folder of the bodies the agents of a run sent and received.
    pub fn calls(&self, run: &RunId) -> PathBuf {
        self.run(run).join("calls")
    }

    /// Returns the folder of the recorded exchanges of a run, and of those nested in it, with models.
    pub fn exchanges(&self, run: &RunId) -> PathBuf {
        self.run(run).join("exchanges")
    }

    /// Returns the folder of the conversations agents continue in a session, or outside of all sessions.
    pub fn conversations(&self, session: Option<&SessionName>) -> PathBuf {
        match session {
            Some(session) => self.0.join("sessions").join(session.as_str()).join("conversations"),
            None => self.0.join("conversations"),
        }
    }

    /// Returns the folder of the turns a run on a backend, and those nested in it, add to conversations.
    pub fn carried_conversations(&self, run: &RunId) -> PathBuf {
        self.run(run).join("conversations")
    }

    /// Returns the folder of the requests for plans, which are no runs.
    pub fn planning(&self) -> PathBuf {
        self.0.join("planning")
    }

    pub fn create_run(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let path = self.run(run);
        create(&path)?;
        Ok(path)
    }

    /// Fails, before anything is started, if the folder exists and may not be written.
    pub fn may_be_written(&self) -> Result<(), StoreError> {
        use rustix::fs::{Access, access};
        if self.0.exists() && access(&self.0, Access::WRITE_OK).is_err() {
            return Err(StoreError::ReadOnly(self.0.clone()));
        }
        Ok(())
    }

    /// Creates the folder, and excludes it from version control.
    pub fn create(&self) -> Result<(), StoreError> {
        create_private(&self.0)?;
        let ignore = self.0.join(".gitignore");
        // An empty file is left behind by a kill.
        if !ignore.metadata().is_ok_and(|file| file.len() > 0) {
            fs::write(&ignore, "*\n").map_err(|error| StoreError::io("write", &ignore, &error))?;
            failpoint::point("ignore.after");
        }
        Ok(())
    }
}

/// Creates a folder only its owner may enter: output, requests and answers in it are for nobody else. One that is there
/// stays as it is.
pub(crate) fn create_private(path: &Path) -> Result<(), StoreError> {
    failpoint::point("folder.before");
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(path).map_err(|error| StoreError::io("create", path, &error))?;
    failpoint::point("folder.after");
    Ok(())
}

fn create(path: &Path) -> Result<(), StoreError> {
    failpoint::point("folder.before");
    fs::create_dir_all(path).map_err(|error| StoreError::io("create", path, &error))?;
    failpoint::point("folder.after");
    Ok(())
}

/// Waits for the lock of the processes that change the schema. A file system without locks leaves
/// this to SQLite's own.
pub(crate) fn lock_schema(folder: &StateFolder) -> Option<File> {
    let file = File::open(folder.path()).ok()?;
    file.lock().ok()?;
    Some(file)
}

/// Takes the lock if it is free.
pub(crate) fn try_lock_schema(folder: &StateFolder) -> Option<File> {
    let file = File::open(folder.path()).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::StateFolder;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn nobody_else_may_enter_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = StateFolder::new(&place.path().join("state"));
        folder.create().unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
