//! The parts of a repository by their use in git, and the stamp of its moving files.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// A part of a repository in a workspace, by how git treats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitPart {
    /// It defines the commits, branches and files: a check sees it as it was when the run began.
    State,
    /// It tells of earlier commands: logs, the heads they leave. A check sees it as it was, or not at all.
    Trace,
    /// It comes and goes, and says nothing, or is named by the digest of its content: locks, objects.
    Working,
    /// It changes when somebody edits it: settings, hooks, attributes.
    Setting,
}

const STATE_FILES: [&str; 4] = ["HEAD", "index", "packed-refs", "shallow"];

/// The folders deciding about everything in them.
const FOLDERS: [(&str, GitPart); 9] = [
    ("refs", GitPart::State),
    ("reftable", GitPart::State),
    ("objects", GitPart::Working),
    ("logs", GitPart::Trace),
    // Each is the folder of another work tree.
    ("worktrees", GitPart::Trace),
    ("rebase-apply", GitPart::Trace),
    ("rebase-merge", GitPart::Trace),
    ("sequencer", GitPart::Trace),
    ("hooks", GitPart::Setting),
];

/// The files that commands leave for the next one, besides those with `_HEAD` at the end.
const TRACES: [&str; 9] = [
    "AUTO_MERGE",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "SQUASH_MSG",
];

/// The files without meaning.
const WORKING_FILES: [&str; 3] = ["COMMIT_EDITMSG", "gc.log", "gc.pid"];

impl GitPart {
    /// Returns the part a path of a workspace is; `None`: it is in no repository.
    pub fn from_path(path: &Path) -> Option<Self> {
        let mut parts = path.iter().skip_while(|part| *part != ".git").skip(1).peekable();
        parts.peek()?;
        let part_of = |part: &OsStr| FOLDERS.iter().find(|(name, _)| part == *name).map(|(_, part)| *part);
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_lock = Path::new(name).extension().is_some_and(|ending| ending == "lock");
        Some(match parts.find_map(part_of) {
            Some(Self::State) if is_lock => Self::Working,
            Some(part) => part,
            None if is_lock || WORKING_FILES.contains(&name) => Self::Working,
            None if STATE_FILES.contains(&name) => Self::State,
            None if name.ends_with("_HEAD") || TRACES.contains(&name) => Self::Trace,
            None => Self::Setting,
        })
    }

    /// True for the state of a repository.
    pub fn is_state(path: &Path) -> bool {
        Self::from_path(path) == Some(Self::State)
    }

    /// True for records of earlier commands.
    pub fn is_trace(path: &Path) -> bool {
        Self::from_path(path) == Some(Self::Trace)
    }

    /// True for what commands of git write all the time, and what is named by its content.
    pub fn is_working(path: &Path) -> bool {
        Self::from_path(path) == Some(Self::Working)
    }
}

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
    pub(super) fn read_stamp(folders: &[PathBuf; 2]) -> Self {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::GitPart;

    #[test]
    fn a_path_of_a_repository_is_state_or_working_file_or_setting() {
        for (path, expected) in [
            ("src/HEAD", None),
            (".git", None),
            (".gitignore", None),
            (".git/HEAD", Some(GitPart::State)),
            (".git/index", Some(GitPart::State)),
            (".git/packed-refs", Some(GitPart::State)),
            (".git/refs/heads/objects/x", Some(GitPart::State)),
            (".git/refs/heads", Some(GitPart::State)),
            (".git/refs/heads/main.lock", Some(GitPart::Working)),
            (".git/index.lock", Some(GitPart::Working)),
            (".git/objects/pack/pack-1.idx", Some(GitPart::Working)),
            (".git/objects/refs", Some(GitPart::Working)),
            (".git/logs/refs/heads/main", Some(GitPart::Trace)),
            (".git/FETCH_HEAD", Some(GitPart::Trace)),
            (".git/COMMIT_EDITMSG", Some(GitPart::Working)),
            (".git/rebase-merge/onto", Some(GitPart::Trace)),
            (".git/worktrees/side/HEAD", Some(GitPart::Trace)),
            (".git/reftable/tables.list", Some(GitPart::State)),
            (".git/modules/sub/index", Some(GitPart::State)),
            (".git/modules/sub/objects/ab/c", Some(GitPart::Working)),
            ("sub/.git/refs/tags/v1", Some(GitPart::State)),
            (".git/hooks/pre-commit", Some(GitPart::Setting)),
            (".git/info/attributes", Some(GitPart::Setting)),
            (".git/config", Some(GitPart::Setting)),
            (".git/description", Some(GitPart::Setting)),
        ] {
            assert_eq!(GitPart::from_path(Path::new(path)), expected, "{path}");
        }
    }
}
