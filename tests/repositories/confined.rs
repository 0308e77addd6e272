//! A program that git does start, since a git that is less careful asks it to: what it reaches.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt as _};

use crate::{
    escapes::{
        may_be_nobody,
        scene::{Scene, Who},
    },
    support::Did,
};

/// Lists what it could read and connect to, and writes wherever it can.
const PROGRAM: &str = r#"#!/bin/sh
reached=started
try() { name=$1; shift; if "$@" > /dev/null 2>&1; then reached="$reached $name"; fi; }
connects() { python3 -c "import socket, sys
socket.socket(getattr(socket, sys.argv[1])).connect(eval(sys.argv[2]))" "$@"; }
try key grep -rq PRIVATE "BASE/home/.config/wf/keys"
try home grep -q canary "BASE/home/.ssh/id"
try state grep -q canary "BASE/ws/.wf/guarded.txt"
try outside grep -q canary "BASE/outside/secret.txt"
try unix connects AF_UNIX "'BASE/ws/socket'"
try tcp connects AF_INET "('127.0.0.1', PORT)"
for folder in ws home home/.config/wf/keys ws/.git ws/.wf outside; do echo x > "BASE/$folder/planted"; done
echo x >> "BASE/ws/.git/config"
echo "$reached" > "FOUND"
"#;

/// A git that heeds `core.fsmonitor`, whatever it is asked, and then fails with the program's report.
const LESS_CAREFUL: &str = "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin git status > /dev/null 2>&1\n\
                            cat 'FOUND' >&2\nexit 3\n";

/// The files that the program writes.
fn planted(scene: &Scene) -> Vec<&'static str> {
    let all = [
        "ws/planted",
        "home/planted",
        "home/.config/wf/keys/planted",
        "ws/.git/planted",
        "ws/.wf/planted",
        "outside/planted",
    ];
    all.into_iter().filter(|path| scene.at(path).exists()).collect()
}

/// Runs wf, or that git itself, as the user of the scene.
fn run(scene: &Scene, program: &str, args: &[&str]) -> Did {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", scene.at("careless").display());
    let mut command = scene.program(scene.at(program).to_str().unwrap());
    Did::of(command.args(args).env("PATH", path))
}

fn reached(who: Who) {
    let scene = Scene::new(who);
    scene.wf(&["key", "init", "me"]).exits(0);
    scene.first_run();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let report = format!("/tmp/wf-escape-{}-report", scene.tag);
    let write = |path: &str, text: &str, mode| {
        let text = text.replace("BASE", scene.at("").to_str().unwrap().trim_end_matches('/'));
        let path = scene.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("PORT", &port).replace("FOUND", &report)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    write("program", PROGRAM, 0o755);
    write("careless/git", LESS_CAREFUL, 0o755);
    write("ws/plan.md", super::PLAN, 0o644);
    let make = "git init -q . && git add plan.md && cp ../program . && git config core.fsmonitor \"$PWD/program\" && cp .git/config ../config";
    Did::of(scene.program("sh").args(["-c", make])).exits(0);
    let settings = || fs::read(scene.at("ws/.git/config")).unwrap() == fs::read(scene.at("config")).unwrap();

    let did = run(&scene, "bin/wf", &["approve", "plan.md", "--yes"]).exits(6);
    did.says("git ls-files failed: started\n");
    assert_eq!(planted(&scene), [""; 0], "{who:?}");
    assert!(settings(), "{who:?}");
    assert!(!scene.at("ws/plan.approval.json").exists());

    // Without a sandbox the same program reaches it all.
    let did = run(&scene, "careless/git", &["ls-files"]).exits(3);
    did.says("started key home state outside unix tcp\n");
    assert_eq!(planted(&scene).len(), 6);
    assert!(!settings());
    fs::remove_file(&report).unwrap();
}

#[test]
fn a_program_that_git_starts_for_wf_reaches_nothing() {
    reached(Who::Own);
}

#[test]
fn a_program_that_git_starts_for_an_ordinary_user_reaches_nothing() {
    if may_be_nobody() {
        reached(Who::Nobody);
    }
}
