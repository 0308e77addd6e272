use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use wf_store::{StateFolder, open_regular, own_file};

use super::file_lock::open_lock;
use crate::Workspace;

/// The largest text of a private file, in bytes.
const MAX_SIZE: u64 = 1024 * 1024;

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

    /// Returns the text of the file; `None`: there is none. One that is larger than this program writes it is refused.
    pub fn read(&self) -> io::Result<Option<String>> {
        own_file(&self.path)?;
        let file = match open_regular(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        if file.take(MAX_SIZE + 1).read_to_string(&mut text)? as u64 > MAX_SIZE {
            let reason = format!("{} is larger than {MAX_SIZE} bytes", self.path.display());
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        Ok(Some(text))
    }

    /// Waits until no other process changes the file, for a moment.
    pub fn lock(&self) -> io::Result<LockedPrivateFile<'_>> {
        Ok(LockedPrivateFile { file: self, _lock: self.hold()? })
    }

    /// Waits for its lock, for a moment. A file elsewhere may be meant by its name.
    pub fn hold(&self) -> io::Result<PrivateFileLock> {
        self.folder.create().map_err(io::Error::other)?;
        // The folder itself is locked by whoever changes the schema or prunes, which may take long.
        let lock = open_lock(&self.path.with_extension("lock"))?;
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

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::{MAX_SIZE, PrivateFile};

    #[test]
    fn what_is_no_plain_file_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let file = PrivateFile::in_state(dir.path(), "some.json");
        assert_eq!(file.read().unwrap(), None);
        file.lock().unwrap().replace("text").unwrap();
        assert_eq!(file.read().unwrap().as_deref(), Some("text"));
        for name in ["some.json", "some.lock"] {
            let path = dir.path().join(name);
            fs::remove_file(&path).unwrap();
            mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        }
        let refused = file.read().unwrap_err().to_string();
        assert!(refused.contains("a pipe"), "{refused}");
        let refused = file.lock().unwrap_err().to_string();
        assert!(refused.contains("a pipe"), "{refused}");
        // A link leads to a file of somebody else, which is not created or locked either.
        let lock = dir.path().join("some.lock");
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink(dir.path().join("other"), &lock).unwrap();
        assert!(file.hold().is_err() && !dir.path().join("other").exists());
    }

    #[test]
    fn a_text_is_read_up_to_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let file = PrivateFile::in_state(dir.path(), "some.json");
        let most = usize::try_from(MAX_SIZE).unwrap();
        fs::write(dir.path().join("some.json"), vec![b'x'; most]).unwrap();
        assert_eq!(file.read().unwrap().map(|text| text.len()), Some(most));
        fs::write(dir.path().join("some.json"), vec![b'x'; most + 1]).unwrap();
        let refused = file.read().unwrap_err().to_string();
        assert!(refused.contains("is larger than"), "{refused}");
    }
}
