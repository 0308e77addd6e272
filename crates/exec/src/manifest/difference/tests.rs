use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use super::{DifferenceRules, ManifestDifference};
use crate::manifest::{ExcludedFiles, WorkspaceManifest};

struct Workspace(tempfile::TempDir);

/// Rules that permit differences below these paths.
struct Below<'a>(&'a [&'a str]);

impl DifferenceRules for Below<'_> {
    fn may_change(&self, path: &Path) -> bool {
        self.0.iter().any(|one| path.starts_with(one))
    }

    fn is_named(&self, _: &Path) -> bool {
        false
    }

    fn may_appear(&self, path: &Path, _: bool) -> bool {
        self.may_change(path)
    }
}

impl Workspace {
    fn new(files: &[&str]) -> Self {
        let workspace = Self(tempfile::tempdir().unwrap());
        for file in files {
            workspace.write(file);
        }
        workspace
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    fn manifest(&self) -> WorkspaceManifest {
        WorkspaceManifest::of_workspace(self.0.path(), &ExcludedFiles::default()).unwrap()
    }

    /// Returns the changed and the new files after some work, except those below `declared`.
    fn difference(&self, declared: &[&str], work: impl FnOnce()) -> (Vec<String>, Vec<String>) {
        let before = self.manifest();
        work();
        let found = ManifestDifference::between(&before, &self.manifest(), &Below(declared));
        let shown = |paths: Vec<PathBuf>| {
            let shown = paths.iter().map(|path| path.display().to_string());
            shown.collect()
        };
        (shown(found.changed), shown(found.new))
    }
}

fn pair(changed: &[&str], new: &[&str]) -> (Vec<String>, Vec<String>) {
    let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    (owned(changed), owned(new))
}

#[test]
fn nothing_differs_while_nobody_works() {
    let here = Workspace::new(&["a", "b/c", "b/d/e"]);
    assert_eq!(here.difference(&[], || ()), pair(&[], &[]));
}

#[test]
fn every_way_to_change_a_file_shows() {
    let here = Workspace::new(&["b/c", "b/d"]);
    let file = here.at("b/c");
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let put_back = || {
        fs::write(&file, "y").unwrap();
        let open = fs::File::options().write(true).open(&file).unwrap();
        open.set_modified(time).unwrap();
    };
    let replace = || {
        fs::write(here.at("b/new"), "x").unwrap();
        fs::rename(here.at("b/new"), &file).unwrap();
    };
    let mode = || fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let link = || {
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("d", &file).unwrap();
    };
    let remove = || fs::remove_file(&file).unwrap();
    let works: [&dyn Fn(); 5] = [&put_back, &replace, &mode, &link, &remove];
    for (at, work) in works.into_iter().enumerate() {
        let before = here.manifest();
        let found = here.difference(&[], work);
        assert_eq!(found, pair(&["b/c"], &[]), "{at}");
        assert_ne!(before, here.manifest());
    }
}

#[test]
fn what_is_new_is_told_once_at_its_top() {
    let here = Workspace::new(&["src/a"]);
    let work = || {
        for file in ["target/x/y", "target/z", "src/a.pyc", "out/made", "out/deep/junk", "out/junk"] {
            here.write(file);
        }
        fs::create_dir(here.at("empty")).unwrap();
    };
    let new = ["empty", "out/deep", "out/junk", "src/a.pyc", "target"];
    assert_eq!(here.difference(&["out/made"], work), pair(&[], &new));
}

#[test]
fn a_folder_that_becomes_something_else_takes_its_files_along() {
    let here = Workspace::new(&["src/a", "src/gen/b", "other/a"]);
    let work = || {
        fs::rename(here.at("src"), here.at("old")).unwrap();
        std::os::unix::fs::symlink("other", here.at("src")).unwrap();
    };
    let found = here.difference(&["src/gen"], work);
    assert_eq!(found, pair(&["src", "src/a"], &["old"]));
}

#[test]
fn what_is_declared_may_differ() {
    let here = Workspace::new(&["out/a", "out/b", "kept"]);
    let work = || {
        here.write("out/c");
        fs::remove_file(here.at("out/a")).unwrap();
        fs::write(here.at("out/b"), "other").unwrap();
        fs::set_permissions(here.at("out"), fs::Permissions::from_mode(0o700)).unwrap();
    };
    assert_eq!(here.difference(&["out"], work), pair(&[], &[]));
}

#[test]
fn a_folder_that_is_moved_to_and_fro_shows_and_one_that_gets_a_file_does_not() {
    let here = Workspace::new(&["src/a", "b"]);
    let before = here.manifest();
    here.write("src/new");
    assert_eq!(ManifestDifference::moved(&before, &here.manifest()), None);
    let before = here.manifest();
    fs::rename(here.at("src"), here.at("aside")).unwrap();
    here.write("src/a");
    fs::remove_dir_all(here.at("src")).unwrap();
    fs::rename(here.at("aside"), here.at("src")).unwrap();
    assert!(fs::metadata(here.at("src")).unwrap().ino() > 0);
    let moved = ManifestDifference::moved(&before, &here.manifest());
    assert_eq!(moved, Some(PathBuf::from("src")));
}

#[test]
fn a_link_is_not_followed_and_the_state_is_left_out() {
    let here = Workspace::new(&["src/a", ".wf/state.db"]);
    let other = Workspace::new(&["deep/b"]);
    std::os::unix::fs::symlink(other.0.path(), here.at("link")).unwrap();
    let state = here.at(".wf");
    let excluded = ExcludedFiles::new([state.as_path()]);
    let before = WorkspaceManifest::of_workspace(here.0.path(), &excluded).unwrap();
    assert_eq!(before.count(), 3);
    other.write("c");
    here.write(".wf/other");
    let after = WorkspaceManifest::of_workspace(here.0.path(), &excluded).unwrap();
    let found = ManifestDifference::between(&before, &after, &Below(&[]));
    assert_eq!(found, ManifestDifference::default());
}

#[test]
fn a_workspace_that_is_too_deep_is_refused() {
    let here = Workspace::new(&[]);
    let deep = std::iter::repeat_n("d", 300).collect::<PathBuf>();
    fs::create_dir_all(here.0.path().join(deep)).unwrap();
    let reason =
        WorkspaceManifest::of_workspace(here.0.path(), &ExcludedFiles::default()).unwrap_err().reason;
    assert!(reason.contains("more than 256 deep"), "{reason}");
}
