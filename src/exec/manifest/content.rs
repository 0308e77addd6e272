use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::walk::stamp;
use super::{Manifest, Stamp};
use crate::digest::Digest;
use crate::exec::Unable;
use crate::exec::beneath::{Beneath, Missed};

/// What a file is opened with: no link is followed, and nobody who keeps a pipe makes us wait.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Whether it is a link, whose content is the path that it holds.
    pub link: bool,
    pub digest: Digest,
}

impl Manifest {
    /// A file's content, if the file is still the one that is listed: what was there a moment before or after
    /// does not count. `root` is the folder that was walked.
    pub fn content(&self, root: &Beneath, path: &Path) -> Result<Content, Unable> {
        let listed = self.stamp(path);
        let shown = path.display();
        let unable =
            |error: io::Error| Unable::environmental(format!("cannot read `{shown}`: {error}"));
        let (content, read) = read(root, path).map_err(unable)?;
        if Some(read) != listed {
            let why = format!("`{shown}` was changed while it was read; try again");
            return Err(Unable::environmental(why));
        }
        Ok(content)
    }
}

fn read(root: &Beneath, path: &Path) -> io::Result<(Content, Stamp)> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default();
    let folder = root.find(parent).map_err(|missed| match missed {
        Missed::Failed(error) => error.into(),
        Missed::Absent | Missed::Outside => io::Error::from(Errno::NOENT),
    })?;
    let found = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {
            let file = File::from(rustix::fs::openat(&folder, name, READ, Mode::empty())?);
            let digest = Digest::of_reader(&file)?;
            let content = Content {
                link: false,
                digest,
            };
            // As it is once it was read.
            Ok((content, stamp(&rustix::fs::fstat(&file)?)))
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
            let content = Content {
                link: true,
                digest: Digest::of(target.as_bytes()),
            };
            Ok((content, stamp(&found)))
        }
        _ => Err(Errno::NXIO.into()),
    }
}
