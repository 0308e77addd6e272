//! The walk of a workspace, folder by folder.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};

use super::{ManifestFolder, ManifestNode, WorkspaceManifest};
use crate::{
    disk::files::{FileIdentity, FileStamp},
    work_error::WorkError,
};

/// The maximum depth of folders: each level takes a descriptor.
const MAX_DEPTH: usize = 256;

/// The maximum number of files and folders in a workspace.
const MAX_ENTRIES: u64 = 5_000_000;

/// The files and folders inside a workspace that are not part of it: the state, and the outputs of
/// this program.
#[derive(Clone, Debug, Default)]
pub struct ExcludedFiles {
    known_files: Vec<FileIdentity>,
    /// The missing folders: another process may create them during a walk.
    absent: Vec<PathBuf>,
}

impl ExcludedFiles {
    /// Excludes the current folders of these names, whatever leads there, and this program's own outputs. A folder that does
    /// not exist yet is excluded by its name.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let own = [out.as_fd(), err.as_fd()].map(rustix::fs::fstat);
        let mut excluded = Self {
            known_files: own.into_iter().flatten().map(FileIdentity::from).collect(),
            absent: Vec::new(),
        };
        for path in folders {
            match rustix::fs::stat(path) {
                Ok(metadata) => excluded.known_files.push(metadata.into()),
                Err(_) => excluded.absent.push(path.to_owned()),
            }
        }
        excluded
    }

    /// True if a file or folder is excluded. `path` is its path relative to a root.
    fn has(&self, file: FileIdentity, root: &Path, path: &Path) -> bool {
        self.known_files.contains(&file)
            || self.absent.iter().any(|absent| absent.strip_prefix(root) == Ok(path))
    }
}

impl WorkspaceManifest {
    /// Walks a workspace. Fails if a part of it cannot be read.
    pub fn of_workspace(root: &Path, excluded: &ExcludedFiles) -> Result<Self, WorkError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(root, flags, Mode::empty());
        let mut walk = ManifestWalk { root, excluded, at: PathBuf::new(), remaining: MAX_ENTRIES };
        let folder = opened.map_err(|error| walk.unable(error))?;
        let stat = rustix::fs::fstat(&folder).map_err(|error| walk.unable(error))?;
        let top = walk.folder(folder.as_fd(), stat.into(), 0)?;
        Ok(Self { top_folder: top })
    }
}

struct ManifestWalk<'a> {
    root: &'a Path,
    excluded: &'a ExcludedFiles,
    /// The current path, relative to the root.
    at: PathBuf,
    remaining: u64,
}

impl ManifestWalk<'_> {
    fn folder(
        &mut self,
        open: BorrowedFd<'_>,
        stamp: FileStamp,
        depth: usize,
    ) -> Result<ManifestFolder, WorkError> {
        let mut entries = Vec::new();
        let names = Dir::read_from(open).map_err(|error| self.unable(error))?;
        for entry in names {
            let entry = entry.map_err(|error| self.unable(error))?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            self.at.push(name);
            let node = self.node(open, name, depth)?;
            self.at.pop();
            entries.extend(node.map(|node| (name.to_owned(), node)));
        }
        entries.sort_unstable_by(|(one, _): &(OsString, _), (other, _)| one.cmp(other));
        Ok(ManifestFolder { stamp, entries })
    }

    /// Returns the node of a name; `None`: it is gone by now, or not part of the workspace.
    fn node(
        &mut self,
        open: BorrowedFd<'_>,
        name: &OsStr,
        depth: usize,
    ) -> Result<Option<ManifestNode>, WorkError> {
        let stat = match rustix::fs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.unable(error)),
        };
        self.remaining = self.remaining.checked_sub(1).ok_or_else(|| {
            WorkError::logical(format!("the workspace has more than {MAX_ENTRIES} files and folders"))
        })?;
        if self.excluded.has(stat.into(), self.root, &self.at) {
            return Ok(None);
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Ok(Some(ManifestNode::File(stat.into())));
        }
        if depth == MAX_DEPTH {
            let shown = self.at.display();
            let reason = format!("`{shown}`: folders in the workspace are more than {MAX_DEPTH} deep");
            return Err(WorkError::logical(reason));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(open, name, flags, Mode::empty()) {
            Ok(folder) => {
                let folder = self.folder(folder.as_fd(), stat.into(), depth + 1)?;
                Ok(Some(ManifestNode::Folder(folder)))
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            // A check runs as the same user and cannot look into it either.
            Err(Errno::ACCESS) => {
                Ok(Some(ManifestNode::Folder(ManifestFolder { stamp: stat.into(), entries: Vec::new() })))
            }
            Err(error) => Err(self.unable(error)),
        }
    }

    fn unable(&self, error: impl Into<io::Error>) -> WorkError {
        let (at, error) = (self.at.display(), error.into());
        let place =
            if self.at.as_os_str().is_empty() { "the workspace".to_owned() } else { format!("`{at}`") };
        WorkError::environmental(format!("cannot stat {place}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_is_excluded_may_be_created_later() {
        let dir = tempfile::tempdir().unwrap();
        let (root, state) = (dir.path(), dir.path().join(".wf"));
        let excluded = ExcludedFiles::new([state.as_path()]);
        for folder in [&state, &root.join("a/.wf")] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(".gitignore"), "*\n").unwrap();
        }
        let manifest = WorkspaceManifest::of_workspace(root, &excluded).unwrap();
        assert_eq!(manifest.files(), [PathBuf::from("a/.wf/.gitignore")]);
    }
}
