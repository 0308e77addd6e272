//! Steps that may write the whole workspace, and try to write what decides over wf.

use std::{fmt::Write as _, process::Command};

use super::{
    may_be_nobody, missing,
    scene::{Scene, Who},
};

/// What there is: a file of each kind, and the plan that is run.
const THERE: [&str; 8] = [
    "wf.yaml",
    ".git/config",
    "sub/deep/.git/config",
    // A worktree, or a submodule, has a file there.
    "sub/tree/.git",
    "goals/kept.txt",
    "gates/kept.txt",
    "workflows/kept.txt",
    "plans/it.md",
];

/// What there is not, and would count if it were there.
const ABSENT: [&str; 2] = ["approvers.yaml", "skills.lock"];

/// How a file `$F`, in the folder `$D`, is written.
const WAYS: [&str; 12] = [
    "echo bad >> $F",
    "echo bad > $F",
    "rm -f $F && echo bad > $F",
    "unlink $F",
    "echo bad > new && mv -f new $F",
    "echo bad > new && ln -f new $F",
    "ln -sf /etc/hostname $F",
    "ln $F alias && echo bad >> alias",
    "mv $F gone",
    "chmod 777 $F",
    "truncate -s 1 $F",
    "echo bad > new && cp --remove-destination new $F",
];

/// How the folder of a file is written.
const WAYS_OF_FOLDERS: [&str; 4] = [
    "echo bad > $D/new.md",
    "mkdir $D/more",
    "mv $D old && mkdir $D && echo bad > $F",
    "rm -rf $D && mkdir $D && echo bad > $F",
];

/// All that is tried, as scripts: each way with each file.
fn attacks() -> Vec<String> {
    let of = |file: &str, way: &str| {
        let folder = file.rsplit_once('/').map_or(".", |(folder, _)| folder);
        way.replace("$F", file).replace("$D", folder)
    };
    let files = THERE.iter().flat_map(|file| WAYS.map(|way| of(file, way)));
    // The folder around a file `.git` is nobody's.
    let is_inside = |file: &&&str| file.contains('/') && !file.ends_with("/.git");
    let inside = THERE.iter().filter(is_inside);
    let folders = inside.flat_map(|file| WAYS_OF_FOLDERS.map(|way| of(file, way)));
    let made = ABSENT.iter().map(|file| of(file, "echo bad > $F"));
    files.chain(folders).chain(made).collect()
}

/// Puts the workspace as it is before anything is tried; `plan` lies where plans do.
const PREPARE: &str = "rm -rf .git sub goals gates workflows plans old new alias gone more approvers.yaml skills.lock *.refused* wf.yaml
    mkdir -p .git sub/deep/.git sub/tree goals gates workflows plans
    echo 'logs: {max_bytes: 1MiB}' > wf.yaml; chmod 644 wf.yaml; cp ../plan.md plans/it.md
    for file in .git/config sub/deep/.git/config sub/tree/.git goals/kept.txt gates/kept.txt workflows/kept.txt; do echo kept > $file; done";

/// What decides over wf, as it is now.
const LOOK: &str = "find .git sub/*/.git goals gates workflows plans wf.yaml approvers.yaml skills.lock -printf '%p %y %m %l\\n' 2>&1 | sort
    cat .git/* sub/*/.git/* sub/*/.git goals/* gates/* workflows/* plans/* wf.yaml approvers.yaml skills.lock 2>&1; true";

/// What a script of the scene's user prints.
fn print(scene: &Scene, script: &str) -> String {
    let mut command: Command = scene.program("sh");
    let output = command.args(["-c", script]).output().expect("sh starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn plan(attacks: &[String], grants: &str) -> String {
    let mut plan =
        String::from("---\nkind: plan\nid: it\npolicy: {max_parallel: 1, on_failure: continue}\nsteps:\n");
    for (at, attack) in attacks.iter().enumerate() {
        let attack = serde_json::to_string(attack).unwrap();
        let _ = writeln!(plan, "  - {{id: a{at}, run: {attack}, allow: {{write: [{grants}]}}}}");
    }
    plan + "---\n"
}

/// Runs attacks as steps, and gives what decides over wf before and after, and what wf said.
fn run(scene: &Scene, attacks: &[String], grants: &str) -> (String, String, String) {
    std::fs::write(scene.at("plan.md"), plan(attacks, grants)).unwrap();
    print(scene, PREPARE);
    let before = print(scene, LOOK);
    let said = scene.wf(&["run", "plans/it.md"]).all();
    (before, print(scene, LOOK), said)
}

/// Who runs them.
fn users() -> Vec<Who> {
    let nobody = may_be_nobody().then_some(Who::Nobody);
    std::iter::once(Who::Own).chain(nobody).collect()
}

#[test]
fn no_grant_of_a_folder_reaches_what_decides_over_wf() {
    for who in users() {
        let scene = Scene::new(who);
        // What moves a folder away is told, and cannot be prevented: each by itself.
        let (moving, others): (Vec<String>, Vec<String>) =
            attacks().into_iter().partition(|attack| attack.starts_with("mv plans "));
        let (before, after, said) = run(&scene, &others, ".");
        assert_eq!(before, after, "{who:?}: {said}");
        for file in ABSENT {
            let told = format!("`{file}` was created, and was moved to");
            assert!(said.contains(&told), "{who:?}: {file}: {said}");
        }
        for attack in moving {
            let (_, _, said) = run(&scene, &[attack], ".");
            assert!(said.contains("`plans` was replaced by another folder"), "{who:?}: {said}");
            assert!(said.contains("1 failed"), "{who:?}: {said}");
        }
    }
}

#[test]
fn a_grant_that_leads_to_what_decides_over_wf_is_refused() {
    let scene = Scene::new(Who::Own);
    print(&scene, "rm -rf out; ln -s .git out");
    let (before, after, said) = run(&scene, &["echo bad > out/config".to_owned()], "out");
    assert_eq!(before, after);
    assert!(said.contains("`out` is a link to `.git`, and no link is followed"), "{said}");
}

#[test]
fn an_exact_name_grants_it() {
    let scene = Scene::new(Who::Own);
    for (file, grants) in
        [("wf.yaml", ".,wf.yaml"), (".git/config", ".git"), ("workflows/kept.txt", "., workflows/kept.txt")]
    {
        let (before, after, said) = run(&scene, &[format!("echo bad >> {file}")], grants);
        assert_ne!(before, after, "{file}: {said}");
    }
}

/// One that does not exist is created in the folder that is granted, too.
#[test]
fn an_exact_name_grants_its_creation() {
    let scene = Scene::new(Who::Own);
    let (_, _, said) = run(&scene, &["echo made > approvers.yaml".to_owned()], "., approvers.yaml");
    assert_eq!(print(&scene, "cat approvers.yaml"), "made\n", "{said}");
}

#[test]
fn without_the_sandbox_each_attack_changes_something() {
    if missing("find", "whether the attacks are real") {
        return;
    }
    // What the one with fewer rights can change, the other can.
    let who = users().pop().unwrap();
    let scene = Scene::new(who);
    std::fs::write(scene.at("plan.md"), "a plan\n").unwrap();
    for attack in attacks() {
        print(&scene, PREPARE);
        let before = print(&scene, LOOK);
        print(&scene, &attack);
        assert_ne!(before, print(&scene, LOOK), "{who:?}: shows nothing: {attack}");
    }
}
