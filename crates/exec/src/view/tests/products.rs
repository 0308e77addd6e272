//! What a step may write, what it makes, and what a check keeps.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::Scene;
use crate::view::{
    KeptFiles, ProductAdvice, WorkspaceSnapshot, WorkspaceView, files_to_keep, product_advice,
};
use wf_model::{JsonObject, SandboxPermissions, expr::Template};

impl Scene {
    fn allowing(mut self, write: &[&str]) -> Self {
        let write = write.iter().map(|&path| path.to_owned()).collect();
        self.step.allow = Some(Box::new(SandboxPermissions { write, ..SandboxPermissions::default() }));
        self
    }

    fn making(mut self, globs: &[&str]) -> Self {
        self.step.writes = globs.iter().map(|glob| Template::read(glob).unwrap()).collect();
        self
    }

    /// Returns the view of a run that keeps the files of checks which are among these.
    fn keeping(&self, tracked: &[&str]) -> WorkspaceView {
        let named = files_to_keep(&self.plan(), self.dir.path(), &JsonObject::new());
        let tracked = tracked.iter().map(PathBuf::from).collect();
        self.view().with_kept(KeptFiles::copy(self.dir.path(), named, tracked, self.folder()))
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join(".wf/originals")
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn copies(seen: &WorkspaceSnapshot) -> Vec<String> {
    seen.copies.iter().map(|copy| copy.path.display().to_string()).collect()
}

#[test]
fn a_grant_of_everything_makes_nothing_a_product() {
    for grant in [".", "./", "./."] {
        let scene = Scene::new().allowing(&[grant]);
        let reason = scene.refusal(&["src/a.py"]);
        assert!(
            reason.contains("changed, not declared: src/a.py") && reason.contains("`writes: [src/a.py]`"),
            "{reason}"
        );
        assert_eq!(Scene::new().allowing(&[grant]).hidden(&["src/conftest.py"]), ["src/conftest.py"]);
    }
    // The control: what a step names is its product.
    let scene = Scene::new().allowing(&["."]).making(&["src/a.py"]);
    assert_eq!(scene.hidden(&["src/a.py", "src/conftest.py"]), ["src/conftest.py"]);
}

#[test]
fn beside_writes_a_grant_makes_no_product() {
    let scene = Scene::new().allowing(&["src", "out"]).making(&["out/**"]);
    assert!(scene.refusal(&["src/a.py"]).contains("src/a.py"));
    let scene = Scene::new().allowing(&["src", "out"]).making(&["out/**"]);
    assert_eq!(scene.hidden(&["src/new.py", "out/new"]), ["src/new.py"]);
}

#[test]
fn a_granted_folder_is_a_product_but_for_what_git_ignores_below_it() {
    let files = ["src/new.py", "src/new.log", "built/a", "src/keep.log"];
    let scene = Scene::new().allowing(&["src", "built"]);
    fs::write(scene.dir.path().join(".gitignore"), "*.log\n!keep.log\nbuilt/\n").unwrap();
    assert_eq!(scene.hidden(&files), ["src/new.log"], "a folder that is ignored as a whole counts whole");
    // A step changes the rules of its run in vain, and a resume knows those of the start.
    let scene = Scene::new().allowing(&["src"]);
    fs::write(scene.dir.path().join("src/.gitignore"), "*.log\n").unwrap();
    let view = scene.view();
    let (bytes, _) = view.record();
    fs::write(scene.dir.path().join("src/.gitignore"), "").unwrap();
    scene.write("src/new.log");
    let apart = [scene.dir.path().join(".wf")];
    let again =
        WorkspaceView::recorded(scene.dir.path(), &apart, &scene.plan(), &JsonObject::new(), Ok(bytes));
    for view in [view, again] {
        assert_eq!(names(&view.inspect(&scene.check, &[], false).unwrap().hidden), ["src/new.log"]);
    }
}

#[test]
fn a_changed_cache_is_hidden_and_no_mistake() {
    let scene = Scene::new().making(&["src/**"]);
    for path in ["src/__pycache__/a.pyc", "__pycache__/gone.pyc"] {
        scene.write(path);
    }
    let view = scene.view();
    fs::write(scene.dir.path().join("src/__pycache__/a.pyc"), "other").unwrap();
    fs::remove_dir_all(scene.dir.path().join("__pycache__")).unwrap();
    scene.write("src/__pycache__/b.pyc");
    let seen = view.inspect(&scene.check, &[], false).unwrap();
    assert_eq!(names(&seen.caches), ["src/__pycache__/a.pyc"]);
    assert_eq!(names(&seen.hidden), ["src/__pycache__/b.pyc"]);
    assert_eq!(view.recheck(&seen, &scene.check, &[]), Ok(()));
}

#[test]
fn a_check_sees_its_own_files_as_they_were() {
    type Deed = fn(&Path);
    let deeds: [Deed; 4] = [
        |file| fs::write(file, "exit 0").unwrap(),
        |file| fs::remove_file(file).unwrap(),
        |file| fs::write(file, "").unwrap(),
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
    ];
    for deed in deeds {
        let scene = Scene::new().making(&["**/*.sh"]);
        let view = scene.keeping(&["check.sh"]);
        deed(&scene.dir.path().join("check.sh"));
        let seen = view.inspect(&scene.check, &[], false).unwrap();
        assert_eq!(copies(&seen), ["check.sh"]);
        assert_eq!(fs::read_to_string(scene.folder().join("check.sh")).unwrap(), "exit 1");
        // A copy that somebody changed is not shown.
        fs::write(scene.folder().join("check.sh"), "exit 0").unwrap();
        let reason = view.inspect(&scene.check, &[], false).unwrap_err().reason;
        assert!(reason.contains("the copy of `check.sh`"), "{reason}");
    }
}

#[test]
fn what_a_step_names_literally_is_a_product_and_so_is_what_git_does_not_track() {
    let scene = Scene::new().making(&["check.sh", "**/*.sh"]);
    let view = scene.keeping(&["check.sh"]);
    scene.write("check.sh");
    let seen = view.inspect(&scene.check, &[], false).unwrap();
    assert_eq!((copies(&seen), names(&seen.given_paths)), (vec![], vec!["check.sh".to_owned()]));
    let scene = Scene::new().making(&["**/*.sh"]);
    let view = scene.keeping(&[]);
    scene.write("check.sh");
    let seen = view.inspect(&scene.check, &[], false).unwrap();
    assert_eq!((copies(&seen), names(&seen.given_paths)), (vec![], vec![]));
    assert_eq!(names(&seen.products), ["check.sh"]);
}

#[test]
fn a_check_that_nobody_knew_at_the_start_keeps_the_tracked_files_that_it_names() {
    // The plan of the run has no check that names the file.
    let run = Scene::new();
    let tracked = BTreeSet::from([PathBuf::from("check.sh")]);
    let kept = |tracked| KeptFiles::copy(run.dir.path(), BTreeSet::new(), tracked, run.folder());
    let made = Scene::new().making(&["**/*.sh"]);
    let within = |kept| run.view().with_kept(kept).within(&made.plan(), &JsonObject::new(), false);
    let (strict, free) = (within(kept(tracked)), within(kept(BTreeSet::new())));
    run.write("check.sh");
    let reason = strict.inspect(&made.check, &[], false).unwrap_err().reason;
    assert!(reason.contains("check.sh") && reason.contains("writes"), "{reason}");
    // A file that an earlier run left there is no harness.
    assert!(free.inspect(&made.check, &[], false).is_ok());
}

#[test]
fn what_is_kept_outlives_the_engine() {
    let scene = Scene::new().making(&["**/*.sh"]);
    let (bytes, baseline) = scene.keeping(&["check.sh"]).record();
    scene.write("check.sh");
    let apart = [scene.dir.path().join(".wf")];
    let view =
        WorkspaceView::recorded(scene.dir.path(), &apart, &scene.plan(), &JsonObject::new(), Ok(bytes));
    let view = view.with_kept(KeptFiles::recorded(&baseline.kept, scene.folder()));
    assert_eq!(copies(&view.inspect(&scene.check, &[], false).unwrap()), ["check.sh"]);
}

#[test]
fn products_that_cover_everything_show_little_unless_something_is_fixed() {
    for (globs, expected) in [
        (&["**"][..], true),
        (&["*"], true),
        (&["**/*"], true),
        (&["src/**", "[a-z]*/**"], true),
        (&["src/**", "**/*.py", "out"], false),
    ] {
        let mut scene = Scene::new().making(globs);
        assert_eq!(scene.view().shows_little(&scene.check), expected, "{globs:?}");
        scene.check.fixed = vec!["check.sh".into()];
        assert!(!scene.view().shows_little(&scene.check));
    }
}

#[test]
fn advice_is_given_before_a_run() {
    let advise = |scene: &Scene| {
        let apart = [scene.dir.path().join(".wf")];
        product_advice(&scene.plan(), scene.dir.path(), &apart, &|_| Some(true))
    };
    let name = |text: &str| wf_base::name::Name::parse(text).unwrap();
    assert_eq!(advise(&Scene::new()), []);
    assert_eq!(advise(&Scene::new().allowing(&["."])), [ProductAdvice::Nothing { step: name("s") }]);
    let scene = Scene::new().making(&["**"]);
    scene.write("tests/a.py");
    let held = BTreeSet::from([PathBuf::from("check.sh"), PathBuf::from("tests/a.py")]);
    let everything = ProductAdvice::Everything {
        step: Some(name("s")),
        check: name("c"),
        held_paths: held.into_iter().collect(),
    };
    assert_eq!(advise(&scene), [everything]);
    let input = ProductAdvice::CheckInput {
        step: Some(name("s")),
        check: name("c"),
        path: "check.sh".into(),
        maker: name("s"),
    };
    assert_eq!(advise(&Scene::new().making(&["check.sh"])), [input]);
    let scene = Scene::new().making(&["src/**"]);
    scene.write("src/test_a.py");
    assert!(
        matches!(&*advise(&scene), [ProductAdvice::Harness { path, .. }] if path == Path::new("src/test_a.py"))
    );
}
