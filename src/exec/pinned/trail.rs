//! The way that a path leads below a folder: its links, and the file at its end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::digest::Digest;

/// How many links one path may lead through, as for the kernel.
const LINKS: usize = 40;

/// What is opened is looked at, not read.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Something that a path leads through.
#[derive(Debug)]
pub(super) struct Post {
    /// Where it is, relative to the root, without links.
    pub(super) path: String,
    /// The digest of a file's content, or of where a link leads.
    pub(super) digest: Digest,
    /// Which one it is, and when it was touched.
    pub(super) stamp: Stamp,
    /// Whether it is a link.
    pub(super) is_link: bool,
}

/// Which file, and when it was last touched; it differs also for one that was changed and put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(found: &Stat) -> Self {
        Self {
            inode: found.st_ino,
            size: found.st_size,
            modified: (
                found.st_mtime,
                i64::try_from(found.st_mtime_nsec).unwrap_or_default(),
            ),
            changed: (
                found.st_ctime,
                i64::try_from(found.st_ctime_nsec).unwrap_or_default(),
            ),
        }
    }

    /// The stamp of an open file.
    pub(super) fn of_open(file: &File) -> Option<Self> {
        rustix::fs::fstat(file).ok().map(|found| Self::of(&found))
    }
}

/// Follows a path, relative to a root. What leads out of it, or to something that is no file, ends
/// there; `None`: there is nothing at its end, or not a file.
pub(super) fn follow(root: &Path, path: &str, read: bool) -> io::Result<(Vec<Post>, End)> {
    let real = root.canonicalize()?;
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    let mut walk = Walk {
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

/// Where a path leads at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// To a file, the last post.
    File,
    /// To nothing, or to something that is no file.
    Nothing,
    /// Out of the root.
    Outside,
}

struct Walk {
    root: OwnedFd,
    real: PathBuf,
    /// The folders passed, with their names.
    passed: Vec<(OsString, OwnedFd)>,
    /// What is left of the path, the next part last.
    to_go: Vec<OsString>,
    posts: Vec<Post>,
    read: bool,
}

impl Walk {
    fn go(&mut self) -> io::Result<End> {
        let mut links = 0;
        while let Some(part) = self.to_go.pop() {
            if part == ".." {
                if self.passed.pop().is_none() {
                    return Ok(End::Outside);
                }
                continue;
            }
            let here = self.passed.last().map_or(&self.root, |(_, folder)| folder);
            let found = match rustix::fs::openat(here.as_fd(), &part, LOOK, Mode::empty()) {
                Ok(found) => found,
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(End::Nothing),
                Err(error) => return Err(error.into()),
            };
            let stat = rustix::fs::fstat(&found)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    links += 1;
                    if links > LINKS {
                        return Ok(End::Nothing);
                    }
                    if !self.link(&part, &found, &stat)? {
                        return Ok(End::Outside);
                    }
                }
                FileType::Directory => self.passed.push((part, found)),
                FileType::RegularFile if self.to_go.is_empty() => {
                    self.file(&part, &found, &stat)?;
                    return Ok(End::File);
                }
                _ => return Ok(End::Nothing),
            }
        }
        Ok(End::Nothing)
    }

    fn path_of(&self, part: &OsStr) -> io::Result<String> {
        let mut path: PathBuf = self.passed.iter().map(|(name, _)| name).collect();
        path.push(part);
        let name = path.into_os_string().into_string();
        name.map_err(|path| {
            io::Error::other(format!("the name of {} is not UTF-8", path.display()))
        })
    }

    /// Passes a link; gives whether it stays below the root.
    fn link(&mut self, part: &OsStr, found: &OwnedFd, stat: &Stat) -> io::Result<bool> {
        let target = rustix::fs::readlinkat(found, "", Vec::new())?;
        self.posts.push(Post {
            path: self.path_of(part)?,
            digest: Digest::of(target.as_bytes()),
            stamp: Stamp::of(stat),
            is_link: true,
        });
        Ok(self.turn(Path::new(OsStr::from_bytes(target.as_bytes()))))
    }

    fn file(&mut self, part: &OsStr, found: &OwnedFd, stat: &Stat) -> io::Result<()> {
        let path = self.path_of(part)?;
        let (digest, stamp) = if self.read {
            let file = File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))?;
            let digest = Digest::of_reader(&file)?;
            // As it is once it was read.
            let stamp = Stamp::of_open(&file).unwrap_or(Stamp::of(stat));
            (digest, stamp)
        } else {
            (Digest::of(b""), Stamp::of(stat))
        };
        self.posts.push(Post {
            path,
            digest,
            stamp,
            is_link: false,
        });
        Ok(())
    }

    /// Goes on along another path; gives whether that begins below the root.
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
        self.to_go
            .extend(parts.map(|part| part.as_os_str().to_owned()));
        true
    }
}
