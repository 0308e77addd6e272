use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{RepositoryGuard, made_by};

/// A workspace with a repository, one that is a folder itself, and a submodule.
struct Workspace(tempfile::TempDir);

impl Workspace {
    fn new() -> Self {
        let workspace = Self(tempfile::tempdir().unwrap());
        for file in
            ["own/.git/config", "mirror.git/HEAD", "mirror.git/objects/x", "mirror.git/refs/x", "sub/.git"]
        {
            workspace.put(file);
        }
        workspace
    }

    fn put(&self, file: &str) {
        let at = self.0.path().join(file);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, "x").unwrap();
    }

    fn has(&self, file: &str) -> bool {
        self.0.path().join(file).symlink_metadata().is_ok()
    }

    fn guard(&self, folders: &[&str], named: &[&str]) -> RepositoryGuard {
        let paths = |all: &[&str]| all.iter().map(|path| Path::new(path).components().collect()).collect();
        let folders: Vec<PathBuf> = paths(folders);
        RepositoryGuard::record(self.0.path(), &folders, paths(named), &[self.0.path().join(".wf")])
    }
}

#[test]
fn those_that_exist_are_protected_and_no_work_of_a_step() {
    let workspace = Workspace::new();
    let guard = workspace.guard(&[""], &["mirror.git"]);
    let mut unnamed = guard.unnamed().unwrap();
    unnamed.sort();
    assert_eq!(unnamed, ["own/.git", "sub/.git"]);
    // A move shows the same repository at another place, and hidden folders are not looked at.
    fs::rename(workspace.0.path().join("own"), workspace.0.path().join("moved")).unwrap();
    workspace.put(".wf/state/.git/config");
    workspace.put("mirror.git/worktrees/w/HEAD");
    workspace.put("mirror.git/worktrees/w/commondir");
    assert_eq!(guard.violation(), None);
}

#[test]
fn new_ones_are_put_aside_wherever_a_step_may_write() {
    let workspace = Workspace::new();
    let guard = workspace.guard(&["out", "own", "out/deep"], &["out", "out/named/.git"]);
    for file in ["out/named/.git/HEAD", "elsewhere/.git/config", "own/file"] {
        workspace.put(file);
    }
    assert_eq!(guard.violation(), None, "named, elsewhere, or none");
    for file in ["out/a/.git/HEAD", "out/a/.git/objects/x", "out/a/.git/refs/x", "own/deep/er/.git"] {
        workspace.put(file);
    }
    for file in ["out/HEAD", "out/commondir"] {
        workspace.put(file);
    }
    let reason = guard.violation().unwrap();
    for left in ["out/a/.git.refused/HEAD.refused", "own/deep/er/.git.refused", "out/HEAD.refused"] {
        assert!(workspace.has(left), "{left}: {reason}");
    }
    assert!(workspace.has("out/named/.git/HEAD") && workspace.has("own/.git/config"), "{reason}");
    assert!(reason.contains("with 1 more like it"), "of those that are in none: {reason}");
    assert_eq!(guard.violation(), None);
}

#[test]
fn a_message_names_the_line_to_write() {
    let workspace = Workspace::new();
    let guard = workspace.guard(&[""], &[""]);
    workspace.put("sub/x/.git");
    let reason = guard.violation().unwrap();
    assert!(
        reason.starts_with("`sub/x/.git` was created, and was moved to `sub/x/.git.refused`:"),
        "{reason}"
    );
    assert!(reason.ends_with("list `sub/x/.git` in `allow.write`"), "{reason}");
    for file in ["b/HEAD", "b/objects/x", "b/refs/x"] {
        workspace.put(file);
    }
    let reason = guard.violation().unwrap();
    assert!(
        reason.contains("`b/HEAD` was created, which makes `b` a git repository, and was moved"),
        "{reason}"
    );
}

#[test]
fn no_tool_writes_the_file_that_makes_a_repository() {
    let workspace = Workspace::new();
    let made = |file: &'static str| {
        let open = |folder: &Path| fs::File::open(workspace.0.path().join(folder)).ok().map(Into::into);
        made_by(Path::new(file), &open).map(Path::to_path_buf)
    };
    assert_eq!(made("mirror.git/config"), Some("mirror.git".into()), "of one that exists");
    assert_eq!(made("mirror.git/hooks/post-merge"), Some("mirror.git".into()));
    workspace.put("a/HEAD");
    workspace.put("a/refs/heads/main");
    assert_eq!(made("a/objects/pack/x"), Some("a".into()));
    assert_eq!(made("a/commondir"), Some("a".into()));
    for file in ["a/config", "HEAD", "b/HEAD", "b/objects/x"] {
        assert_eq!(made(file), None, "{file}");
    }
}
