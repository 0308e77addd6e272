//! The files of results for reuse: those that globs match, kept as they are and put back as they were.
//!
//! A link is kept as a link, and nothing is kept or put back behind one: the files there are not the step's.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fmt::Display,
    fs, io,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

use walkdir::DirEntry;

use wf_base::{digest::Sha256Digest, redact::SecretMask};
use wf_core::machine::{CachedFile, CachedFileKind};

use super::{
    confined_dir::{ConfinedDir, PathLookupError},
    files::{self, FileStamp, plain},
};
use crate::work_error::WorkError;

/// The content of a file for reuse.
#[derive(Clone, Copy, Debug)]
pub enum CachedContent<'a> {
    /// The one of a regular file.
    File(&'a Path),
    /// The target of a link; of a folder, nothing.
    Text(&'a [u8]),
}

/// Keeps the matches of globs with `keep`, a function to digest and size. A glob without a match is an error, and so
/// are a file containing a secret and a link leading out of the workspace.
pub fn collect<E: Display>(
    root: &Path,
    globs: &[String],
    mask: &SecretMask,
    mut keep: impl FnMut(CachedContent<'_>) -> Result<(Sha256Digest, u64), E>,
) -> Result<Vec<CachedFile>, WorkError> {
    let mut paths = BTreeSet::new();
    for glob in globs {
        let matches = matches(root, glob)?;
        if matches.iter().all(|(_, kind)| *kind == CachedFileKind::Folder) {
            return Err(WorkError::logical(format!("no file matches `{glob}`")));
        }
        paths.extend(matches);
    }
    let mut files = Vec::with_capacity(paths.len());
    for (path, kind) in paths {
        let unable = |error: &dyn Display| files::unable_to_store(&path, error);
        let at = root.join(&path);
        files::refuse_secret(&path, (kind == CachedFileKind::File).then_some(&at), mask)?;
        let stored = match kind {
            CachedFileKind::File => keep(CachedContent::File(&at)),
            CachedFileKind::Folder => keep(CachedContent::Text(b"")),
            CachedFileKind::Link => {
                let target = fs::read_link(&at).map_err(|error| unable(&error))?;
                refuse_leading_out(root, &path, &target)?;
                files::refuse_secret(&target.to_string_lossy(), None, mask)?;
                keep(CachedContent::Text(target.as_os_str().as_bytes()))
            }
        };
        let (digest, size) = stored.map_err(|error| unable(&error))?;
        let metadata = fs::symlink_metadata(&at).map_err(|error| unable(&error))?;
        files.push(CachedFile { digest, size, mode: metadata.permissions().mode() & 0o7777, kind, path });
    }
    Ok(files)
}

/// Returns the files and links that globs match and that are not among those of a result.
pub fn surplus(root: &Path, globs: &[String], files: &[CachedFile]) -> Result<BTreeSet<String>, WorkError> {
    let own: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut paths = BTreeSet::new();
    for glob in globs {
        let other = matches(root, glob)?.into_iter().filter(|(_, kind)| *kind != CachedFileKind::Folder);
        paths.extend(other.map(|(path, _)| path).filter(|path| !own.contains(path.as_str())));
    }
    Ok(paths)
}

/// The files and links that globs matched at one time.
#[derive(Clone, Debug, Default)]
pub struct EarlierFiles(BTreeMap<String, FileStamp>);

impl EarlierFiles {
    /// Finds the present matches of globs.
    pub fn find(root: &Path, globs: &[String]) -> Result<Self, WorkError> {
        let paths = surplus(root, globs, &[])?.into_iter();
        let stamped = paths.filter_map(|path| stamp(root, &path).map(|stamp| (path, stamp)));
        Ok(Self(stamped.collect()))
    }

    /// Returns an unchanged file: nothing has written it since.
    pub fn untouched(&self, root: &Path) -> Option<&str> {
        let same = |(path, then): &(&String, &FileStamp)| stamp(root, path).as_ref() == Some(*then);
        self.0.iter().find(same).map(|(path, _)| path.as_str())
    }
}

fn stamp(root: &Path, path: &str) -> Option<FileStamp> {
    rustix::fs::lstat(root.join(path)).ok().map(FileStamp::from)
}

/// Puts files back: those with content by `fetch`, which writes it to a path; links with the target
/// that `read` returns. Their folders are created.
pub fn restore<E: Display>(
    root: &Path,
    files: &[CachedFile],
    mut fetch: impl FnMut(&CachedFile, &Path) -> Result<(), E>,
    mut read: impl FnMut(&Sha256Digest) -> Result<Vec<u8>, E>,
) -> Result<(), WorkError> {
    for file in files {
        let unable = |error: &dyn Display| {
            WorkError::environmental(format!("cannot restore `{}`: {error}", file.path))
        };
        let path = Path::new(plain(&file.path)?);
        let folder = if file.kind == CachedFileKind::Folder { Some(path) } else { path.parent() };
        if let Some(folder) = folder {
            refuse_link(root, folder)?;
            let folder_result = ConfinedDir::open(root).and_then(|root| root.make_folder(folder));
            folder_result.map_err(|missed| missed.unable(folder))?;
        }
        let to = root.join(path);
        match file.kind {
            CachedFileKind::Folder => {}
            CachedFileKind::File => fetch(file, &to).map_err(|error| unable(&error))?,
            CachedFileKind::Link => {
                let target = read(&file.digest).map_err(|error| unable(&error))?;
                let target = Path::new(OsStr::from_bytes(&target));
                replace_by_link(target, &to).map_err(|error| unable(&error))?;
                if refuse_leading_out(root, &file.path, target).is_err() {
                    drop(fs::remove_file(&to));
                    return Err(unable(&"it is a link that leads out of this workspace"));
                }
            }
        }
    }
    Ok(())
}

/// Returns the files and links a glob matches, and the folders without anything in them.
fn matches(root: &Path, glob: &str) -> Result<Vec<(String, CachedFileKind)>, WorkError> {
    let start = Path::new(files::literal_part(plain(glob)?));
    // A glob without special characters may name a link itself.
    let folder = if start == Path::new(plain(glob)?) { start.parent().unwrap_or(start) } else { start };
    refuse_link(root, folder)?;
    let mut paths = Vec::new();
    let mut starts_at_link = false;
    files::walk(root, glob, &mut |path, entry| {
        starts_at_link |= entry.depth() == 0 && entry.path_is_symlink();
        let kind = kind(entry).filter(|_| !starts_at_link || entry.depth() == 0);
        paths.extend(kind.map(|kind| (path.to_owned(), kind)));
        Ok(kind.is_some())
    })?;
    Ok(paths)
}

/// Returns the kind of a kept entry.
fn kind(entry: &DirEntry) -> Option<CachedFileKind> {
    let is_empty = |path: &Path| fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    match entry.file_type() {
        kind if kind.is_symlink() => Some(CachedFileKind::Link),
        kind if kind.is_file() => Some(CachedFileKind::File),
        kind if kind.is_dir() && is_empty(entry.path()) => Some(CachedFileKind::Folder),
        _ => None,
    }
}

/// Refuses a folder reached through a link. A missing one is none.
fn refuse_link(root: &Path, folder: &Path) -> Result<(), WorkError> {
    let mut link: Option<PathBuf> = None;
    let traced = ConfinedDir::open(root).and_then(|root| {
        root.trace(folder, &mut |path, _, _| {
            link.get_or_insert(path);
        })
    });
    match (link, traced) {
        (Some(link), _) => {
            let link = link.display();
            Err(WorkError::logical(format!(
                "`{link}` is a link, and what is behind it is not cached; name what it leads to in `cache.outputs`"
            )))
        }
        (None, Ok(_) | Err(PathLookupError::Absent)) => Ok(()),
        (None, Err(missed)) => Err(missed.unable(folder)),
    }
}

/// Refuses a link leading out of the workspace, whether or not its target exists, or into its state.
fn refuse_leading_out(root: &Path, path: &str, target: &Path) -> Result<(), WorkError> {
    match ConfinedDir::open(root).and_then(|root| root.find(Path::new(path))) {
        Ok(_) | Err(PathLookupError::Absent) => files::refuse_state_folder(root, &root.join(path)),
        Err(PathLookupError::Outside) => Err(WorkError::logical(format!(
            "`{path}` points outside the workspace: it is a link to `{}`",
            target.display()
        ))),
        Err(missed) => Err(missed.unable(Path::new(path))),
    }
}

/// Creates a link, in the place of a file or link that is there.
fn replace_by_link(target: &Path, to: &Path) -> io::Result<()> {
    match symlink(target, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(to)?;
            symlink(target, to)
        }
        made => made,
    }
}

#[cfg(test)]
mod tests;
