//! The files that an approval covers, and the workspace in which a step of an approved run begins.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::Scene;
use crate::view::{DataFiles, WorkspaceView, declarations::declared::DeclaredProducts, products, tree};
use wf_core::machine::PinnedFile;
use wf_model::{JsonObject, SandboxPermissions};

impl Scene {
    fn tree(&self, tracked: Option<&BTreeSet<PathBuf>>) -> Vec<PinnedFile> {
        let state = self.dir.path().join(".wf");
        let products = products(&self.plan(), &JsonObject::new());
        let data = DataFiles::new(&self.plan(), self.dir.path());
        tree(self.dir.path(), &[state], &products, &data, tracked).unwrap()
    }

    fn paths(&self, tracked: Option<&BTreeSet<PathBuf>>) -> Vec<String> {
        let files = self.tree(tracked).into_iter();
        files.map(|pin| pin.path).collect()
    }

    /// The view of a run that begins now, of files that were approved.
    fn bound(&self, approved: &[PinnedFile]) -> WorkspaceView {
        self.view().bound(approved, &[])
    }
}

/// Returns the reason why a step may not begin.
fn refusal(view: &WorkspaceView) -> String {
    let refused = view.admit_unconfined().map_err(|unable| unable.reason);
    let reason = refused.expect_err("nothing was refused");
    reason.split(';').next().unwrap_or_default().to_owned()
}

#[test]
fn an_approval_binds_every_file_but_what_is_made_and_the_repository() {
    let mut scene = Scene::new();
    scene.step.writes = vec![wf_model::expr::Template::literal("out/**")];
    for path in [".git/config", "p.approval.json", "approvers.yaml", ".wf/x", "new"] {
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
    let reason = tree(scene.dir.path(), &[state], &[], &DataFiles::default(), None).unwrap_err().reason;
    assert!(reason.contains("not valid UTF-8"), "{reason}");
}

#[test]
fn a_step_begins_only_in_what_was_approved() {
    let scene = Scene::new();
    let approved = scene.tree(None);
    scene.bound(&approved).admit_unconfined().unwrap();

    // Before the run began.
    scene.write("check.sh");
    let reason = "the state of the workspace at the start of the run is unknown: \
               changed since it was approved: check.sh";
    assert_eq!(refusal(&scene.bound(&approved)), reason);
    fs::remove_file(scene.dir.path().join("check.sh")).unwrap();
    assert_eq!(refusal(&scene.bound(&approved)), reason);

    // Since then, even if it is back.
    let scene = Scene::new();
    let view = scene.bound(&scene.tree(None));
    let path = scene.dir.path().join("src/a.py");
    fs::rename(&path, scene.dir.path().join("b")).unwrap();
    fs::rename(scene.dir.path().join("b"), &path).unwrap();
    let reason = "changed since it was approved, not declared: src/a.py";
    assert_eq!(refusal(&view), reason);
    assert!(view.confirm().is_err());
}

#[test]
fn data_may_change_after_the_approval_and_programs_among_it_may_not() {
    let mut scene = Scene::new();
    scene.data = vec!["inbox/**".into()];
    let put = |path: &str, text: &str| fs::write(scene.dir.path().join(path), text).unwrap();
    fs::create_dir(scene.dir.path().join("inbox")).unwrap();
    put("inbox/orders.csv", "1");
    put("inbox/tool", "#!/bin/sh\n");
    assert_eq!(scene.paths(None), ["check.sh", "inbox/tool", "out/old", "src/a.py"]);
    let approved = scene.tree(None);
    put("inbox/orders.csv", "2");
    put("inbox/more.csv", "3");
    let view = scene.bound(&approved);
    view.admit_unconfined().unwrap();
    put("inbox/orders.csv", "4");
    view.confirm().unwrap();
    // It is no product: a step that changes it does not decide by it.
    let changed = view.inspect(&scene.check, &[], false).unwrap_err().reason;
    assert!(changed.contains("changed, not declared: inbox/orders.csv"), "{changed}");
    put("inbox/tool", "#!/bin/sh\nrm -rf x\n");
    assert!(refusal(&view).contains("inbox/tool"));
}

#[test]
fn the_executable_bit_is_approved_with_the_content() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = Scene::new();
    let chmod = |mode| {
        fs::set_permissions(scene.dir.path().join("src/a.py"), fs::Permissions::from_mode(mode)).unwrap();
    };
    let (plain, executable) = ([0o644, 0o600, 0o666], [0o755, 0o700, 0o645, 0o654]);
    for (approved, same, other) in [(0o644, &plain[..], &executable[..]), (0o755, &executable, &plain)] {
        chmod(approved);
        let files = scene.tree(None);
        for mode in same {
            chmod(*mode);
            scene.bound(&files).admit_unconfined().unwrap();
        }
        for mode in other {
            chmod(*mode);
            let refused = refusal(&scene.bound(&files));
            assert!(refused.ends_with("approved: src/a.py (its executable bit)"), "{mode:o}: {refused}");
        }
    }
}

