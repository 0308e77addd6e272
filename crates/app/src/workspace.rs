use std::path::{Component, Path, PathBuf};

use crate::{CliExitCode, CommandError};
use wf_base::digest::Sha256Digest;
use wf_sign::approval::WorkspaceRef;

/// The folder of the work of runs, and the location of their state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Its root: absolute.
    pub root: PathBuf,
    /// The state folder: absolute.
    pub state: PathBuf,
}

/// The mark of a workspace, a file.
pub const CONFIG: &str = "wf.yaml";

/// The state folder of a workspace, unless another one is chosen.
const STATE: &str = ".wf";

/// The file listing the approvers of a workspace.
pub const APPROVERS: &str = "approvers.yaml";

impl Workspace {
    /// Finds the workspace of a folder: the nearest folder upwards with a `wf.yaml`, else the git
    /// top level, else the folder itself; for the `goals` folder of the current folder, the current
    /// folder, where its goals are searched.
    pub fn find(from: &Path, state: Option<&Path>, cwd: &Path) -> Self {
        let holds = |name: &'static str| from.ancestors().find(move |dir| dir.join(name).exists());
        let alone = if from == cwd.join("goals") { cwd } else { from };
        let root = holds(CONFIG).or_else(|| holds(".git")).unwrap_or(alone);
        let state = match state {
            Some(state) => normalize_path(&cwd.join(state)),
            None => root.join(STATE),
        };
        Self { root: root.to_path_buf(), state }
    }

    /// Returns the digest of its place on this machine: another one for a copy, for a linked worktree, and for the same folder
    /// with a state elsewhere.
    pub fn digest(&self) -> Sha256Digest {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let root = real(&self.root);
        let root_bytes = root.as_os_str().as_encoded_bytes();
        // The state need not be there yet.
        if self.state == self.root.join(STATE) || real(&self.state) == root.join(STATE) {
            return Sha256Digest::of_bytes(root_bytes);
        }
        Sha256Digest::of_parts([root_bytes, real(&self.state).as_os_str().as_encoded_bytes()])
    }

    /// Returns the workspace as a statement names it.
    pub fn reference(&self) -> WorkspaceRef {
        let name = self.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        WorkspaceRef { name, host, digest: self.digest() }
    }

    /// A path as specs and records name it: relative to the root, with `/`.
    pub fn name(&self, path: &Path) -> String {
        relative_path(path, &self.root)
    }
}

/// Refuses a path with other bytes than text. Records, messages to the supervisor and variables of steps name
/// paths as text, and a lossy conversion would name another file, or none.
pub fn require_utf8(path: &Path) -> Result<(), CommandError> {
    if path.to_str().is_some() {
        return Ok(());
    }
    let message = format!("the path `{}` is not UTF-8", path.display());
    Err(CommandError::new(CliExitCode::Usage, message)
        .hint("rename the file, or the directory above it whose name is not UTF-8"))
}

/// A path as seen from a folder: relative if it is below it or near it, else as it is.
pub fn relative_path(path: &Path, from: &Path) -> String {
    let mut up = PathBuf::new();
    for base in from.ancestors().take(4) {
        if base.parent().is_none() && base != from {
            break;
        }
        if let Ok(rest) = path.strip_prefix(base) {
            let whole = up.join(rest);
            let empty = whole.as_os_str().is_empty();
            return if empty { ".".into() } else { whole.display().to_string() };
        }
        up.push("..");
    }
    path.display().to_string()
}

/// A path without `.` and, as far as they can be resolved by name, `..`.
pub fn normalize_path(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

    use super::{Workspace, normalize_path, relative_path, require_utf8};

    #[test]
    fn the_nearest_mark_wins() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("repo/.git")).unwrap();
        std::fs::create_dir_all(at("repo/sub/deep")).unwrap();
        let root = |from: &str| Workspace::find(&at(from), None, dir.path()).root;
        assert_eq!(root("repo/sub/deep"), at("repo"));
        std::fs::write(at("repo/sub/wf.yaml"), "").unwrap();
        assert_eq!(root("repo/sub/deep"), at("repo/sub"));
        let elsewhere = Workspace::find(&at("repo"), Some(Path::new("../s")), &at("repo"));
        assert_eq!(elsewhere.state, at("s"));
    }

    #[test]
    fn a_copy_and_another_state_are_other_workspaces() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.join(".wf")).unwrap();
            std::fs::write(path.join("wf.yaml"), "").unwrap();
            path
        };
        let (one, copy) = (folder("one"), folder("copy"));
        let digest = |root: &Path, state: Option<&str>| {
            Workspace::find(root, state.map(Path::new), dir.path()).digest()
        };
        assert_eq!(digest(&one, None), digest(&one, Some("one/.wf")));
        assert_ne!(digest(&one, None), digest(&copy, None));
        assert_ne!(digest(&one, None), digest(&one, Some("elsewhere")));
        let linked = dir.path().join("link");
        std::os::unix::fs::symlink(&one, &linked).unwrap();
        assert_eq!(digest(&linked, None), digest(&one, None), "it is the same place");
    }

    #[test]
    fn only_text_names_a_path() {
        let path = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
        assert!(require_utf8(path("/a/ü".as_bytes())).is_ok());
        let refused = require_utf8(path(b"/a/\xff/c")).unwrap_err();
        assert!(refused.message.contains("not UTF-8"), "{refused:?}");
    }

    #[test]
    fn paths_are_seen_from_where_one_stands() {
        for (path, from, expected) in [
            ("/a/b/c.md", "/a/b", "c.md"),
            ("/a/c.md", "/a/b", "../c.md"),
            ("/a", "/a", "."),
            ("/x/y.md", "/a/b", "/x/y.md"),
        ] {
            assert_eq!(relative_path(Path::new(path), Path::new(from)), expected);
        }
        assert_eq!(normalize_path(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(normalize_path(Path::new("/../a")), Path::new("/../a"));
    }
}
