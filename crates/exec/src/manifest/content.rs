use std::{fs::File, io, path::Path};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use wf_base::digest::Sha256Digest;

use super::WorkspaceManifest;
use crate::{
    disk::{confined_dir::ConfinedDir, files::FileStamp},
    work_error::WorkError,
};

/// The flags to open a file: no link is followed, and a pipe does not block.
const READ_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// True for a link, whose content is its target path.
    pub link: bool,
    /// True for a file with a permission to execute it.
    pub executable: bool,
    pub digest: Sha256Digest,
}

impl FileContent {
    /// Reads a file's content if the file is still the one in a manifest: content from a moment before or after does
    /// not count. `root` is the walked folder.
    pub fn of_listed(
        manifest: &WorkspaceManifest,
        root: &ConfinedDir,
        path: &Path,
    ) -> Result<Self, WorkError> {
        let listed = manifest.stamp(path);
        let shown = path.display();
        let unable = |error: io::Error| WorkError::environmental(format!("cannot read `{shown}`: {error}"));
        let (content, read) = read(root, path).map_err(unable)?;
        if Some(read) != listed {
            let reason = format!("`{shown}` changed while it was read; try again");
            return Err(WorkError::environmental(reason));
        }
        Ok(content)
    }
}

fn read(root: &ConfinedDir, path: &Path) -> io::Result<(FileContent, FileStamp)> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default();
    let folder = root.find(parent)?;
    let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let file = File::from(rustix::fs::openat(&folder, name, READ_FLAGS, Mode::empty())?);
            let digest = Sha256Digest::of_reader(&file)?;
            // The stamp after reading.
            let read = FileStamp::from(rustix::fs::fstat(&file)?);
            Ok((FileContent { link: false, executable: read.mode & 0o111 != 0, digest }, read))
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&folder, name, Vec::new())?;
            let digest = Sha256Digest::of_bytes(target.as_bytes());
            Ok((FileContent { link: true, executable: false, digest }, stat.into()))
        }
        _ => Err(Errno::NXIO.into()),
    }
}
