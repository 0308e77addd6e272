use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::inotify::{self, WatchFlags},
    io::Errno,
};

/// The folders full of build products.
const BUILD_FOLDERS: [&str; 2] = ["target", "node_modules"];

/// The most attempts to watch an unsteady path.
const MAX_WATCH_TRIES: usize = 16;

/// A watched folder, and the relevant names in it.
#[derive(Debug, Default)]
pub(super) struct WatchedFolder {
    /// True if everything in it counts.
    tree: bool,
    /// The relevant names in it.
    names: BTreeSet<OsString>,
}

impl WatchedFolder {
    /// True if a change of this name counts.
    pub(super) fn counts(&self, name: &OsStr, is_folder: bool) -> bool {
        self.is_awaited(name) || (self.tree && !is_skipped(name, is_folder))
    }

    /// True if exactly this name was waited for.
    pub(super) fn is_awaited(&self, name: &OsStr) -> bool {
        self.names.contains(name)
    }
}

/// True if changes of this name are ignored.
fn is_skipped(name: &OsStr, is_folder: bool) -> bool {
    let is_built = || BUILD_FOLDERS.iter().any(|is_built| name == *is_built);
    name.as_bytes().starts_with(b".") || (is_folder && is_built())
}

/// Every watched folder, by its watch descriptor.
pub(super) type WatchedFolders = BTreeMap<i32, WatchedFolder>;

/// Finds the places to watch on the disk as it is, and watches them. A watched folder
/// before keeps its number.
pub(super) fn watch_folders(
    queue: &OwnedFd,
    folders: &[PathBuf],
    files: &[PathBuf],
) -> io::Result<WatchedFolders> {
    let mut finder = FolderFinder { queue, places: WatchedFolders::new() };
    for folder in folders {
        if !finder.tree(folder)? {
            finder.anchor(folder)?;
            // It may have come just before its parent was watched.
            finder.tree(folder)?;
        }
    }
    for file in files {
        finder.anchor(file)?;
        match fs::canonicalize(file) {
            Ok(led) if led != *file => finder.anchor(&led)?,
            _ => {}
        }
    }
    Ok(finder.places)
}

struct FolderFinder<'q> {
    queue: &'q OwnedFd,
    places: WatchedFolders,
}

impl FolderFinder<'_> {
    /// Watches a folder and all below; true if it exists.
    fn tree(&mut self, root: &Path) -> io::Result<bool> {
        if self.add(root, true)?.map(|place| place.tree = true).is_none() {
            return Ok(false);
        }
        let mut open = vec![root.to_path_buf()];
        while let Some(folder) = open.pop() {
            // A folder that can no longer be listed is gone, and that is a change of its own.
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && !is_skipped(&entry.file_name(), true) {
                    let path = entry.path();
                    if let Some(place) = self.add(&path, false)? {
                        place.tree = true;
                        open.push(path);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Watches the nearest folder above `path` for the next name on the way there.
    fn anchor(&mut self, path: &Path) -> io::Result<()> {
        for _ in 0..MAX_WATCH_TRIES {
            let above = path.ancestors().zip(path.ancestors().skip(1));
            let mut parent = None;
            for (below, folder) in above {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                let Some(name) = below.file_name() else {
                    continue;
                };
                if let Some(place) = self.add(folder, true)? {
                    place.names.insert(name.to_owned());
                    parent = Some(below);
                    break;
                }
            }
            // Folders in between may have come meanwhile.
            match parent {
                Some(below) if below != path && below.is_dir() => {}
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Watches a folder; `None`: it does not exist, or may not be read.
    fn add(&mut self, folder: &Path, follow: bool) -> io::Result<Option<&mut WatchedFolder>> {
        let mut flags = WatchFlags::ONLYDIR
            | WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        if !follow {
            flags |= WatchFlags::DONT_FOLLOW;
        }
        match inotify::add_watch(self.queue, folder, flags) {
            Ok(number) => Ok(Some(self.places.entry(number).or_default())),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => Ok(None),
            Err(Errno::NOSPC) => {
                let shown = folder.display();
                let reason = format!(
                    "cannot watch `{shown}`: this user has reached the limit of watched folders; \
                     raise it with `sysctl fs.inotify.max_user_watches=524288`"
                );
                Err(io::Error::other(reason))
            }
            Err(error) => {
                let reason = format!("cannot watch `{}`: {error}", folder.display());
                Err(io::Error::new(io::Error::from(error).kind(), reason))
            }
        }
    }
}
