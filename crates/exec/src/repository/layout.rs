use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};

use crate::disk::stamp::FileIdentity;

/// The file or folder by which git knows the folder around it has a repository.
pub(super) const GIT: &str = ".git";

/// The file by which git knows a folder that is a repository itself, beside two folders or a link to them.
pub(super) const HEAD: &str = "HEAD";

/// A repository below a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundRepository {
    /// The folder that git is called in, relative to the root.
    pub(super) folder: PathBuf,
    /// True if that folder is the repository itself.
    pub(super) is_bare: bool,
    pub(super) identity: FileIdentity,
}

/// The names in a folder that matter to git, of these.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FolderNames(u8);

const NAMES: [&str; 5] = [GIT, HEAD, "objects", "refs", "commondir"];

impl FoundRepository {
    /// Returns the deciding files: a folder, or a file naming one.
    pub(super) fn control(&self) -> PathBuf {
        if self.is_bare { self.folder.clone() } else { self.folder.join(GIT) }
    }

    /// True if another one is in it.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self != other && other.folder.starts_with(self.control())
    }

    /// Returns the file without which git does not see it.
    pub(super) fn mark(&self) -> PathBuf {
        self.folder.join(if self.is_bare { HEAD } else { GIT })
    }
}

impl FolderNames {
    pub(super) fn note(&mut self, name: &[u8]) {
        if let Some(at) = NAMES.iter().position(|known| known.as_bytes() == name) {
            self.0 |= 1 << at;
        }
    }

    pub(super) fn has(self, name: &str) -> bool {
        NAMES.iter().position(|known| *known == name).is_some_and(|at| self.0 & (1 << at) != 0)
    }

    /// True if the folder is a repository itself.
    pub(super) fn is_bare(self) -> bool {
        self.has(HEAD) && (self.has("commondir") || self.has("objects") && self.has("refs"))
    }

    /// Returns the names of an open folder.
    fn of(folder: &OwnedFd) -> Self {
        let mut names = Self::default();
        for name in NAMES {
            if rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                names.note(name.as_bytes());
            }
        }
        names
    }
}

/// Returns the folder that is a repository, or becomes one, if a file is written; `open` opens an existing folder.
pub(crate) fn made_by<'a>(file: &'a Path, open: &dyn Fn(&Path) -> Option<OwnedFd>) -> Option<&'a Path> {
    let mut name: Option<&OsStr> = file.file_name();
    for folder in file.ancestors().skip(1) {
        let mut names = open(folder).map(|found| FolderNames::of(&found)).unwrap_or_default();
        // The workspace itself may look like one.
        let was_bare = names.is_bare() && folder.as_os_str().is_empty();
        names.note(name.map(OsStr::as_encoded_bytes).unwrap_or_default());
        if names.is_bare() && !was_bare {
            return Some(folder);
        }
        name = folder.file_name();
    }
    None
}

/// Returns the identity of a path below a folder, and its kind.
pub(super) fn identity(folder: &OwnedFd, name: &Path) -> Option<(FileIdentity, FileType)> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((FileIdentity::from(stat), FileType::from_raw_mode(stat.st_mode)))
}
