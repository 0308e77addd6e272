//! What an approval binds, and what a step of an approved run begins in.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::Scene;
use crate::exec::view::declared::Declared;
use crate::exec::view::{View, products, tree};
use crate::machine::Pin;
use crate::model::{Allow, Object};

impl Scene {
    fn tree(&self, tracked: Option<&BTreeSet<PathBuf>>) -> Vec<Pin> {
        let state = self.dir.path().join(".wf");
        let products = products(&self.plan(), &Object::new());
        tree((self.dir.path(), &[state]), &products, tracked).unwrap()
    }

    fn paths(&self, tracked: Option<&BTreeSet<PathBuf>>) -> Vec<String> {
        let files = self.tree(tracked).into_iter();
        files.map(|pin| pin.path).collect()
    }

    /// The view of a run that begins now, of files that were approved.
    fn bound(&self, approved: &[Pin]) -> View {
        self.view().bound(approved, &[])
    }
}

/// Why a step may not begin.
fn refusal(view: &View) -> String {
    let refused = view.admit_unconfined().map_err(|unable| unable.why);
    let why = refused.expect_err("nothing was refused");
    why.split(';').next().unwrap_or_default().to_owned()
}

#[test]
fn an_approval_binds_every_file_but_what_is_made_and_the_repository() {
    let mut scene = Scene::new();
    scene.step.writes = vec![crate::expr::Template::literal("out/**")];
    for path in [
        ".git/config",
        "p.approval.json",
        "approvers.yaml",
        ".wf/x",
        "new",
    ] {
        scene.write(path);
    }
    symlink("check.sh", scene.dir.path().join("link")).unwrap();
    let all = ["check.sh", "link", "new", "src/a.py"];
    assert_eq!(scene.paths(None), all);
    let tracked = BTreeSet::from(["check.sh", "gone", "out/old"].map(PathBuf::from));
    assert_eq!(scene.paths(Some(&tracked)), ["check.sh"]);
    let before = scene.tree(None);
    fs::write(scene.dir.path().join("out/old"), "y").unwrap();
    assert_eq!(scene.tree(None), before);
    fs::remove_file(scene.dir.path().join("link")).unwrap();
    symlink("src/a.py", scene.dir.path().join("link")).unwrap();
    assert_ne!(scene.tree(None), before, "where a link leads is bound");
}

#[test]
fn a_name_that_cannot_be_written_down_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let scene = Scene::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    fs::write(scene.dir.path().join(name), "x").unwrap();
    let state = scene.dir.path().join(".wf");
    let why = tree((scene.dir.path(), &[state]), &[], None)
        .unwrap_err()
        .why;
    assert!(why.contains("not UTF-8"), "{why}");
}

#[test]
fn a_step_begins_only_in_what_was_approved() {
    let scene = Scene::new();
    let approved = scene.tree(None);
    scene.bound(&approved).admit_unconfined().unwrap();

    // Before the run began.
    scene.write("check.sh");
    let why = "the workspace as it was when the run began is not known: \
               changed since it was approved: check.sh";
    assert_eq!(refusal(&scene.bound(&approved)), why);
    fs::remove_file(scene.dir.path().join("check.sh")).unwrap();
    assert_eq!(refusal(&scene.bound(&approved)), why);

    // Since then, even if it is back.
    let scene = Scene::new();
    let view = scene.bound(&scene.tree(None));
    let path = scene.dir.path().join("src/a.py");
    fs::rename(&path, scene.dir.path().join("b")).unwrap();
    fs::rename(scene.dir.path().join("b"), &path).unwrap();
    let why = "changed since it was approved, not declared: src/a.py";
    assert_eq!(refusal(&view), why);
    assert!(view.confirm().is_err());
}

#[test]
fn what_is_new_keeps_a_step_from_beginning_wherever_it_comes_from() {
    let scene = Scene::new();
    let approved = scene.tree(None);
    scene.write("src/a.pyc");
    let why = "not approved, not declared: src/a.pyc";
    assert_eq!(refusal(&scene.bound(&approved)), why, "it was there before");
    fs::remove_file(scene.dir.path().join("src/a.pyc")).unwrap();
    let view = scene.bound(&approved);
    scene.write("src/json.py");
    assert_eq!(refusal(&view), "not approved, not declared: src/json.py");
    assert_eq!(view.admit().unwrap(), [Path::new("src/json.py")]);
    view.confirm().unwrap();
}

#[test]
fn what_is_declared_is_approved_with_it() {
    let mut scene = Scene::new();
    scene.step.writes = vec![crate::expr::Template::literal("out/**")];
    let approved = scene.tree(None);
    let view = scene.bound(&approved);
    scene.write("out/old");
    scene.write("out/new");
    view.admit_unconfined().unwrap();
    view.confirm().unwrap();
    // What another plan of the same approval makes.
    let scene = Scene::new();
    let files = scene.tree(None).into_iter();
    let files: Vec<Pin> = files.filter(|pin| pin.path != "out/old").collect();
    let of_goal = scene.view().bound(&files, &["out/**".into()]);
    of_goal.admit_unconfined().unwrap();
    assert_eq!(
        refusal(&scene.bound(&files)),
        "not approved, not declared: out"
    );
}

#[test]
fn a_check_of_an_approved_run_does_not_see_what_was_not_approved() {
    let scene = Scene::new();
    let approved = scene.tree(None);
    scene.write("src/json.py");
    scene.write("report/new.txt");
    let view = scene.bound(&approved);
    let hidden = view.look(&scene.check, &[]).unwrap().hidden;
    let named = "report";
    assert_eq!(hidden, [named, "src/json.py"].map(Path::new));
    // Where nothing can be hidden, it does not run.
    assert!(view.look_unconfined(&scene.check, &[]).is_err());
    // Without an approval in advance it sees what it names.
    let approved = scene.view();
    scene.write("late/x");
    let hidden = approved.look(&scene.check, &[]).unwrap().hidden;
    assert_eq!(hidden, [Path::new("late")]);
}

#[test]
fn what_is_approved_as_made_is_no_repository() {
    let mut scene = Scene::new();
    scene.step.allow = Some(Box::new(Allow {
        write: vec!["out".into(), ".".into()],
        ..Allow::default()
    }));
    let made = products(&scene.plan(), &Object::new());
    assert!(scene.paths(None).is_empty(), "{made:?}");
    let declared = Declared::default().and(&made);
    assert!(declared.has(Path::new("out/old")) && declared.has(Path::new("a")));
    assert!(!declared.has(Path::new("out/.git/config")));
}
