//! Resolves paths below a folder so that nothing leads out of it: no `..`, no link, and no
//! concurrent rename.
//!
//! The kernel resolves the path in one call (`openat2`). Where it cannot, or where an absolute link
//! may lead back below the folder, the path is walked part by part, each opened relative to the
//! previous one without following links.

use std::{
    ffi::{CStr, OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{self, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};

use crate::work_error::WorkError;

/// The number of attempts if something is renamed during the lookup.
const MAX_LOOKUP_TRIES: usize = 32;

/// The maximum number of links in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The flags to open a file for inspection, not for reading.
const INSPECT_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The root of resolved paths.
#[derive(Debug)]
pub struct ConfinedDir {
    root: OwnedFd,
    /// Its path without links.
    real: PathBuf,
}

/// The reason why a path does not resolve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathLookupError {
    /// The file does not exist.
    Absent,
    /// The path leads out of the folder, whether or not the file exists.
    Outside,
    Failed(Errno),
}

impl ConfinedDir {
    /// Opens a folder.
    pub fn open(root: &Path) -> Result<Self, PathLookupError> {
        let real = root.canonicalize();
        let real = real.map_err(|error| {
            Errno::from_io_error(&error).map_or(PathLookupError::Absent, PathLookupError::from)
        })?;
        let root = fs::open(&real, INSPECT_FLAGS | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { root, real })
    }

    /// Opens a path below the folder for inspection only.
    pub fn find(&self, path: &Path) -> Result<OwnedFd, PathLookupError> {
        match self.by_kernel(path) {
            Some(file) => file,
            None => self.walk(path),
        }
    }

    /// True if a path names a regular file.
    pub fn is_file(&self, path: &Path) -> Result<bool, PathLookupError> {
        match self.find(path) {
            Ok(file) => Ok(kind(&file)? == FileType::RegularFile),
            Err(PathLookupError::Absent) => Ok(false),
            Err(missed) => Err(missed),
        }
    }

    /// Creates a folder and its parents if they do not exist.
    pub fn make_folder(&self, path: &Path) -> Result<(), PathLookupError> {
        let mut sofar = PathBuf::new();
        for part in path.components() {
            let above = self.find(&sofar)?;
            sofar.push(part);
            if matches!(self.find(&sofar), Err(PathLookupError::Absent)) {
                match fs::mkdirat(&above, part.as_os_str(), Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        match kind(&self.find(path)?)? {
            FileType::Directory => Ok(()),
            _ => Err(PathLookupError::Failed(Errno::NOTDIR)),
        }
    }

    /// Resolves a path by the kernel; `None` if the kernel cannot tell.
    fn by_kernel(&self, path: &Path) -> Option<Result<OwnedFd, PathLookupError>> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..MAX_LOOKUP_TRIES {
            match fs::openat2(&self.root, path, INSPECT_FLAGS, Mode::empty(), within) {
                Ok(file) => return Some(Ok(file)),
                // A part of the path was renamed.
                Err(Errno::AGAIN | Errno::INTR) => {}
                // An old kernel, or an outer sandbox that does not know the call; or an absolute
                // link, which may lead back.
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::XDEV) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
        None
    }

    fn walk(&self, path: &Path) -> Result<OwnedFd, PathLookupError> {
        self.trace(path, &mut |_, _, _| {}).map(|(_, file)| file)
    }

    /// Walks a path and reports each link: its path without links, its metadata and its target.
    /// Returns the path without links, and the file at its end.
    pub(crate) fn trace(
        &self,
        path: &Path,
        on_link: &mut dyn FnMut(PathBuf, Stat, &CStr),
    ) -> Result<(PathBuf, OwnedFd), PathLookupError> {
        let mut walk = PathWalk { dir: self, parents: Vec::new(), remaining: Vec::new() };
        let mut links = 0;
        walk.turn(path)?;
        while let Some(part) = walk.remaining.pop() {
            if part == ".." {
                walk.parents.pop().ok_or(PathLookupError::Outside)?;
                continue;
            }
            let here = walk.parents.last().map_or(&self.root, |(_, folder)| folder);
            let descriptor = fs::openat(here, &part, INSPECT_FLAGS | OFlags::NOFOLLOW, Mode::empty())?;
            let stat = fs::fstat(&descriptor)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    let target = fs::readlinkat(&descriptor, "", Vec::new())?;
                    on_link(walk.path().join(part), stat, &target);
                    walk.turn(Path::new(OsStr::from_bytes(target.as_bytes())))?;
                }
                FileType::Directory => walk.parents.push((part, descriptor)),
                _ if walk.remaining.is_empty() => return Ok((walk.path().join(part), descriptor)),
                _ => return Err(Errno::NOTDIR.into()),
            }
        }
        let path = walk.path();
        match walk.parents.pop() {
            Some((_, found)) => Ok((path, found)),
            None => Ok((path, self.root.try_clone().map_err(|_| Errno::MFILE)?)),
        }
    }
}

/// A walk along a path. The parent of a folder is the folder where it was found, even if it has moved since.
struct PathWalk<'a> {
    dir: &'a ConfinedDir,
    /// The folders above the current place below the root, with their names.
    parents: Vec<(OsString, OwnedFd)>,
    /// The rest of the path, the next part last.
    remaining: Vec<OsString>,
}

impl PathWalk<'_> {
    /// Continues along another path: from here, or from the root if it is absolute and begins there.
    fn turn(&mut self, path: &Path) -> Result<(), PathLookupError> {
        let below = if path.is_absolute() {
            self.parents.clear();
            path.strip_prefix(&self.dir.real).map_err(|_| PathLookupError::Outside)?
        } else {
            path
        };
        let parts = below.components().rev();
        let parts = parts.filter(|part| *part != Component::CurDir);
        self.remaining.extend(parts.map(|part| part.as_os_str().to_owned()));
        Ok(())
    }

    /// Returns the path of the current folder, without links.
    fn path(&self) -> PathBuf {
        self.parents.iter().map(|(name, _)| name).collect()
    }
}

fn kind(file: &OwnedFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fs::fstat(file)?.st_mode))
}

impl PathLookupError {
    /// Converts the reason into an error for the user.
    pub fn unable(self, path: &Path) -> WorkError {
        let path = path.display();
        match self {
            Self::Outside => WorkError::logical(format!("`{path}` points outside the workspace")),
            Self::Absent => WorkError::environmental(format!("`{path}` does not exist")),
            Self::Failed(error) => WorkError::environmental(format!("cannot stat `{path}`: {error}")),
        }
    }
}

impl From<PathLookupError> for io::Error {
    fn from(error: PathLookupError) -> Self {
        match error {
            PathLookupError::Failed(error) => error.into(),
            PathLookupError::Absent | PathLookupError::Outside => Errno::NOENT.into(),
        }
    }
}

impl From<Errno> for PathLookupError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => Self::Absent,
            error => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests;
