//! The resolution of a path below a folder: its links, and the file at its end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use wf_base::digest::Sha256Digest;

/// The maximum number of links in one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The flags to open a file for inspection, not for reading.
const INSPECT_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// A link or file that a path passes.
#[derive(Debug)]
pub(super) struct PathEntry {
    /// Its path relative to the root, without links.
    pub(super) path: String,
    /// The digest of a file's content, or of a link's target.
    pub(super) digest: Sha256Digest,
    /// The stamp that identifies this version.
    pub(super) stamp: PathStamp,
    /// True for a link.
    pub(super) is_link: bool,
}

/// The identity and times of a file; they differ even if it was changed and put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathStamp {
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl PathStamp {
    fn of(found: &Stat) -> Self {
        Self {
            inode: found.st_ino,
            size: found.st_size,
            modified: (found.st_mtime, i64::try_from(found.st_mtime_nsec).unwrap_or_default()),
            changed: (found.st_ctime, i64::try_from(found.st_ctime_nsec).unwrap_or_default()),
        }
    }

    /// Returns the stamp of an open file.
    pub(super) fn of_open(file: &File) -> Option<Self> {
        rustix::fs::fstat(file).ok().map(|found| Self::of(&found))
    }
}

/// Resolves a path relative to a root. A path that leads out of the root, or to something other
/// than a file, ends there.
pub(super) fn resolve_path(root: &Path, path: &str, read: bool) -> io::Result<(Vec<PathEntry>, PathEnd)> {
    let real = root.canonicalize()?;
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let mut walk = PathWalk {
        root: rustix::fs::open(&real, flags, Mode::empty())?,
        real,
        passed: Vec::new(),
        to_go: Vec::new(),
        posts: Vec::new(),
        read,
    };
    walk.turn(Path::new(path));
    let end = walk.go()?;
    Ok((walk.posts, end))
}

/// The end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathEnd {
    /// A file, the last post.
    File,
    /// Nothing, or something other than a file.
    Nothing,
    /// A place outside the root.
    Outside,
}

struct PathWalk {
    root: OwnedFd,
    real: PathBuf,
    /// The parent folders, with their names.
    passed: Vec<(OsString, OwnedFd)>,
    /// The rest of the path, the next part last.
    to_go: Vec<OsString>,
    posts: Vec<PathEntry>,
    read: bool,
}

impl PathWalk {
    fn go(&mut self) -> io::Result<PathEnd> {
        let mut links = 0;
        while let Some(part) = self.to_go.pop() {
            if part == ".." {
                if self.passed.pop().is_none() {
                    return Ok(PathEnd::Outside);
                }
                continue;
            }
            let here = self.passed.last().map_or(&self.root, |(_, folder)| folder);
            let found = match rustix::fs::openat(here.as_fd(), &part, INSPECT_FLAGS, Mode::empty()) {
                Ok(found) => found,
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(PathEnd::Nothing),
                Err(error) => return Err(error.into()),
            };
            let stat = rustix::fs::fstat(&found)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Ok(PathEnd::Nothing);
                    }
                    if !self.link(&part, &found, &stat)? {
                        return Ok(PathEnd::Outside);
                    }
                }
                FileType::Directory => self.passed.push((part, found)),
                FileType::RegularFile if self.to_go.is_empty() => {
                    self.file(&part, &found, &stat)?;
                    return Ok(PathEnd::File);
                }
                _ => return Ok(PathEnd::Nothing),
            }
        }
        Ok(PathEnd::Nothing)
    }

    fn path_of(&self, part: &OsStr) -> io::Result<String> {
        let mut path: PathBuf = self.passed.iter().map(|(name, _)| name).collect();
        path.push(part);
        let name = path.into_os_string().into_string();
        name.map_err(|path| io::Error::other(format!("the file name {} is not valid UTF-8", path.display())))
    }

    /// Follows a link; returns true if it stays below the root.
    fn link(&mut self, part: &OsStr, found: &OwnedFd, stat: &Stat) -> io::Result<bool> {
        let target = rustix::fs::readlinkat(found, "", Vec::new())?;
        self.posts.push(PathEntry {
            path: self.path_of(part)?,
            digest: Sha256Digest::of_bytes(target.as_bytes()),
            stamp: PathStamp::of(stat),
            is_link: true,
        });
        Ok(self.turn(Path::new(OsStr::from_bytes(target.as_bytes()))))
    }

    fn file(&mut self, part: &OsStr, found: &OwnedFd, stat: &Stat) -> io::Result<()> {
        let path = self.path_of(part)?;
        let (digest, stamp) = if self.read {
            let file = File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))?;
            let digest = Sha256Digest::of_reader(&file)?;
            // The stamp after reading.
            let stamp = PathStamp::of_open(&file).unwrap_or(PathStamp::of(stat));
            (digest, stamp)
        } else {
            (Sha256Digest::of_bytes(b""), PathStamp::of(stat))
        };
        self.posts.push(PathEntry { path, digest, stamp, is_link: false });
        Ok(())
    }

    /// Continues along another path; returns true if it begins below the root.
    fn turn(&mut self, path: &Path) -> bool {
        let below = if path.is_absolute() {
            self.passed.clear();
            match path.strip_prefix(&self.real) {
                Ok(below) => below,
                Err(_) => return false,
            }
        } else {
            path
        };
        let parts = below.components().rev();
        let parts = parts.filter(|part| *part != Component::CurDir);
        self.to_go.extend(parts.map(|part| part.as_os_str().to_owned()));
        true
    }
}
