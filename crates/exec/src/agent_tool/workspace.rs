//! The workspace of an agent: its files, opened below its root, with a note of each one read.

use std::{
    cell::Cell,
    fs::File,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{FileType, Mode, OFlags};

use super::{answer::quoted, error::FileToolError};
use crate::disk::confined_dir::{ConfinedDir, PathLookupError};

/// A file opened for reading.
pub(super) struct FoundFile {
    pub(super) file: File,
    /// True if it has several names (hard links), where some names are not trusted: it may have one of these, too.
    pub(super) is_untrusted: bool,
}

/// The workspace of an agent: the folder below which its tools work. Links may lead about in it, not out of it.
pub(super) struct ToolWorkspace {
    dir: ConfinedDir,
    /// Its path without links.
    root: PathBuf,
    /// The files and folders with untrusted text: as they are named, and without links.
    untrusted: Vec<PathBuf>,
    saw_untrusted: Cell<bool>,
}

impl ToolWorkspace {
    pub(super) fn open(root: &Path, untrusted: &[String]) -> Result<Self, FileToolError> {
        let shown = root.display().to_string();
        let real = root.canonicalize().map_err(|error| FileToolError::failed(&shown, "opened", error))?;
        let dir = ConfinedDir::open(&real).map_err(|missed| FileToolError::lookup(&shown, missed))?;
        let mut workspace = Self { dir, root: real, untrusted: Vec::new(), saw_untrusted: Cell::new(false) };
        for path in untrusted {
            let named = Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
            let real = workspace.trace(Path::new(path)).ok().map(|(real, _)| real);
            workspace.untrusted.extend([named].into_iter().chain(real));
        }
        Ok(workspace)
    }

    /// Notes that the answer tells of a file or folder, by its path without links.
    pub(super) fn note_shown(&self, real: &Path) {
        if self.untrusted.iter().any(|path| real.starts_with(path)) {
            self.saw_untrusted.set(true);
        }
    }

    /// Notes that the answer tells of the content of a file.
    pub(super) fn note_read(&self, found_file: &FoundFile) {
        if found_file.is_untrusted {
            self.saw_untrusted.set(true);
        }
    }

    /// True if the answer tells of files whose text is not trusted.
    pub(super) fn saw_untrusted(&self) -> bool {
        self.saw_untrusted.get()
    }

    /// Returns the path of an existing file or folder relative to the root, without links, and its kind.
    pub(super) fn find(&self, path: &str) -> Result<(PathBuf, FileType), FileToolError> {
        self.trace(Path::new(path)).map_err(|missed| FileToolError::lookup(path, missed))
    }

    /// Does the same and leaves the error to the caller.
    pub(super) fn trace(&self, path: &Path) -> Result<(PathBuf, FileType), PathLookupError> {
        let (real, file) = self.dir.trace(path, &mut |_, _, _| {})?;
        let stat = rustix::fs::fstat(&file)?;
        Ok((real, FileType::from_raw_mode(stat.st_mode)))
    }

    /// Returns a path relative to the root as far as its text tells.
    pub(super) fn relative(&self, path: &str) -> Result<PathBuf, FileToolError> {
        let path = Path::new(path);
        let below = if path.is_absolute() { path.strip_prefix(&self.root).ok() } else { Some(path) };
        let outside = || FileToolError::Outside { path: quoted(path) };
        below.map(Path::to_path_buf).ok_or_else(outside)
    }

    /// Opens a regular file for reading.
    pub(super) fn open_file(&self, path: &str) -> Result<File, FileToolError> {
        let (real, kind) = self.find(path)?;
        self.note_shown(&real);
        let found = self.open_found(&real, kind).map_err(|error| match error {
            OpenFileError::OtherKind(found) => {
                FileToolError::OtherKind { path: quoted(path), found, expected: "a file" }
            }
            OpenFileError::Failed(error) => FileToolError::failed(path, "read", error),
        })?;
        self.note_read(&found);
        Ok(found.file)
    }

    /// Opens a regular file by its path without links. The last part may have been swapped for a link since: such a
    /// link is not followed.
    pub(super) fn open_found(&self, real: &Path, kind: FileType) -> Result<FoundFile, OpenFileError> {
        if kind != FileType::RegularFile {
            return Err(OpenFileError::OtherKind(kind_name(kind)));
        }
        let (parent, name) = split(real);
        let folder = self.dir.find(parent).map_err(std::io::Error::from)?;
        // A pipe in its place must not be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, name, flags, Mode::empty()).map_err(std::io::Error::from)?;
        let stat = rustix::fs::fstat(&file).map_err(std::io::Error::from)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(OpenFileError::OtherKind(kind_name(kind)));
        }
        // One of its other names may be among the untrusted ones.
        let is_untrusted = stat.st_nlink > 1 && !self.untrusted.is_empty();
        Ok(FoundFile { file: file.into(), is_untrusted })
    }

    /// Opens a folder for listing.
    pub(super) fn open_folder(&self, path: &str) -> Result<OwnedFd, FileToolError> {
        let (real, kind) = self.find(path)?;
        if kind != FileType::Directory {
            let (path, found) = (quoted(path), kind_name(kind));
            return Err(FileToolError::OtherKind { path, found, expected: "a folder" });
        }
        self.note_shown(&real);
        let folder = self.folder(&real).map_err(|missed| FileToolError::lookup(path, missed))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&folder, ".", flags, Mode::empty())
            .map_err(|error| FileToolError::failed(path, "listed", error.into()))
    }

    /// Opens a folder as a place for lookups.
    pub(super) fn folder(&self, real: &Path) -> Result<OwnedFd, PathLookupError> {
        self.dir.find(real)
    }

    /// Creates a folder and its parents if they do not exist.
    pub(super) fn make_folder(&self, path: &Path) -> Result<(), PathLookupError> {
        self.dir.make_folder(path)
    }

    /// Returns the absolute path of a path without links.
    pub(super) fn absolute(&self, real: &Path) -> PathBuf {
        self.root.join(real)
    }
}

/// The reason why a file that exists is not opened.
pub(super) enum OpenFileError {
    OtherKind(&'static str),
    Failed(std::io::Error),
}

impl From<std::io::Error> for OpenFileError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Splits a path without links into folder and name; the root's own name is `.`.
pub(super) fn split(real: &Path) -> (&Path, &std::ffi::OsStr) {
    let name = real.file_name().unwrap_or(".".as_ref());
    (real.parent().unwrap_or(Path::new("")), name)
}

pub(super) fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "of an unknown kind",
    }
}
