//! Files of the workspace appearing with the bytes kept of them.
//!
//! They are files of a layer over the workspace. A mount over the file itself would not hold: whoever
//! renames or replaces the file or a folder above it, from outside, moves that mount away.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use super::{
    mount::{MountAccess, by_descriptor, new, open, open_without_links, overlay, remount},
    mounts::{SandboxViewBuilder, scratch_size, view_error},
};
use crate::sandbox::{error::SandboxError, spec::KeptCopy};

/// The most bytes of the layer's files, in memory. Further copies are mounted: a process can read them, and neither
/// write nor replace them.
const MAX_LAYER_BYTES: u64 = 64 << 20;

/// The workspace as it is, below the layer.
const LOW: &str = "/low";

/// The operation, in errors.
const SHOW: &str = "show verified files as they were kept";

impl SandboxViewBuilder<'_> {
    /// Puts the copies into the layer at a place.
    pub(super) fn show_kept(&self, place: &Path) -> Result<(), SandboxError> {
        show(place, &self.copies()?, self.room()).map_err(view_error(SHOW))
    }

    /// Shows the workspace below a read-only layer with its copies, if there are any. Returns false
    /// where there is no layer.
    pub(super) fn layer_kept(&self, root: &OwnedFd, place: &Path) -> Result<bool, SandboxError> {
        let copies = self.copies()?;
        if copies.is_empty() || overlay(root, place, &[]).is_err() {
            return Ok(false);
        }
        let shown = show(place, &copies, self.room())
            .and_then(|()| show_beside(place, &copies))
            .and_then(|()| remount(&new(place), MountAccess::Read, false));
        shown.map_err(view_error(SHOW))?;
        Ok(true)
    }

    /// Returns the most bytes of copies in memory.
    fn room(&self) -> u64 {
        let memory = self.sandbox.limits.memory.unwrap_or(u64::MAX);
        MAX_LAYER_BYTES.min(scratch_size(self.sandbox).min(memory) / 4)
    }

    /// Opens the shown copies.
    fn copies(&self) -> Result<Vec<(&KeptCopy, OwnedFd)>, SandboxError> {
        let copies = self.sandbox.copies.iter();
        let opened = copies.map(|copy| Ok((copy, self.find(&copy.copy)?.0)));
        opened.collect::<io::Result<_>>().map_err(view_error(SHOW))
    }

    /// Returns the copy shown in place of a file.
    pub(super) fn copy_of(&self, place: &Path) -> Option<&Path> {
        let path = place.strip_prefix(self.canonical(&self.sandbox.root)?).ok()?;
        let copy = self.sandbox.copies.iter().find(|kept| kept.path == path)?;
        Some(&copy.copy)
    }
}

/// Puts copies into the layer at a place; each comes with its opened file. `room` is the number of
/// bytes that may be in memory. A file that is not there stays absent, unless the copy is of the start of the run.
fn show(place: &Path, copies: &[(&KeptCopy, OwnedFd)], room: u64) -> io::Result<()> {
    let root = open(&new(place))?;
    let mut left = room;
    for (kept, source) in copies {
        let (Some(folder), Some(name)) = (kept.path.parent(), kept.path.file_name()) else {
            continue;
        };
        let Some(folder) = opened_folder(&root, folder, kept.is_original)? else {
            continue;
        };
        let at = by_descriptor(&folder).join(name);
        match fs::symlink_metadata(&at) {
            Ok(metadata) if metadata.is_file() => fs::remove_file(&at)?,
            Ok(metadata) if kept.is_original && metadata.is_dir() => fs::remove_dir_all(&at)?,
            Ok(_) if kept.is_original => fs::remove_file(&at)?,
            Ok(_) => return Err(io::Error::other(format!("{} is no file any more", kept.path.display()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !kept.is_original => continue,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut copy = File::open(by_descriptor(source))?;
        let stat = copy.metadata()?;
        let mut file = File::create_new(&at)?;
        if let Some(rest) = left.checked_sub(stat.len()) {
            left = rest;
            io::copy(&mut copy, &mut file)?;
            file.set_permissions(stat.permissions())?;
            file.set_modified(stat.modified()?)?;
        } else {
            rustix::mount::mount_bind(by_descriptor(source), &at)?;
            remount(&new(&place.join(&kept.path)), MountAccess::Read, false)?;
        }
    }
    Ok(())
}

/// Opens a folder; `create`: makes it where it is missing. `None`: it is not there.
fn opened_folder(root: &OwnedFd, folder: &Path, create: bool) -> io::Result<Option<OwnedFd>> {
    match open_without_links(root, &below(folder)) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && create => {
            let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
                return Ok(None);
            };
            let Some(above) = opened_folder(root, above, true)? else {
                return Ok(None);
            };
            fs::create_dir(by_descriptor(&above).join(name))?;
            open_without_links(root, &below(folder)).map(Some)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Shows the folders beside copies as they are at any time, with what is mounted in them, and sockets so they can be
/// used.
fn show_beside(place: &Path, copies: &[(&KeptCopy, OwnedFd)]) -> io::Result<()> {
    remount(Path::new(LOW), MountAccess::Read, true)?;
    let (low, root) = (open(Path::new(LOW))?, open(&new(place))?);
    let paths = copies.iter().map(|(copy, _)| copy.path.as_path());
    let above: BTreeSet<&Path> = paths.flat_map(|path| path.ancestors().skip(1)).collect();
    for folder in &above {
        let Ok(opened) = open_without_links(&low, &below(folder)) else {
            continue;
        };
        for entry in fs::read_dir(by_descriptor(&opened))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if above.contains(path.as_path()) || kind.is_file() || kind.is_symlink() {
                continue;
            }
            // What is gone by now need not be shown.
            if let (Ok(source), Ok(target)) =
                (open_without_links(&low, &path), open_without_links(&root, &path))
            {
                rustix::mount::mount_bind_recursive(by_descriptor(&source), by_descriptor(&target))?;
            }
        }
    }
    Ok(())
}

/// Returns a folder below a root as a path that can be opened.
fn below(folder: &Path) -> PathBuf {
    Path::new(".").join(folder)
}
