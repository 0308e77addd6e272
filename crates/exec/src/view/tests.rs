mod bound;
mod products;

use std::{fs, path::PathBuf, sync::Arc};

use super::{WorkspaceSnapshot, WorkspaceView};
use crate::{originals::WorkspaceRepository, work_error::WorkError};
use wf_base::name::{Name, PlanId};
use wf_model::{
    Check, CheckProbe, JsonObject, OnStepFailure, Plan, PlanParts, PlanPolicy, SandboxPermissions,
    ShellScript, Step, StepWork, expr::Template,
};

/// A workspace in which a run begins.
struct Scene {
    dir: tempfile::TempDir,
    step: Step,
    check: Check,
    /// The globs of its data.
    data: Vec<String>,
}

impl Scene {
    /// A workspace with a check script and a source, and a check that runs the one and names a report.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [("check.sh", "exit 1"), ("src/a.py", "x"), ("out/old", "x")] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), text).unwrap();
        }
        let mut check = Check::new(Name::parse("c").unwrap());
        check.probe = Some(CheckProbe::Run(ShellScript {
            shell: vec!["sh".into(), "-c".into()],
            text: "sh check.sh && test -s report/new.txt".into(),
        }));
        let step = Step::new(Name::parse("s").unwrap(), StepWork::Exec(Vec::new()));
        Self { dir, step, check, data: Vec::new() }
    }

    fn write(&self, path: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "exit 0").unwrap();
    }

    fn plan(&self) -> Arc<Plan> {
        let mut step = self.step.clone();
        step.verify = vec![self.check.clone()];
        let policy =
            PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: std::time::Duration::ZERO };
        let parts = PlanParts::new(PlanId::parse("p").unwrap(), vec![step], 1, policy);
        Plan::new(PlanParts { data: self.data.clone(), ..parts }).unwrap()
    }

    fn view(&self) -> WorkspaceView {
        let state = self.dir.path().join(".wf");
        WorkspaceView::take(self.dir.path(), &[state], &self.plan(), &JsonObject::new())
    }

    /// Returns the files that the check sees after some files were written.
    fn after(&self, written: &[&str]) -> Result<WorkspaceSnapshot, WorkError> {
        let view = self.view();
        for path in written {
            self.write(path);
        }
        view.inspect(&self.check, &[], false)
    }

    fn hidden(&self, written: &[&str]) -> Vec<String> {
        let hidden = self.after(written).unwrap().hidden;
        hidden.iter().map(|path| path.display().to_string()).collect()
    }

    fn refusal(&self, written: &[&str]) -> String {
        self.after(written).unwrap_err().reason
    }
}

#[test]
fn what_was_there_may_not_change_undeclared_whatever_the_check_names() {
    let scene = Scene::new();
    let reason = scene.refusal(&["check.sh", "src/a.py"]);
    assert!(reason.starts_with("changed, not declared: check.sh, src/a.py; if a step is"), "{reason}");
    assert!(reason.contains("`writes: [check.sh, src/a.py]`; if something beside the run"), "{reason}");
    let gone = Scene::new();
    let view = gone.view();
    fs::remove_dir_all(gone.dir.path().join("src")).unwrap();
    let reason = view.inspect(&gone.check, &[], false).unwrap_err().reason;
    assert!(reason.starts_with("changed, not declared: src/a.py;"), "{reason}");
}

#[test]
fn what_git_writes_all_the_time_is_no_change_and_a_hook_is_one() {
    for file in [".git/objects/ab/cd", ".git/index.lock", ".git/COMMIT_EDITMSG"] {
        let scene = Scene::new();
        scene.write(file);
        let view = scene.view();
        scene.write(file);
        scene.write(".git/objects/pack/new.pack");
        let seen = view.inspect(&scene.check, &[], false).unwrap();
        assert!(seen.hidden.is_empty() && seen.products.is_empty(), "{file}: {seen:?}");
        fs::remove_file(scene.dir.path().join(file)).unwrap();
        assert_eq!(view.recheck(&seen, &scene.check, &[]), Ok(()), "{file}");
    }
    for file in [".git/logs/HEAD", ".git/FETCH_HEAD", ".git/rebase-merge/onto"] {
        let scene = Scene::new();
        scene.write(file);
        let view = scene.view();
        assert!(view.inspect(&scene.check, &[], false).unwrap().hidden.is_empty(), "{file}");
        scene.write(file);
        scene.write(".git/ORIG_HEAD");
        for is_disturbed in [false, true] {
            let seen = view.inspect(&scene.check, &[], is_disturbed).unwrap();
            assert_eq!(seen.hidden, [".git/ORIG_HEAD", file].map(PathBuf::from), "{file}");
        }
    }
    // No advice opens these to a step.
    for file in [".git/hooks/pre-commit", ".git/config", ".git/HEAD"] {
        let scene = Scene::new();
        scene.write(file);
        let view = scene.view();
        scene.write(file);
        let reason = view.inspect(&scene.check, &[], false).unwrap_err().reason;
        assert!(reason.contains(&format!("not declared: {file}; git's own files")), "{reason}");
        assert!(!reason.contains("`writes`"), "{reason}");
    }
}

