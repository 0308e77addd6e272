//! The writable parts of the workspace: what a grant names, and nothing a link leads to.
//!
//! A link in a grant would be the choice of whoever made it, for example an earlier step that may write
//! the folder around it. So grants are opened without following links.

use std::{
    fs,
    io::{self, ErrorKind},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags},
    io::Errno,
};

use super::{
    mount::{MountAccess, OLD_ROOT, beneath, bind, by_descriptor, open_without_links},
    mounts::view_error,
};
use crate::sandbox::{control::plain, error::SandboxError};

/// Makes parts of a folder shown at a place writable: parents first, so the closest name decides.
pub(super) fn show_writable(
    root: &OwnedFd,
    place: &Path,
    write: &[String],
    control: &[String],
) -> Result<(), SandboxError> {
    let mut parts = control_parts(root, place, control)?;
    for path in write {
        let Some(source) = open_grant(root, path, write)? else { continue };
        let at = place.join(plain(path));
        if let Some((file, ..)) =
            parts.iter().find(|(_, file, _, access)| *access == MountAccess::Read && at.starts_with(file))
        {
            return Err(SandboxError::ControlGrant { path: path.clone(), file: (*file).clone() });
        }
        parts.push((path, at, source, MountAccess::Write));
    }
    parts.sort_by_key(|(_, at, _, access)| (at.components().count(), *access == MountAccess::Read));
    for (_, at, source, access) in parts {
        bind(&source, &at, access)?;
    }
    Ok(())
}

/// A part of the workspace: the name it was asked for by, its place, itself, and the access to it.
type GrantedPart<'a> = (&'a String, PathBuf, OwnedFd, MountAccess);

/// Opens the existing control files: where they are, also behind links.
fn control_parts<'a>(
    root: &OwnedFd,
    place: &Path,
    control: &'a [String],
) -> Result<Vec<GrantedPart<'a>>, SandboxError> {
    let folder = real_path(root)?;
    let mut parts = Vec::new();
    for file in control {
        // A missing file cannot be mounted; a step that creates it fails afterwards.
        if let Ok(source) = beneath(root, file, OFlags::PATH) {
            let at = real_path(&source)?;
            // It is shown elsewhere, if the folder is not the workspace itself.
            let at = at.strip_prefix(&folder).map(|below| place.join(below)).unwrap_or(at);
            parts.push((file, at, source, MountAccess::Read));
        }
    }
    Ok(parts)
}

/// Opens the target of a grant. A missing folder is created. `None`: a missing file, which can be created in the folder
/// of another grant.
fn open_grant(root: &OwnedFd, path: &str, grants: &[String]) -> Result<Option<OwnedFd>, SandboxError> {
    let failed = |error| view_error(&format!("make `{path}` writable"))(error);
    match open_without_links(root, Path::new(path)) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let is_above = |grant: &String| {
                let (own, grant) = (plain(path), plain(grant));
                own != grant && own.starts_with(grant)
            };
            let has_folder = grants.iter().any(is_above);
            match is_named_like_file(path) {
                true if !has_folder => Err(missing_file(path)),
                true => Ok(None),
                // A clone wants no folder there before.
                false if has_folder && is_mark_of_repository(path) => Ok(None),
                false => make(root, path).map(Some).map_err(failed),
            }
        }
        Err(error) => Err(linked(root, path).unwrap_or_else(|| failed(error))),
        Ok(source) => Ok(Some(source)),
    }
}

/// True if a path names the file or folder by which git knows a repository.
fn is_mark_of_repository(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name == ".git" || name == "HEAD")
}

/// True if the last part of a path has an extension beginning with a letter, and no `/` says that it is a folder.
fn is_named_like_file(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    let is_word =
        extension.is_some_and(|extension| extension.starts_with(|first: char| first.is_alphabetic()));
    is_word && !path.ends_with('/')
}

fn missing_file(path: &str) -> SandboxError {
    let folder = plain(path).parent().map(Path::to_path_buf).unwrap_or_default();
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
    SandboxError::MissingGrant { path: path.to_owned(), folder: folder.to_path_buf() }
}

/// Explains the first link of a path; `None`: it has none.
fn linked(root: &OwnedFd, path: &str) -> Option<SandboxError> {
    let mut link = PathBuf::new();
    let target = plain(path).iter().find_map(|part| {
        link.push(part);
        let parent = open_without_links(root, &Path::new(".").join(link.parent()?)).ok()?;
        let stat = rustix::fs::statat(&parent, part, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        FileType::from_raw_mode(stat.st_mode).is_symlink().then_some(())?;
        rustix::fs::readlinkat(&parent, part, Vec::new()).ok()
    })?;
    let real = || real_path(&beneath(root, path, OFlags::PATH).ok()?).ok();
    let below = |real: PathBuf| Some(real.strip_prefix(real_path(root).ok()?).ok()?.to_path_buf());
    Some(SandboxError::LinkedGrant {
        path: path.to_owned(),
        link,
        target: target.to_string_lossy().into_owned(),
        real: real().and_then(below),
    })
}

/// Creates a folder below another, with its parents, and opens it.
fn make(root: &OwnedFd, path: &str) -> io::Result<OwnedFd> {
    let mut folder = open_without_links(root, Path::new("."))?;
    for part in &plain(path) {
        match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = open_without_links(&folder, Path::new(part))?;
    }
    Ok(folder)
}

/// Returns the path without links of an open file.
fn real_path(source: &OwnedFd) -> Result<PathBuf, SandboxError> {
    let target = fs::read_link(by_descriptor(source)).map_err(view_error("look"))?;
    let at = target.strip_prefix(OLD_ROOT).unwrap_or(&target);
    Ok(Path::new("/").join(at))
}
