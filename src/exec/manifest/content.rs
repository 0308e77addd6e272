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

impl Manifest {
    /// The digest of a file's content, or of the path that a link holds, if the file is still the one that is
    /// listed: what was there a moment before or after does not count. `root` is the folder that was walked.
    pub fn digest(&self, root: &Beneath, path: &Path) -> Result<Digest, Unable> {
        let listed = self.stamp(path);
        let shown = path.display();
        let unable =
            |error: io::Error| Unable::environmental(format!("cannot read `{shown}`: {error}"));
        let (digest, read) = read(root, path).map_err(unable)?;
        if Some(read) != listed {
            let why = format!("`{shown}` was changed while it was read; try again");
            return Err(Unable::environmental(why));
        }
        Ok(digest)
    }
}

fn read(root: &Beneath, path: &Path) -> io::Result<(Digest, Stamp)> {
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
            // As it is once it was read.
            Ok((digest, stamp(&rustix::fs::fstat(&file)?)))
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
            Ok((Digest::of(target.as_bytes()), stamp(&found)))
        }
        _ => Err(Errno::NXIO.into()),
    }
}
