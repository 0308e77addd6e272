use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, WatchFlags};
use rustix::io::Errno;

/// Folders that are full of what tools made.
const MADE: [&str; 2] = ["target", "node_modules"];

/// How often a path that comes and goes is looked for.
const TRIES: usize = 16;

/// A folder that is watched, and what of it counts.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Whether everything in it does.
    tree: bool,
    /// The names in it that do.
    names: BTreeSet<OsString>,
}

impl Place {
    /// Whether a change of what has this name counts.
    pub(super) fn counts(&self, name: &OsStr, is_folder: bool) -> bool {
        self.is_awaited(name) || (self.tree && !is_skipped(name, is_folder))
    }

    /// Whether just this name was waited for.
    pub(super) fn is_awaited(&self, name: &OsStr) -> bool {
        self.names.contains(name)
    }
}

/// What nobody wants to hear of.
fn is_skipped(name: &OsStr, is_folder: bool) -> bool {
    let made = || MADE.iter().any(|made| name == *made);
    name.as_bytes().starts_with(b".") || (is_folder && made())
}

/// Every watched folder, by the number that the kernel gave it.
pub(super) type Places = BTreeMap<i32, Place>;

/// Finds the places to watch as the disk is now, and watches them. A folder that was watched before
/// keeps its number.
pub(super) fn find(queue: &OwnedFd, folders: &[PathBuf], files: &[PathBuf]) -> io::Result<Places> {
    let mut finder = Finder {
        queue,
        places: Places::new(),
    };
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

struct Finder<'q> {
    queue: &'q OwnedFd,
    places: Places,
}

impl Finder<'_> {
    /// Watches a folder and all below; says whether there is one.
    fn tree(&mut self, root: &Path) -> io::Result<bool> {
        if self
            .add(root, true)?
            .map(|place| place.tree = true)
            .is_none()
        {
            return Ok(false);
        }
        let mut open = vec![root.to_path_buf()];
        while let Some(folder) = open.pop() {
            // What cannot be listed any more is gone, and that is a change of its own.
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

    /// Watches the nearest folder above `path` for the name that leads there.
    fn anchor(&mut self, path: &Path) -> io::Result<()> {
        for _ in 0..TRIES {
            let above = path.ancestors().zip(path.ancestors().skip(1));
            let mut known = None;
            for (below, folder) in above {
                let folder = if folder.as_os_str().is_empty() {
                    Path::new(".")
                } else {
                    folder
                };
                let Some(name) = below.file_name() else {
                    continue;
                };
                if let Some(place) = self.add(folder, true)? {
                    place.names.insert(name.to_owned());
                    known = Some(below);
                    break;
                }
            }
            // What is between may have come meanwhile.
            match known {
                Some(below) if below != path && below.is_dir() => {}
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Watches a folder; `None`: there is none, or it is not ours to see.
    fn add(&mut self, folder: &Path, follow: bool) -> io::Result<Option<&mut Place>> {
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
                let why = format!(
                    "`{shown}` cannot be watched: this user watches as many folders as the system \
                     allows; raise it with `sysctl fs.inotify.max_user_watches=524288`"
                );
                Err(io::Error::other(why))
            }
            Err(error) => {
                let why = format!("`{}` cannot be watched: {error}", folder.display());
                Err(io::Error::new(io::Error::from(error).kind(), why))
            }
        }
    }
}
