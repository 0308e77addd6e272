//! What a path means below a folder, found so that nothing leads out of the folder: no `..`, no
//! link, and nobody who renames things meanwhile.
//!
//! The kernel resolves the path in one go (`openat2`). Where it cannot, or where an absolute link
//! may lead back below the folder, the path is walked part by part, each opened from the one
//! before without following links.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::Unable;

/// How often the kernel is asked again, if something was renamed while it looked.
const TRIES: usize = 32;

/// How many links one path may lead through, as for the kernel.
const LINKS: usize = 40;

/// What is opened is looked at, not read.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// A folder that paths are looked up below.
#[derive(Debug)]
pub struct Beneath {
    root: OwnedFd,
    /// Where it is, without links.
    real: PathBuf,
}

/// Why a path leads to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// There is nothing.
    Absent,
    /// It leads out of the folder, whether or not there is something.
    Outside,
    /// It could not be looked at.
    Failed(Errno),
}

impl Beneath {
    /// Opens a folder.
    pub fn open(root: &Path) -> Result<Self, Missed> {
        let real = root.canonicalize();
        let real = real
            .map_err(|error| Errno::from_io_error(&error).map_or(Missed::Absent, Missed::from))?;
        let root = fs::open(&real, LOOK | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { root, real })
    }

    /// Opens what a path below the folder means, for nothing but looking at it.
    pub fn find(&self, path: &Path) -> Result<OwnedFd, Missed> {
        match self.by_kernel(path) {
            Some(found) => found,
            None => self.walk(path),
        }
    }

    /// Whether a path means a regular file.
    pub fn is_file(&self, path: &Path) -> Result<bool, Missed> {
        match self.find(path) {
            Ok(found) => Ok(kind(&found)? == FileType::RegularFile),
            Err(Missed::Absent) => Ok(false),
            Err(missed) => Err(missed),
        }
    }

    /// Makes a folder, and those above it, where there is none.
    pub fn make_folder(&self, path: &Path) -> Result<(), Missed> {
        let mut sofar = PathBuf::new();
        for part in path.components() {
            let above = self.find(&sofar)?;
            sofar.push(part);
            if matches!(self.find(&sofar), Err(Missed::Absent)) {
                match fs::mkdirat(&above, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        match kind(&self.find(path)?)? {
            FileType::Directory => Ok(()),
            _ => Err(Missed::Failed(Errno::NOTDIR)),
        }
    }

    /// Asks the kernel; `None` if it has no answer.
    fn by_kernel(&self, path: &Path) -> Option<Result<OwnedFd, Missed>> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..TRIES {
            match fs::openat2(&self.root, path, LOOK, Mode::empty(), within) {
                Ok(found) => return Some(Ok(found)),
                // Something on the way was renamed.
                Err(Errno::AGAIN | Errno::INTR) => {}
                // An old kernel, or a sandbox around us that does not know the call; or an
                // absolute link, which may lead back.
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::XDEV) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
        None
    }

    /// Walks a path. Above a folder is the one that it was found in, wherever it is by now.
    fn walk(&self, path: &Path) -> Result<OwnedFd, Missed> {
        let mut to_go = Vec::new();
        let mut passed: Vec<OwnedFd> = Vec::new();
        let mut links = 0;
        self.turn(path, &mut to_go, &mut passed)?;
        while let Some(part) = to_go.pop() {
            if part == ".." {
                passed.pop().ok_or(Missed::Outside)?;
                continue;
            }
            let here = self.here(&passed);
            let found = fs::openat(here, &part, LOOK | OFlags::NOFOLLOW, Mode::empty())?;
            if kind(&found)? != FileType::Symlink {
                passed.push(found);
                continue;
            }
            links += 1;
            if links > LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = fs::readlinkat(&found, "", Vec::new())?;
            let target = Path::new(OsStr::from_bytes(target.as_bytes()));
            self.turn(target, &mut to_go, &mut passed)?;
        }
        match passed.pop() {
            Some(found) => Ok(found),
            None => Ok(self.root.try_clone().map_err(|_| Errno::MFILE)?),
        }
    }

    fn here<'b>(&'b self, passed: &'b [OwnedFd]) -> BorrowedFd<'b> {
        passed.last().unwrap_or(&self.root).as_fd()
    }

    /// Goes on along another path: from here, or from the folder if it is absolute and begins
    /// there.
    fn turn(
        &self,
        path: &Path,
        to_go: &mut Vec<OsString>,
        passed: &mut Vec<OwnedFd>,
    ) -> Result<(), Missed> {
        let below = if path.is_absolute() {
            passed.clear();
            path.strip_prefix(&self.real).map_err(|_| Missed::Outside)?
        } else {
            path
        };
        let parts = below.components().rev();
        let parts = parts.filter(|part| *part != Component::CurDir);
        to_go.extend(parts.map(|part| part.as_os_str().to_owned()));
        Ok(())
    }
}

fn kind(found: &OwnedFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fs::fstat(found)?.st_mode))
}

impl Missed {
    /// What to say of a path that was missed.
    pub fn unable(self, path: &Path) -> Unable {
        let path = path.display();
        match self {
            Self::Outside => Unable::logical(format!("`{path}` leads out of the workspace")),
            Self::Absent => Unable::environmental(format!("`{path}` is not there")),
            Self::Failed(error) => {
                Unable::environmental(format!("cannot look at `{path}`: {error}"))
            }
        }
    }
}

impl From<Errno> for Missed {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Self::Absent,
            error => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests;
