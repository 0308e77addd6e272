//! What was approved is what runs: files that are swapped after a plan was approved.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::support::{Did, Sandbox};

const TOOL: &str = "#!/bin/sh\necho approved >> done.txt\n";
const EVIL: &str = "#!/bin/sh\necho evil >> done.txt\n";

/// A workspace with a tool and something to put in its place.
fn house() -> Sandbox {
    let house = Sandbox::new();
    put(&house, "tool.sh", TOOL);
    put(&house, "other/evil.sh", EVIL);
    house
}

fn put(house: &Sandbox, path: &str, text: impl AsRef<[u8]>) {
    house.file(path, text);
    fs::set_permissions(house.at(path), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a plan whose first step does something, and whose second uses what was approved.
fn after(house: &Sandbox, first: &str, second: &str) -> Did {
    let plan = format!(
        "---\nkind: plan\nid: p\nsteps:\n  - {{id: first, run: {first}}}\n  - {{id: second, depends_on: [first], {second}}}\n---\n"
    );
    house.file("p.md", plan);
    let with_key = |args: &[&str]| {
        let ran = house
            .command(args)
            .env("WF_KEYS", house.at("keys"))
            .output();
        let ran = ran.expect("wf can be started");
        Did {
            code: ran.status.code(),
            out: String::from_utf8_lossy(&ran.stdout).into_owned(),
            err: String::from_utf8_lossy(&ran.stderr).into_owned(),
        }
    };
    if !house.at("keys").exists() {
        with_key(&["key", "init", "ada"]).exits(0);
    }
    with_key(&["approve", "p.md", "--yes"]).exits(0);
    with_key(&["run", "--require-approval", "p.md"])
}

/// Nothing but what was approved was executed, and it is said why.
#[track_caller]
fn refused(house: &Sandbox, did: Did, why: &str) {
    did.exits(1).says(why);
    assert!(!house.read("done.txt").contains("evil"));
}

#[test]
fn a_script_that_was_swapped_is_not_executed() {
    for second in [
        "run: sh tool.sh",
        "run: ./tool.sh",
        "exec: [./tool.sh]",
        "exec: [sh, tool.sh]",
    ] {
        let house = house();
        let did = after(&house, "cat other/evil.sh > tool.sh", second);
        refused(&house, did, "approved file was changed: tool.sh");
        assert_eq!(house.read("done.txt"), "", "{second}");
        let house = self::house();
        after(&house, "'true'", second).exits(0);
        assert_eq!(house.read("done.txt"), "approved\n", "{second}");
    }
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let house = house();
    let did = after(&house, "ln -sf other/evil.sh tool.sh", "run: sh tool.sh");
    refused(&house, did, "approved file is a link now: tool.sh");
    // Nor one in the place of its folder, though the content is the same.
    let house = self::house();
    put(&house, "bin/tool.sh", TOOL);
    let did = after(
        &house,
        "mv bin away && ln -s away bin",
        "run: sh bin/tool.sh",
    );
    refused(&house, did, "approved file is a link now: bin/tool.sh");
    // One that was approved must lead where it led.
    let house = self::house();
    symlink("tool.sh", house.at("link.sh")).unwrap();
    after(&house, "'true'", "run: sh link.sh").exits(0);
    let did = after(&house, "ln -sf other/evil.sh link.sh", "run: sh link.sh");
    refused(&house, did, "approved file is a link now: link.sh");
}

#[test]
fn a_file_that_is_gone_is_missed() {
    let house = house();
    let did = after(&house, "rm tool.sh", "run: sh tool.sh || true");
    refused(&house, did, "approved file is gone: tool.sh");
}

#[test]
fn a_file_that_is_touched_while_it_runs_fails_the_attempt() {
    let house = house();
    put(&house, "tool.sh", "cat other/evil.sh > tool.sh\nexit 0\n");
    let did = after(&house, "'true'", "run: sh tool.sh");
    refused(
        &house,
        did,
        "approved file was changed while it ran: tool.sh",
    );
    // Even if it is put back.
    let house = self::house();
    put(
        &house,
        "tool.sh",
        "mv tool.sh kept\ncp other/evil.sh tool.sh\nmv kept tool.sh\n",
    );
    let before = house.read("tool.sh");
    let did = after(&house, "'true'", "run: sh tool.sh");
    refused(
        &house,
        did,
        "approved file was changed while it ran: tool.sh",
    );
    assert_eq!(house.read("tool.sh"), before);
    // To set its permissions changes nothing of it.
    let house = self::house();
    after(&house, "'true'", "run: chmod +x tool.sh && ./tool.sh").exits(0);
}

#[test]
fn a_compiled_program_is_executed_as_it_was_approved() {
    let house = house();
    put(&house, "program", fs::read("/bin/true").unwrap());
    after(&house, "'true'", "exec: [./program]").exits(0);
    let did = after(&house, "cp /bin/false program", "exec: [./program]");
    refused(&house, did, "approved file was changed: program");
}

#[test]
fn what_a_nested_plan_executes_is_approved_with_it() {
    let house = house();
    let inner = "---\nkind: plan\nid: inner\nsteps: [{id: in, run: sh tool.sh}]\n---\n";
    house.file("inner.md", inner);
    after(&house, "'true'", "uses: inner.md").exits(0);
    let did = after(&house, "cat other/evil.sh > tool.sh", "uses: inner.md");
    did.exits(1);
    let why = house.wf(&["why", "--last"]).all() + &house.wf(&["show", "--last", "--json"]).all();
    assert!(house.read("done.txt") == "approved\n", "{why}");
}

#[test]
fn what_a_step_makes_is_approved_where_it_says_so() {
    let house = house();
    let made = "cp other/evil.sh made.sh";
    let did = after(&house, made, "run: sh made.sh");
    refused(&house, did, "file was not approved: made.sh");
    let house = self::house();
    let did = after(
        &house,
        &format!("{made}, artifacts: [made.sh]"),
        "run: sh made.sh",
    );
    did.exits(0);
    assert_eq!(house.read("done.txt"), "evil\n");
    // What the words of a step make and execute was approved with them, as often as it runs.
    let own = "run: \"cp tool.sh own.sh && sh own.sh\"";
    for _ in 0..2 {
        after(&house, "'true'", own).exits(0);
    }
}

#[test]
fn a_program_that_is_planted_in_the_path_is_not_executed() {
    let house = house();
    put(&house, "bin/tool", TOOL);
    let second = "env: {PATH: 'bin:/usr/bin:/bin'}, run: tool; date";
    after(&house, "'true'", second).exits(0);
    let did = after(&house, "cp other/evil.sh bin/date", second);
    refused(&house, did, "file was not approved: bin/date");
}
