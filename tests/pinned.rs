//! What was approved in advance is what runs, however a command names it: the tree of the workspace, and
//! what is declared.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
};

use crate::support::{Did, Sandbox};

const TOOL: &str = "#!/bin/sh\necho approved >> done.txt\n";
const EVIL: &str = "#!/bin/sh\necho evil >> done.txt\n";

/// What executes `tool.sh`, or a file that it finds by itself, and names it in as many ways.
const WAYS: [&str; 18] = [
    "sh tool.sh",
    "./tool.sh",
    "exec ./tool.sh",
    ". ./tool.sh",
    "cat tool.sh | sh",
    "sh < tool.sh",
    "sh -c \"$(cat tool.sh)\"",
    "eval \"$(cat tool.sh)\"",
    "T=tool; sh $T.sh",
    "sh to*.sh",
    "find . -maxdepth 1 -name 'tool.*' -exec sh {} +",
    "echo tool.sh | xargs sh",
    "cp tool.sh \"$TMPDIR/x\"; sh \"$TMPDIR/x\"",
    "env sh tool.sh",
    "PATH=\"$PWD:$PATH\" tool.sh",
    "cd other && . ../tool.sh; mv done.txt ..",
    "awk 'BEGIN { system(\"sh tool.sh\") }'",
    "sh -c 'for f in t*l.sh; do . \"./$f\"; done'",
];

/// A workspace with a tool and something to put in its place, and a key.
fn workspace() -> Sandbox {
    let workspace = Sandbox::new();
    put(&workspace, "tool.sh", TOOL);
    put(&workspace, "other/evil.sh", EVIL);
    fs::create_dir(workspace.at("temporary")).unwrap();
    with_key(&workspace, &["key", "init", "ada"]).exits(0);
    workspace
}

fn put(workspace: &Sandbox, path: &str, text: impl AsRef<[u8]>) {
    workspace.file(path, text);
    fs::set_permissions(workspace.at(path), fs::Permissions::from_mode(0o755)).unwrap();
}

fn with_key(workspace: &Sandbox, args: &[&str]) -> Did {
    let mut command = workspace.command(args);
    command.env("WF_KEYS", workspace.at("temporary/keys"));
    command.env("TMPDIR", workspace.at("temporary"));
    Did::of(&mut command)
}

fn shell(workspace: &Sandbox, script: &str) {
    Did::of(workspace.program("sh").args(["-ec", script])).exits(0);
}

/// Approves a plan of these steps, in the flow form.
fn approve(workspace: &Sandbox, steps: &[&str]) {
    let mut plan = String::from("---\nkind: plan\nid: p\nsteps:\n");
    for (at, step) in steps.iter().enumerate() {
        let after = at.checked_sub(1).map(|before| format!(" depends_on: [s{before}],"));
        let is_confined = step.starts_with("allow");
        let made = if is_confined { "" } else { "writes: [done.txt, 'temporary/**'], " };
        plan += &format!("  - {{id: s{at},{} {made}{step}}}\n", after.unwrap_or_default());
    }
    workspace.file("p.md", plan + "---\n");
    with_key(workspace, &["approve", "p.md", "--yes"]).exits(0);
}

fn run(workspace: &Sandbox) -> Did {
    with_key(workspace, &["run", "--require-approval", "p.md"])
}

fn as_run(command: &str) -> String {
    format!("run: {}", serde_json::Value::from(command))
}

#[test]
fn however_a_file_is_named_it_runs_as_it_was_approved_or_not_at_all() {
    for way in WAYS {
        let step = as_run(way);
        // Without an attack, so that each way is one.
        let workspace = self::workspace();
        approve(&workspace, &[&step]);
        run(&workspace).exits(0);
        assert_eq!(workspace.read("done.txt"), "approved\n", "{way}");

        // It is exchanged after it was approved.
        approve(&workspace, &[&step]);
        put(&workspace, "tool.sh", EVIL);
        run(&workspace).exits(4).says("tool.sh changed");

        // A step of the same run exchanges it.
        put(&workspace, "tool.sh", TOOL);
        approve(&workspace, &["run: cat other/evil.sh > tool.sh", &step]);
        let did = run(&workspace).exits(1);
        did.says("changed while the step ran, not declared: tool.sh");
        assert_eq!(workspace.read("done.txt"), "approved\n", "{way}");
    }
}