#[test]
fn what_is_new_keeps_a_step_from_beginning_wherever_it_comes_from() {
    let scene = Scene::new();
    let approved = scene.tree(None);
    scene.write("src/a.pyc");
    let reason = "not approved, not declared: src/a.pyc";
    assert_eq!(refusal(&scene.bound(&approved)), reason, "it was there before");
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
    scene.step.writes = vec![wf_model::expr::Template::literal("out/**")];
    let approved = scene.tree(None);
    let view = scene.bound(&approved);
    scene.write("out/old");
    scene.write("out/new");
    view.admit_unconfined().unwrap();
    view.confirm().unwrap();
    // The product of another plan of the same approval.
    let scene = Scene::new();
    let files = scene.tree(None).into_iter();
    let files: Vec<PinnedFile> = files.filter(|pin| pin.path != "out/old").collect();
    let of_goal = scene.view().bound(&files, &["out/**".into()]);
    of_goal.admit_unconfined().unwrap();
    assert_eq!(refusal(&scene.bound(&files)), "not approved, not declared: out");
}

#[test]
fn a_check_of_an_approved_run_does_not_see_what_was_not_approved() {
    let scene = Scene::new();
    let approved = scene.tree(None);
    scene.write("src/json.py");
    scene.write("report/new.txt");
    let view = scene.bound(&approved);
    let hidden = view.inspect(&scene.check, &[], false).unwrap().hidden;
    let named = "report";
    assert_eq!(hidden, [named, "src/json.py"].map(Path::new));
    // Without a way to hide paths, the check does not run.
    assert!(view.inspect_unconfined(&scene.check, &[]).is_err());
    // Without an approval in advance it sees what it names.
    let approved = scene.view();
    scene.write("late/x");
    let hidden = approved.inspect(&scene.check, &[], false).unwrap().hidden;
    assert_eq!(hidden, [Path::new("late")]);
}

#[test]
fn what_is_approved_as_made_is_no_repository() {
    let mut scene = Scene::new();
    scene.step.allow = Some(Box::new(SandboxPermissions {
        write: vec!["out".into(), ".".into()],
        ..SandboxPermissions::default()
    }));
    let made = products(&scene.plan(), &JsonObject::new());
    assert_eq!(made, ["out", "out/**"]);
    let declared = DeclaredProducts::default().and(&made);
    assert!(declared.has(Path::new("out/old")) && !declared.has(Path::new("a")));
    assert!(!declared.has(Path::new("out/.git/config")));
}

#[test]
fn an_approved_file_may_not_change_where_caches_lie() {
    let scene = Scene::new();
    scene.write("target/tool.sh");
    let view = scene.bound(&scene.tree(None));
    assert_eq!(view.admit(), Ok(Vec::new()));
    fs::write(scene.dir.path().join("target/tool.sh"), "other").unwrap();
    assert!(view.confirm().unwrap_err().reason.contains("target/tool.sh"));
}
