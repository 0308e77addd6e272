use std::ffi::OsStr;
use std::path::Path;

/// A part of a repository in a workspace, by how git treats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitPart {
    /// It says what the commits, branches and files are: a check sees it as it was when the run began.
    State,
    /// It comes and goes with each command, or is named by the digest of its content: objects, logs, locks.
    Working,
    /// It changes when somebody edits it: settings, hooks, attributes.
    Setting,
}

/// The files of the state.
const STATE_FILES: [&str; 4] = ["HEAD", "index", "packed-refs", "shallow"];

/// The folders that decide about everything in them.
const FOLDERS: [(&str, GitPart); 8] = [
    ("refs", GitPart::State),
    ("objects", GitPart::Working),
    ("logs", GitPart::Working),
    // Each is the folder of another work tree.
    ("worktrees", GitPart::Working),
    ("rebase-apply", GitPart::Working),
    ("rebase-merge", GitPart::Working),
    ("sequencer", GitPart::Working),
    ("hooks", GitPart::Setting),
];

/// The files that commands leave for the next one.
const WORKING_FILES: [&str; 9] = [
    "AUTO_MERGE",
    "BISECT_LOG",
    "COMMIT_EDITMSG",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "SQUASH_MSG",
    "gc.log",
    "gc.pid",
];

impl GitPart {
    /// Returns the part that a path of a workspace is; `None`: it is in no repository.
    pub fn of(path: &Path) -> Option<Self> {
        let mut parts = path.iter().skip_while(|part| *part != ".git").skip(1).peekable();
        parts.peek()?;
        let known = |part: &OsStr| FOLDERS.iter().find(|(name, _)| part == *name).map(|(_, part)| *part);
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_lock = Path::new(name).extension().is_some_and(|ending| ending == "lock");
        Some(match parts.find_map(known) {
            Some(Self::State) if is_lock => Self::Working,
            Some(part) => part,
            None if STATE_FILES.contains(&name) => Self::State,
            None if is_lock || name.ends_with("_HEAD") || WORKING_FILES.contains(&name) => Self::Working,
            None => Self::Setting,
        })
    }

    /// True for the state of a repository.
    pub fn is_state(path: &Path) -> bool {
        Self::of(path) == Some(Self::State)
    }

    /// True for what commands of git write all the time, and what is named by its content.
    pub fn is_working(path: &Path) -> bool {
        Self::of(path) == Some(Self::Working)
    }
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
            (".git/logs/refs/heads/main", Some(GitPart::Working)),
            (".git/FETCH_HEAD", Some(GitPart::Working)),
            (".git/COMMIT_EDITMSG", Some(GitPart::Working)),
            (".git/rebase-merge/onto", Some(GitPart::Working)),
            (".git/worktrees/side/HEAD", Some(GitPart::Working)),
            (".git/modules/sub/index", Some(GitPart::State)),
            (".git/modules/sub/objects/ab/c", Some(GitPart::Working)),
            ("sub/.git/refs/tags/v1", Some(GitPart::State)),
            (".git/hooks/pre-commit", Some(GitPart::Setting)),
            (".git/info/attributes", Some(GitPart::Setting)),
            (".git/config", Some(GitPart::Setting)),
            (".git/description", Some(GitPart::Setting)),
        ] {
            assert_eq!(GitPart::of(Path::new(path)), expected, "{path}");
        }
    }
}
