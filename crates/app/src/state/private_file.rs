use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use wf_store::{StateFolder, own_file};

use crate::Workspace;

/// The longest wait for another process to change a file: so many times so long.
const LOCK_TRIES: u32 = 20;
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// A small file in the state folder, for its owner alone. Several processes may change it.
#[derive(Clone, Debug)]
pub struct PrivateFile {
    folder: StateFolder,
    path: PathBuf,
}

/// A mark of a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrivateFileVersion {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// A private file that no other process changes meanwhile.
#[derive(Debug)]
pub struct LockedPrivateFile<'f> {
    file: &'f PrivateFile,
    _lock: PrivateFileLock,
}

/// The lock of a private file: until it is dropped, no other process has it.
#[derive(Debug)]
pub struct PrivateFileLock {
    _file: File,
}

impl PrivateFile {
    pub fn new(workspace: &Workspace, name: &str) -> Self {
        Self::in_state(&workspace.state, name)
    }

    /// The file of a name in a state folder.
    pub fn in_state(state: &Path, name: &str) -> Self {
        let folder = StateFolder::new(state);
        let path = folder.path().join(name);
        Self { folder, path }
    }

    /// Returns the version of the file; `None`: there is none.
    pub fn version(&self) -> Option<PrivateFileVersion> {
        let file = self.path.symlink_metadata().ok()?;
        let (inode, size) = (file.ino(), file.size());
        Some(PrivateFileVersion { inode, size, changed: (file.ctime(), file.ctime_nsec()) })
    }

    /// Returns the text of the file; `None`: there is none.
    pub fn read(&self) -> io::Result<Option<String>> {
        own_file(&self.path)?;
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until no other process changes the file, for a moment.
    pub fn lock(&self) -> io::Result<LockedPrivateFile<'_>> {
        Ok(LockedPrivateFile { file: self, _lock: self.hold()? })
    }

    /// Waits for its lock, for a moment. A file elsewhere may be meant by its name.
    pub fn hold(&self) -> io::Result<PrivateFileLock> {
        self.folder.create().map_err(io::Error::other)?;
        // The folder itself is locked by whoever changes the schema or prunes, which may take long.
        let lock = File::options().create(true).append(true).open(self.path.with_extension("lock"))?;
        // Whoever holds it for longer has stopped, and is not waited for.
        for _ in 0..LOCK_TRIES {
            if lock.try_lock().is_ok() {
                return Ok(PrivateFileLock { _file: lock });
            }
            std::thread::sleep(LOCK_INTERVAL);
        }
        Err(io::Error::from(io::ErrorKind::WouldBlock))
    }
}

impl LockedPrivateFile<'_> {
    /// Replaces the text; the new one is durable afterwards.
    pub fn replace(self, text: &str) -> io::Result<()> {
        own_file(&self.file.path)?;
        // Only its owner can read a temporary file.
        let mut file = tempfile::NamedTempFile::new_in(self.file.folder.path())?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.file.path).map(drop).map_err(|error| error.error)
    }
}
