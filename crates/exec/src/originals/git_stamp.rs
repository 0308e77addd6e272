use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The files and folders deciding what git can read of its objects, besides the folders of loose objects.
const NAMES: [&str; 8] = [
    "commondir",
    "config",
    "config.worktree",
    "info/grafts",
    "objects",
    "objects/info",
    "objects/info/alternates",
    "objects/pack",
];

/// The identity and the last change of a file or folder: its device and inode, and the time in seconds and nanoseconds.
type ChangeStamp = (u64, u64, i64, i64);

/// The signs by which it is known that git can read what it could read before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitStamp(BTreeMap<PathBuf, ChangeStamp>);

impl GitStamp {
    /// Reads those of the folders of a repository.
    pub(super) fn read(folders: &[PathBuf; 2]) -> Self {
        let mut stamps = BTreeMap::new();
        for folder in folders {
            let objects = fs::read_dir(folder.join("objects")).into_iter().flatten().flatten();
            let paths =
                NAMES.map(|name| folder.join(name)).into_iter().chain(objects.map(|entry| entry.path()));
            stamps.extend(paths.filter_map(|path| Some((path.clone(), stamp(&path)?))));
        }
        Self(stamps)
    }
}

fn stamp(path: &Path) -> Option<ChangeStamp> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}
