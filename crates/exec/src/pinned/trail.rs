//! The resolution of a path below a folder: its links, and the file at its end.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd as _,
    path::{Path, PathBuf},
};

use rustix::fs::FileType;

use wf_base::digest::Sha256Digest;

use crate::disk::{
    confined_dir::{ConfinedDir, PathLookupError},
    files::FileStamp,
};

/// A link or file a path passes.
#[derive(Debug)]
pub(super) struct PathEntry {
    /// Its path relative to the root, without links.
    pub(super) path: String,
    /// The digest of a file's content, or of a link's target.
    pub(super) digest: Sha256Digest,
    /// The stamp identifying this version.
    pub(super) stamp: FileStamp,
    pub(super) is_link: bool,
}

/// The end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathEnd {
    /// A file, the last entry.
    File,
    /// Nothing, or something other than a file.
    Nothing,
    /// A place outside the root.
    Outside,
}

/// Resolves a path relative to a root. A path leading out of the root, or to something other than a file, ends there.
/// The content of the file is digested only on request.
pub(super) fn resolve_path(root: &Path, path: &str, digest: bool) -> io::Result<(Vec<PathEntry>, PathEnd)> {
    let root = ConfinedDir::open(root)?;
    let mut links = Vec::new();
    let target_path = root.trace(Path::new(path), &mut |path, stat, target| {
        links.push((path, FileStamp::from(stat), Sha256Digest::of_bytes(target.to_bytes())));
    });
    let mut entries = Vec::with_capacity(links.len() + 1);
    for (path, stamp, digest) in links {
        entries.push(PathEntry { path: text(path)?, digest, stamp, is_link: true });
    }
    let (path, post) = match target_path {
        Ok(post) => post,
        Err(PathLookupError::Absent) => return Ok((entries, PathEnd::Nothing)),
        Err(PathLookupError::Outside) => return Ok((entries, PathEnd::Outside)),
        Err(PathLookupError::Failed(error)) => return Err(error.into()),
    };
    let mut stat = rustix::fs::fstat(&post)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok((entries, PathEnd::Nothing));
    }
    let digest = if digest {
        let file = File::open(format!("/proc/self/fd/{}", post.as_raw_fd()))?;
        let digest = Sha256Digest::of_reader(&file)?;
        // The stamp after reading.
        stat = rustix::fs::fstat(&file)?;
        digest
    } else {
        Sha256Digest::of_bytes(b"")
    };
    entries.push(PathEntry { path: text(path)?, digest, stamp: stat.into(), is_link: false });
    Ok((entries, PathEnd::File))
}

fn text(path: PathBuf) -> io::Result<String> {
    let name = path.into_os_string().into_string();
    name.map_err(|path| io::Error::other(format!("the file name {} is not valid UTF-8", path.display())))
}