const MODULE: &str = "open('done.txt', 'a').write('evil\\n')\n";

/// What a command executes besides what it names, where that is planted, and what does harm there.
const PLANTED: [(&str, &str, &str); 8] = [
    ("python3 -c 'import helper'", "helper.py", MODULE),
    ("PYTHONPATH=other python3 -m helper", "other/helper.py", MODULE),
    ("python3 other/main.py", "other/json.py", MODULE),
    ("python3 other/main.py", "other/json/__init__.py", MODULE),
    ("PATH=\"$PWD/bin:$PATH\"; date", "bin/date", EVIL),
    ("make -sC build", "build/GNUmakefile", "all:\n\techo evil >> ../done.txt\n"),
    ("ENV=./.profile sh -i -c true", ".profile", EVIL),
    ("for f in hooks/*; do sh \"$f\"; done", "hooks/late", EVIL),
];

/// A workspace with what the commands of [`PLANTED`] name.
fn planted_in() -> Sandbox {
    let workspace = self::workspace();
    put(&workspace, "other/main.py", "import json\n");
    put(&workspace, "build/Makefile", "all:\n\ttrue\n");
    put(&workspace, "hooks/first", "true\n");
    workspace
}

#[test]
fn what_is_planted_keeps_a_step_from_beginning() {
    for (way, planted, text) in PLANTED {
        let step = as_run(&format!("{way} || true"));
        // The control: without an approval in advance it does harm.
        let workspace = planted_in();
        approve(&workspace, &[&step]);
        put(&workspace, planted, text);
        with_key(&workspace, &["run", "p.md"]).exits(0);
        assert_eq!(workspace.read("done.txt"), "evil\n", "{way}");

        let workspace = planted_in();
        approve(&workspace, &[&step]);
        run(&workspace).exits(0);

        approve(&workspace, &[&step]);
        put(&workspace, planted, text);
        run(&workspace).exits(4).says("added");
        fs::remove_file(workspace.at(planted)).unwrap();

        let plant = format!("mkdir -p $(dirname {planted}); cp temporary/x {planted}");
        workspace.file("temporary/x", text);
        approve(&workspace, &[&as_run(&plant), &step]);
        run(&workspace).exits(1).says("not approved, not declared:");
        assert_eq!(workspace.read("done.txt"), "", "{way}");
    }
}

#[test]
fn a_check_does_not_see_what_it_names_and_nobody_approved() {
    let workspace = self::workspace();
    let step = "allow: {write: [made]}, run: 'true', verify: [{name: holds, run: sh check.sh}]";
    approve(&workspace, &[step]);
    shell(&workspace, "git init -q . && git add p.md tool.sh other");
    approve(&workspace, &[step]);
    workspace.file("check.sh", "exit 0\n");
    run(&workspace).exits(1).says("check holds failed");
    // The control: the file is enough for who approves in that moment.
    with_key(&workspace, &["run", "p.md"]).exits(0);
}

#[test]
fn a_repository_binds_what_it_tracks_and_nothing_else_is_there() {
    let workspace = self::workspace();
    approve(&workspace, &["run: sh tool.sh"]);
    let git = "git init -q . && git add tool.sh other p.md";
    shell(&workspace, git);
    approve(&workspace, &["run: sh tool.sh"]);
    // What others left beside it counts for nothing when it is approved, and keeps steps from beginning.
    workspace.file("junk", "");
    run(&workspace).exits(1).says("not approved, not declared: junk");
    fs::remove_file(workspace.at("junk")).unwrap();
    approve(&workspace, &["run: sh tool.sh"]);
    run(&workspace).exits(0);
    assert_eq!(workspace.read("done.txt"), "approved\n");
}

