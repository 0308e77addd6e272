use std::{
    fmt, fs,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, FileTypeExt, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use wf_base::{
    failpoint,
    name::{RunId, SessionName},
    time::Moment,
};

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
        create_in(self.workspace(), &path, 0o777).map_err(|error| StoreError::io("create", &path, &error))?;
        Ok(path)
    }

    /// Returns the folder that it is in.
    pub(crate) fn workspace(&self) -> &Path {
        self.0.parent().unwrap_or(&self.0)
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

/// Creates a folder and those above it, up to the workspace, which must be there: one that was moved or removed while it was in
/// use gets no new state in its place. What is there stays as it is.
pub fn create_in(workspace: &Path, folder: &Path, mode: u32) -> io::Result<()> {
    failpoint::point("folder.before");
    if !workspace.as_os_str().is_empty() && !workspace.is_dir() {
        let message = format!("the workspace {} was moved or removed", workspace.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    fs::DirBuilder::new().recursive(true).mode(mode).create(folder)?;
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

/// A path of the state holding something other than a regular file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTypeError {
    pub path: PathBuf,
    pub kind: &'static str,
}

impl fmt::Display for FileTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, kind } = self;
        write!(f, "{} is {kind}, expected a regular file", path.display())
    }
}

impl std::error::Error for FileTypeError {}

/// Opens a file a person names, for reading. Anything but a regular file is refused, and nothing is waited for:
/// opening a pipe blocks until its other end is opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Refuses a pipe, a link, a folder or a device in the place of a state file, before it is opened:
/// opening a pipe blocks until its other end is opened, and a link leads elsewhere.
pub fn own_file(path: &Path) -> io::Result<()> {
    let kind = match path.symlink_metadata() {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let kind = if kind.is_file() {
        return Ok(());
    } else if kind.is_symlink() {
        "a link"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    let path = path.to_path_buf();
    Err(io::Error::other(FileTypeError { path, kind }))
}

/// The failures an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreDurability {
    /// A loss of power.
    #[default]
    Full,
    /// A kill of the program; not a loss of power.
    Normal,
}

impl StoreDurability {
    /// Returns the word in `wf.yaml` and in the record of a run.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

/// The limits beyond which runs are pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRetention {
    /// The age, since its end, beyond which a run is pruned.
    pub max_age: Option<Duration>,
    /// The number of ended runs kept; nested runs are kept and pruned with the outer run.
    pub max_runs: Option<usize>,
    /// The size of the stored files beyond which those of the oldest runs are removed, in bytes.
    pub max_artifact_bytes: Option<u64>,
}

impl RunRetention {
    /// Returns the limits with the age counted to the end of another run, if that was earlier than now: one run of a machine
    /// whose clock is wrong, or the first one after a long pause, prunes nothing for its age.
    #[must_use]
    pub fn counted_to(self, end: Option<Moment>, now: Moment) -> Self {
        let more = end.map_or(Duration::ZERO, |end| now.since(end));
        Self { max_age: self.max_age.map(|age| age.saturating_add(more)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{StateFolder, create_in};
    use wf_base::name::RunId;

    #[test]
    fn a_workspace_that_is_gone_gets_no_new_state() {
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("lab");
        let folder = StateFolder::new(&workspace.join(".wf"));
        let run = RunId::from_bytes([1; 16]);
        let refused = folder.create_run(&run).unwrap_err().to_string();
        assert!(refused.contains("/lab was moved or removed"), "{refused}");
        assert!(create_in(&workspace, &workspace.join(".wf/audit"), 0o700).is_err());
        assert!(!workspace.exists());
        std::fs::create_dir(&workspace).unwrap();
        folder.create().unwrap();
        assert!(folder.create_run(&run).unwrap().is_dir());
    }

    #[test]
    fn nobody_else_may_enter_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = StateFolder::new(&place.path().join("state"));
        folder.create().unwrap();
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
