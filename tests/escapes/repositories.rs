//! Steps that leave a git repository in the workspace, whose settings have a program started by whoever looks at it.

use super::{
    may_be_nobody, missing,
    scene::{Scene, Who},
};

/// What a repository gets that starts a program as soon as somebody asks for its status: `$G` is its folder.
const SETTINGS: &str = r#"git --git-dir=$G config core.fsmonitor "touch $(pwd)/started-; false""#;

/// How a step leaves a repository, and the folders in which somebody may look at it.
const WAYS: [(&str, &str, &str); 6] = [
    ("folder", "git init -q folder; G=folder/.git", "folder folder/.git.refused"),
    ("deep", "mkdir -p deep/a/b/c; git init -q deep/a/b/c; G=deep/a/b/c/.git", "deep/a/b/c"),
    (
        "link",
        "git init -q --bare link/gitdir; mkdir link/tree; echo 'gitdir: ../gitdir' > link/tree/.git; G=link/gitdir; \
         git --git-dir=$G config core.bare false",
        "link/tree",
    ),
    (
        "bare",
        "git init -q --bare bare; G=bare; git --git-dir=$G config core.bare false; git --git-dir=$G config core.worktree ..",
        "bare",
    ),
    ("kept", "git init -q kept; chmod 500 kept; G=kept/.git", "kept"),
    (
        "two",
        "git init -q two; git init -q two/.git/inner; G=two/.git/inner/.git",
        "two/.git/inner two/.git.refused/inner",
    ),
];

/// What a script of the scene's user prints.
fn print(scene: &Scene, script: &str) -> String {
    let output = scene.program("sh").args(["-c", script]).output().expect("sh starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Somebody looks at each of these folders; true if that started a program.
fn starts_program(scene: &Scene, folders: &str) -> bool {
    let script = format!(
        "for f in {folders}; do (cd $f && git status >/dev/null 2>&1); done; ls started-*; rm -f started-*"
    );
    print(scene, &script).starts_with("started-")
}

fn run(scene: &Scene, steps: &str) -> String {
    let plan = format!("---\nkind: plan\nid: it\npolicy: {{on_failure: continue}}\nsteps:\n{steps}---\n");
    std::fs::write(scene.at("ws/it.md"), plan).unwrap();
    scene.wf(&["run", "it.md"]).all()
}

fn users() -> Vec<Who> {
    let nobody = may_be_nobody().then_some(Who::Nobody);
    std::iter::once(Who::Own).chain(nobody).collect()
}

#[test]
fn no_step_leaves_a_repository_that_starts_a_program() {
    if missing("git", "whether steps can leave repositories") {
        return;
    }
    for who in users() {
        let scene = Scene::new(who);
        for (name, way, folders) in WAYS {
            let script = format!("{way}; {SETTINGS}");
            // Without the sandbox it starts one.
            print(&scene, &script);
            assert!(
                starts_program(&scene, folders),
                "{who:?}: {name} shows nothing: {}",
                print(&scene, &script)
            );
            print(&scene, &format!("chmod -R u+w {name}; rm -rf {name}"));
            let script = serde_json::to_string(&script).unwrap();
            let said = run(&scene, &format!("  - {{id: {name}, run: {script}, allow: {{write: [.]}}}}\n"));
            assert!(!starts_program(&scene, folders), "{who:?}: {name}: {said}");
            assert!(said.contains("was created") && said.contains("1 failed"), "{who:?}: {name}: {said}");
            print(&scene, &format!("chmod -R u+w {name}; rm -rf {name}"));
        }
    }
}

#[test]
fn an_exact_name_grants_a_repository() {
    if missing("git", "whether a step can clone") {
        return;
    }
    let scene = Scene::new(Who::Own);
    let origin =
        "git init -q origin; cd origin; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x";
    print(&scene, origin);
    let clone = "git -c safe.directory='*' clone -q origin";
    let said = run(
        &scene,
        &format!(
            "  - {{id: tree, run: {clone} vendor/x, allow: {{write: [vendor, vendor/x/.git]}}}}\n\
             \x20 - {{id: bare, run: {clone} --mirror m.git, allow: {{write: [., m.git/HEAD]}}, depends_on: [tree]}}\n\
             \x20 - {{id: other, exec: [git, init, -q, vendor/y], allow: {{write: [vendor, vendor/x/.git]}}, depends_on: [bare]}}\n"
        ),
    );
    assert!(said.contains("`vendor/y/.git` was created, and was moved to `vendor/y/.git.refused`"), "{said}");
    assert!(
        said.contains("list `vendor/y/.git` in `allow.write`") && !said.contains("more like it"),
        "{said}"
    );
    let left = print(&scene, "ls -d vendor/x/.git m.git/HEAD vendor/y/.git 2>/dev/null");
    assert_eq!(left, "m.git/HEAD\nvendor/x/.git\n", "{said}");
}

/// A repository that an earlier step made is there when the next begins.
#[test]
fn a_repository_of_an_earlier_step_is_protected() {
    if missing("git", "whether repositories are protected") {
        return;
    }
    let scene = Scene::new(Who::Own);
    let said = run(
        &scene,
        "  - {id: clone, run: git init -q sub && git init -q --bare bare}\n  \
         - {id: tree, run: echo bad >> sub/.git/config, allow: {write: [.]}, depends_on: [clone]}\n  \
         - {id: bare, run: echo bad > bare/hooks/post-update, allow: {write: [.]}, depends_on: [clone]}\n  \
         - {id: work, run: echo good > sub/file, allow: {write: [.]}, depends_on: [clone]}\n",
    );
    assert!(said.contains("2 failed"), "{said}");
    assert_eq!(
        print(&scene, "cat sub/file; ls -d sub/.git bare/HEAD; grep -xl bad sub/.git/config bare/hooks/*"),
        "good\nbare/HEAD\nsub/.git\n",
        "{said}"
    );
}