#[test]
fn a_confined_step_does_not_see_what_was_not_approved() {
    let workspace = self::workspace();
    let looks = "allow: {write: [done.txt]}, run: 'cat junk tool.sh >> done.txt; ls -A late >> done.txt'";
    let plants = "run: mkdir late; cp other/evil.sh late/x; cp other/evil.sh junk";
    workspace.file("done.txt", "");
    approve(&workspace, &[plants, looks]);
    run(&workspace).exits(0);
    assert_eq!(workspace.read("done.txt"), TOOL);
    // The control: who approves in the moment in which it begins has approved what is there.
    fs::remove_dir_all(workspace.at("late")).unwrap();
    with_key(&workspace, &["run", "p.md"]).exits(0);
    assert!(workspace.read("done.txt").contains("evil"));
}

#[test]
fn a_link_leads_where_it_led() {
    let workspace = self::workspace();
    symlink("tool.sh", workspace.at("link.sh")).unwrap();
    approve(&workspace, &["run: sh link.sh"]);
    run(&workspace).exits(0);
    approve(&workspace, &["run: sh link.sh"]);
    shell(&workspace, "ln -sf other/evil.sh link.sh");
    run(&workspace).exits(4).says("link.sh changed");
    assert_eq!(workspace.read("done.txt"), "approved\n");
}

#[test]
fn what_is_put_back_was_changed_nevertheless() {
    let workspace = self::workspace();
    let exchange = "mv tool.sh temporary/x; cp other/evil.sh tool.sh; mv temporary/x tool.sh";
    approve(&workspace, &[&as_run(exchange), "run: sh tool.sh"]);
    let did = run(&workspace).exits(1);
    did.says("changed while the step ran, not declared: tool.sh");
    assert_eq!(workspace.read("tool.sh"), TOOL);
    assert_eq!(workspace.read("done.txt"), "");
}

#[test]
fn what_a_step_makes_is_approved_where_it_says_so() {
    let workspace = self::workspace();
    let make = "cp other/evil.sh made.sh";
    approve(&workspace, &[&as_run(make), "run: sh made.sh"]);
    run(&workspace).exits(1).says("not approved, not declared: made.sh");
    fs::remove_file(workspace.at("made.sh")).unwrap();
    let makes = format!("artifacts: [made.sh], {}", as_run(make));
    approve(&workspace, &[&makes, "run: sh made.sh"]);
    run(&workspace).exits(0);
    assert_eq!(workspace.read("done.txt"), "evil\n");
}

#[test]
fn a_nested_plan_runs_in_the_same_tree() {
    let workspace = self::workspace();
    let inner = "---\nkind: plan\nid: inner\nsteps: [{id: in, writes: [done.txt], run: sh tool.sh}]\n---\n";
    workspace.file("inner.md", inner);
    approve(&workspace, &["uses: inner.md"]);
    run(&workspace).exits(0);
    approve(&workspace, &["run: cp other/evil.sh sh", "uses: inner.md"]);
    let did = run(&workspace).exits(1);
    did.says("not approved, not declared: sh");
    assert_eq!(workspace.read("done.txt"), "approved\n");
}

#[test]
fn the_program_of_a_secret_runs_in_the_same_tree() {
    let workspace = self::workspace();
    let plan = "---\nkind: plan\nid: p\nsecrets: {TOKEN: {from: command, run: [sh, tool.sh]}}\n\
                steps:\n  - {id: first, run: cp other/evil.sh tool.sh || true}\n\
                \x20 - {id: second, depends_on: [first], env: {T: '{{ secrets.TOKEN }}'}, run: 'true'}\n---\n";
    workspace.file("p.md", plan);
    with_key(&workspace, &["approve", "p.md", "--yes"]).exits(0);
    run(&workspace).exits(1).says("tool.sh");
    assert_eq!(workspace.read("done.txt"), "");
}