#[test]
fn what_changed_beside_the_run_is_told_from_what_a_step_changed() {
    let unconfined = |text: &str| {
        let shell = vec!["sh".into(), "-c".into()];
        StepWork::Run(ShellScript { shell, text: text.into() })
    };
    let grant = |path: &str| {
        Some(Box::new(SandboxPermissions { write: vec![path.into()], ..SandboxPermissions::default() }))
    };
    // (the step, its grant, whether the content of the start is kept, what becomes of a change to `src/a.py`)
    for (work, allow, is_kept, expected) in [
        ("./build", None, true, "restored"),
        ("./build", None, false, "if something beside the run changed it"),
        ("sort src/a.py -o src/a.py", None, true, "`writes: [src/a.py]`"),
        ("cat x >src/a.py", None, true, "`writes: [src/a.py]`"),
        ("cat src/a.py > out/old; grep -q x src/a.py", None, true, "restored"),
        ("./build", grant("out"), true, "restored"),
        ("./build", grant("out"), false, "foreign"),
        ("./build", grant("."), true, "`writes: [src/a.py]`"),
        ("./build", grant("."), true, "if something beside the run changed it"),
        ("./build", grant("."), true, "`wf run --worktree`"),
        ("./build", grant("."), true, "lists in `writes` what it makes"),
        ("./build # makes", grant("."), true, "restored"),
        ("./build # makes", grant("."), false, "if something beside the run changed it"),
    ] {
        let mut scene = Scene::new();
        scene.step.work = unconfined(work);
        scene.step.allow = allow.clone();
        if work.ends_with("makes") {
            scene.step.writes = vec![Template::read("out/new").unwrap()];
        }
        fs::create_dir_all(scene.dir.path().join(".git")).unwrap();
        let repository: Option<Arc<dyn WorkspaceRepository>> = is_kept.then(|| Arc::new(NoGit) as Arc<_>);
        let copies = scene.dir.path().join(".wf/restored");
        let view = scene.view().with_originals(repository.as_ref(), copies);
        scene.write("src/a.py");
        let found = match view.inspect(&scene.check, &[], false) {
            Ok(seen) if seen.restored == ["src/a.py"].map(PathBuf::from) => {
                assert_eq!(fs::read(&seen.originals[0].copy).unwrap(), b"x");
                "restored".to_owned()
            }
            Ok(seen) if seen.foreign == ["src/a.py"].map(PathBuf::from) => "foreign".to_owned(),
            Ok(seen) => format!("{seen:?}"),
            Err(refused) => refused.reason,
        };
        assert!(found.contains(expected), "{work} {allow:?} {is_kept}: {found}");
    }
}

#[test]
fn a_file_that_controls_wf_is_never_opened_to_a_step() {
    // A grant of the very folder opens it, so that a step is taken to have changed it.
    for (allow, expected) in
        [(None, "it controls wf"), (Some("."), "foreign"), (Some("src"), "it controls wf")]
    {
        let mut scene = Scene::new();
        scene.step.work = StepWork::Run(ShellScript { shell: vec!["sh".into()], text: "./build".into() });
        scene.step.allow = allow.map(|path| {
            Box::new(SandboxPermissions { write: vec![path.to_owned()], ..SandboxPermissions::default() })
        });
        scene.step.writes = vec![Template::read("out/new").unwrap()];
        let view = scene.view().with_control(&["src".to_owned()]);
        scene.write("src/a.py");
        let found = match view.inspect(&scene.check, &[], false) {
            Ok(seen) if seen.foreign == ["src/a.py"].map(PathBuf::from) => "foreign".to_owned(),
            Ok(seen) => format!("{seen:?}"),
            Err(refused) => refused.reason,
        };
        assert!(found.contains(expected) && !found.contains("`writes:"), "{allow:?}: {found}");
    }
}

/// A repository without an index.
#[derive(Debug)]
struct NoGit;

impl WorkspaceRepository for NoGit {
    fn index(&self) -> PathBuf {
        PathBuf::from("/nowhere/index")
    }

    fn folders(&self) -> [PathBuf; 2] {
        [PathBuf::from("/nowhere"), PathBuf::from("/nowhere")]
    }

    fn prefix(&self) -> PathBuf {
        PathBuf::new()
    }

    fn blobs(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        vec![None; names.len()]
    }
}

#[test]
fn what_is_new_is_hidden_but_for_what_is_declared_or_named() {
    let mut scene = Scene::new();
    scene.step.artifacts = vec![Template::read("made/*.txt").unwrap()];
    scene.step.writes = vec![Template::read("src/gen").unwrap()];
    let files = ["made/a.txt", "src/gen/b", "report/new.txt"];
    assert_eq!(scene.hidden(&files), [""; 0]);
    let files = ["made/b.txt", "made/a.pyc", "src/a.pyc", "log/c", "report/junk", "report/new.txt"];
    let hidden = ["log", "made/a.pyc", "report/junk", "src/a.pyc"];
    assert_eq!(Scene { dir: Scene::new().dir, ..scene }.hidden(&files), hidden);
}

