use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Folder, Manifest, Node, Stamp};
use crate::exec::Unable;

/// The deepest folder that is looked into: each on the way to it takes a descriptor.
const DEEPEST: usize = 256;

/// The most files and folders of a workspace.
const MOST: u64 = 5_000_000;

/// The files and folders that are no part of a workspace although they lie in it: the state, and where
/// this program prints to.
#[derive(Clone, Debug, Default)]
pub struct Excluded(Vec<(u64, u64)>);

impl Excluded {
    /// Takes the folders as they are now, whatever names lead to them, and this program's own outputs.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let found = folders
            .into_iter()
            .filter_map(|path| fs::metadata(path).ok());
        let found = found.map(|found| (found.dev(), found.ino()));
        let (out, err) = (io::stdout(), io::stderr());
        let own = [out.as_fd(), err.as_fd()].map(rustix::fs::fstat);
        let own = own.into_iter().flatten();
        let own = own.map(|stat| (stat.st_dev, stat.st_ino));
        Self(found.chain(own).collect())
    }
}

impl Manifest {
    /// Looks at a workspace. Fails where a part of it cannot be looked at.
    pub fn of(root: &Path, excluded: &Excluded) -> Result<Self, Unable> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(root, flags, Mode::empty());
        let mut walk = Walk {
            excluded,
            at: PathBuf::new(),
            left: MOST,
        };
        let folder = opened.map_err(|error| walk.unable(error))?;
        let stat = rustix::fs::fstat(&folder).map_err(|error| walk.unable(error))?;
        let top = walk.folder(folder.as_fd(), stamp(&stat), 0)?;
        Ok(Self { top })
    }
}

struct Walk<'a> {
    excluded: &'a Excluded,
    /// Where it is, relative to the root.
    at: PathBuf,
    left: u64,
}

impl Walk<'_> {
    fn folder(
        &mut self,
        open: BorrowedFd<'_>,
        stamp: Stamp,
        depth: usize,
    ) -> Result<Folder, Unable> {
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
        Ok(Folder { stamp, entries })
    }

    /// What a name means; `None`: it is gone by now, or no part of the workspace.
    fn node(
        &mut self,
        open: BorrowedFd<'_>,
        name: &OsStr,
        depth: usize,
    ) -> Result<Option<Node>, Unable> {
        let stat = match rustix::fs::statat(open, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.unable(error)),
        };
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            Unable::logical(format!(
                "the workspace has more than {MOST} files and folders"
            ))
        })?;
        if self.excluded.0.contains(&(stat.st_dev, stat.st_ino)) {
            return Ok(None);
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            return Ok(Some(Node::File(stamp(&stat))));
        }
        if depth == DEEPEST {
            let shown = self.at.display();
            let why = format!("`{shown}`: folders in the workspace are more than {DEEPEST} deep");
            return Err(Unable::logical(why));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(open, name, flags, Mode::empty()) {
            Ok(folder) => {
                let folder = self.folder(folder.as_fd(), stamp(&stat), depth + 1)?;
                Ok(Some(Node::Folder(folder)))
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            // Whoever cannot look into it here cannot do so in a check: it runs as the same user.
            Err(Errno::ACCESS) => Ok(Some(Node::Folder(Folder {
                stamp: stamp(&stat),
                entries: Vec::new(),
            }))),
            Err(error) => Err(self.unable(error)),
        }
    }

    fn unable(&self, error: impl Into<io::Error>) -> Unable {
        let (at, error) = (self.at.display(), error.into());
        let place = if self.at.as_os_str().is_empty() {
            "the workspace".to_owned()
        } else {
            format!("`{at}`")
        };
        Unable::environmental(format!("cannot look at {place}: {error}"))
    }
}

pub(super) fn stamp(stat: &Stat) -> Stamp {
    let nanos = |seconds: i64, rest: u64| {
        let rest = i64::try_from(rest).unwrap_or_default();
        seconds.saturating_mul(1_000_000_000).saturating_add(rest)
    };
    Stamp {
        mode: stat.st_mode,
        inode: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
        changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
    }
}