#[test]
fn a_new_folder_is_named_with_what_is_in_it_and_one_that_was_there_is_not() {
    let mut scene = Scene::new();
    scene.check.cwd = Some(".".into());
    scene.check.probe = Some(CheckProbe::Run(ShellScript {
        shell: vec!["sh".into(), "-c".into()],
        text: "diff -r src copy".into(),
    }));
    let hidden = scene.hidden(&["copy/a/b", "src/conftest.py", "copied/a"]);
    assert_eq!(hidden, ["copied", "src/conftest.py"]);
}

#[test]
fn a_grant_of_a_folder_does_not_reach_its_repository() {
    let mut scene = Scene::new();
    let grant = |path: &str| {
        Some(Box::new(SandboxPermissions { write: vec![path.into()], ..SandboxPermissions::default() }))
    };
    scene.step.allow = grant("src");
    assert_eq!(scene.hidden(&["src/x", ".git/hooks/pre-commit", "src/.git/config"]), [".git", "src/.git"]);
    let mut scene = Scene::new();
    scene.step.allow = grant(".git");
    assert_eq!(scene.hidden(&[".git/hooks/pre-commit"]), [""; 0]);
}

#[test]
fn what_a_check_fixes_no_declaration_frees() {
    let mut scene = Scene::new();
    scene.step.writes = vec![Template::read("**").unwrap()];
    scene.check.fixed = vec!["src/**".into()];
    assert_eq!(scene.hidden(&["src/conftest.py", "out/new"]), ["src/conftest.py"]);
    assert!(scene.refusal(&["src/a.py"]).contains("src/a.py"));
    scene.check.fixed = vec!["report/**".into()];
    assert_eq!(scene.hidden(&["report/new.txt"]), ["report/new.txt"], "though it is named");
}

#[test]
fn the_products_of_the_very_attempt_are_seen() {
    let scene = Scene::new();
    let view = scene.view();
    scene.write("out/item-7");
    let seen = view.inspect(&scene.check, &["out/item-7".into()], false).unwrap();
    assert!(seen.hidden.is_empty());
    assert_eq!(view.inspect(&scene.check, &[], false).unwrap().hidden, [PathBuf::from("out/item-7")]);
}

#[test]
fn what_happens_while_a_check_looks_is_seen() {
    type Deed = fn(&Scene);
    let deeds: [(Deed, &str); 4] = [
        (|scene| scene.write("check.sh"), "changed while"),
        (|scene| scene.write("src/conftest.py"), "made while"),
        (
            |scene| {
                let at = |path: &str| scene.dir.path().join(path);
                fs::rename(at("src"), at("aside")).unwrap();
                fs::rename(at("aside"), at("src")).unwrap();
            },
            "changed while it was checked, not declared: src;",
        ),
        (|scene| scene.write("junk/more"), ""),
    ];
    for (deed, expected) in deeds {
        let scene = Scene::new();
        let view = scene.view();
        scene.write("junk/a");
        let before = view.inspect(&scene.check, &[], false).unwrap();
        assert_eq!(before.hidden, [PathBuf::from("junk")]);
        deed(&scene);
        let found = view.recheck(&before, &scene.check, &[]);
        match expected {
            "" => assert_eq!(found, Ok(())),
            expected => assert!(found.unwrap_err().reason.contains(expected)),
        }
    }
}

#[test]
fn a_run_goes_on_with_what_was_recorded_and_with_nothing_else() {
    let scene = Scene::new();
    let apart = [scene.dir.path().join(".wf")];
    let (bytes, baseline) = scene.view().record();
    assert_eq!(baseline.entries, 5);
    scene.write("src/conftest.py");
    let again =
        |record| WorkspaceView::recorded(scene.dir.path(), &apart, &scene.plan(), &JsonObject::new(), record);
    let seen = again(Ok(bytes)).inspect(&scene.check, &[], false).unwrap();
    assert_eq!(seen.hidden, [PathBuf::from("src/conftest.py")]);
    for record in [Ok(Vec::new()), Err(WorkError::environmental("gone"))] {
        let reason = again(record).inspect(&scene.check, &[], false).unwrap_err().reason;
        assert!(reason.contains("at the start of the run is unknown"), "{reason}");
    }
}

#[test]
fn without_a_sandbox_what_a_check_names_or_fixes_must_be_as_it_was() {
    let mut scene = Scene::new();
    scene.check.fixed = vec!["src/**".into()];
    let look = |scene: &Scene, written: &str| {
        let view = scene.view();
        scene.write(written);
        view.inspect_unconfined(&scene.check, &[])
    };
    for file in ["check.sh", "src/a.py"] {
        let reason = look(&scene, file).unwrap_err().reason;
        assert!(reason.contains(file), "{reason}");
    }
    for file in ["out/old", "report/new.txt"] {
        assert_eq!(look(&scene, file), Ok(()), "{file}");
    }
}
