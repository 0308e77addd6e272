//! Commands that use the workspace of a server: `wf --server URL`, from a folder that has none.

use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

use super::{ASKS, Pages, api::REPORT};
use crate::support::{Did, Sandbox, until};

/// Another machine: a folder without a workspace, with a key for a server.
struct Elsewhere {
    sandbox: Sandbox,
    server: String,
}

impl Elsewhere {
    /// Gives it a key with an access.
    fn new(home: &Sandbox, pages: &Pages, access: &str) -> Self {
        let key = home.wf(&["serve", "link", "--token", "--may", access, "--for", "ada"]).exits(0).out;
        let sandbox = Sandbox::new();
        sandbox.file("key.json", key);
        std::fs::set_permissions(sandbox.at("key.json"), Permissions::from_mode(0o600)).unwrap();
        Self { sandbox, server: pages.origin() }
    }

    fn wf(&self, args: &[&str]) -> Did {
        let global = ["--server", &self.server, "--server-key", "key.json"];
        self.sandbox.wf(&[&global, args].concat())
    }
}

#[test]
fn a_run_is_started_followed_and_read_from_another_machine() {
    let home = Sandbox::new();
    home.file("report.md", REPORT);
    let pages = Pages::open(&home);
    let away = Elsewhere::new(&home, &pages, "start");
    away.wf(&["list"]).exits(0).says("The report");
    away.wf(&["runs"]).exits(0).says("no matching runs");
    let ran = away.wf(&["run", "report", "-p", "region=eu", "-p", "copies=3"]).exits(0);
    assert!(ran.all().contains("write") && ran.all().contains("succeeded"), "{}", ran.all());
    for args in [&["runs", "-n", "20"][..], &["show", "--last"]] {
        assert_eq!(away.wf(args).exits(0).out, home.wf(args).exits(0).out, "{args:?}");
    }
    away.wf(&["logs", "--last"]).exits(0).says("── write#1").says("eu 3");
    away.wf(&["logs", "--last", "-f"]).exits(0).says("── write#1").says("eu 3");
    away.wf(&["logs", "--last", "wrote", "-f"]).exits(2).says("no attempt");
    assert_eq!(away.wf(&["logs", "--last", "write", "--tail", "1"]).exits(0).out, "eu 3\n");
    assert_eq!(away.wf(&["show", "--last", "--artifact", "out/report"]).exits(0).out, "eu 1\neu 2\neu 3\n");
    let shown: serde_json::Value =
        serde_json::from_str(&away.wf(&["show", "--last", "--json"]).exits(0).out).unwrap();
    assert_eq!((&shown["params"]["copies"], &shown["state"]), (&3.into(), &"succeeded".into()));
    let lines = away.wf(&["run", "report.md", "-p", "region=eu", "--json"]).exits(0).out;
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "run_ended");
    away.wf(&["run", "report"]).exits(2).says("region");
    away.wf(&["run", "repport"]).exits(2).says("there is no plan `repport`");
    assert!(!away.sandbox.at(".wf").exists(), "nothing is recorded here");
}

#[test]
fn a_run_fails_waits_and_is_cancelled_from_another_machine() {
    let home = Sandbox::new();
    home.file("release.md", ASKS)
        .file(
            "fails.md",
            "---\nkind: plan\nid: fails\nsteps:\n  - {id: fail, allow: {write: [out]}, run: 'exit 3'}\n---\n",
        )
        .file(
            "waits.md",
            "---\nkind: plan\nid: waits\nsteps:\n  - {id: wait, allow: {write: [out]}, run: sleep 60}\n---\n",
        );
    let pages = Pages::open(&home);
    let away = Elsewhere::new(&home, &pages, "start");
    let retry = format!("wf --server {} --server-key key.json retry ", away.server);
    away.wf(&["run", "fails"]).exits(1).says("exit code 3").says(&retry);
    let mut running =
        away.sandbox.start(&["--server", &away.server, "--server-key", "key.json", "run", "waits"]);
    until("it runs", || away.wf(&["runs", "--state-is", "running"]).out.contains("waits"));
    away.wf(&["cancel", "--last"]).exits(0).says("asked to cancel");
    assert_eq!(running.wait().unwrap().code(), Some(130));
    away.wf(&["retry", "--last", "--dry-run"]).exits(2).says("--dry-run");
}

#[test]
fn a_live_run_waits_for_people_once_nothing_in_it_works() {
    let home = Sandbox::new();
    let inner = "---\nkind: plan\nid: inner\nsteps:\n  - id: each\n    for_each: [ask, work]\n    uses: item.md\n    \
                 with: {kind: '{{ item }}'}\n---\n";
    let item = "---\nkind: plan\nid: item\nparams: {kind: {type: string}}\nsteps:\n  \
                - {id: ask, when: \"params.kind == 'ask'\", approve: {message: 'Go on?'}}\n  \
                - {id: work, when: \"params.kind == 'work'\", run: 'until [ -e done ]; do sleep 0.1; done'}\n---\n";
    let outer = "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: inner.md}\n---\n";
    home.file("outer.md", outer).file("inner.md", inner).file("item.md", item);
    let mut run = home.start(&["run", "outer.md", "--wait", "-q"]);
    let is_in = |state: &str| home.wf(&["runs", "--state-is", state]).out.contains("outer");
    until("it asks", || home.wf(&["inbox"]).out.contains("ask"));
    until("an item works", || home.wf(&["show", "--last"]).out.contains("running"));
    assert!(is_in("running") && !is_in("waiting"), "{}", home.wf(&["show", "--last"]).out);
    home.file("done", "");
    until("nothing works any more", || is_in("waiting"));
    assert!(!is_in("running"));
    home.wf(&["cancel", "--last"]).exits(0);
    assert_eq!(run.wait().unwrap().code(), Some(130));
}

#[test]
fn a_request_is_answered_with_a_key_of_another_machine() {
    let home = Sandbox::new();
    // Its steps write nothing, so a login starts it.
    home.file("release.md", ASKS.replace("run: echo done", "run: echo done\n    allow: {write: [out]}"));
    let pages = Pages::open(&home);
    let away = Elsewhere::new(&home, &pages, "start");
    for name in ["ada", "eve"] {
        away.sandbox.wf(&["key", "init", name]).exits(0);
    }
    let public = away.sandbox.wf(&["key", "export", "ada", "--hex"]).exits(0).out;
    home.wf(&["key", "enrol", "ada", public.trim(), "--yes"]).exits(0);
    away.wf(&["run", "release"]).exits(5).says("waits for people");
    away.wf(&["inbox"]).exits(0).says("agree of release").says("--server-key key.json approve ");
    // Its process lives, and waits as the run does.
    away.wf(&["runs", "--state-is", "waiting"]).exits(0).says("release");
    assert!(!away.wf(&["runs", "--state-is", "running"]).exits(0).out.contains("release"));
    home.wf(&["runs", "--state-is", "waiting"]).exits(0).says("release");
    away.wf(&["approve", "--last", "--yes", "--key", "eve"]).exits(4).says("signature rejected");
    let approved = away.wf(&["approve", "--last", "agree", "--yes", "--key", "ada", "--reason", "good"]);
    approved.exits(0).says("recorded").says("what is signed");
    home.until_runs_end();
    home.wf(&["show", "--last", "--json"]).exits(0).says("\"ada\"");
    away.wf(&["approve", "--last", "--yes", "--key", "ada"]).exits(2).says("nothing waits");
}

#[test]
fn a_server_that_cannot_be_used_is_named_with_the_reason() {
    let home = Sandbox::new();
    let pages = Pages::open(&home);
    let away = Elsewhere::new(&home, &pages, "look");
    away.wf(&["cancel", "ffff"]).exits(2).says("`operate`");
    away.wf(&["show", "ffff"]).exits(2).says("there is no run `ffff`");
    away.wf(&["doctor"]).exits(2).says("does not work with `--server`");
    away.wf(&["runs", "--pruned"]).exits(2).says("--pruned");
    let with = |server: &str| away.sandbox.wf(&["--server", server, "--server-key", "key.json", "runs"]);
    with("http://wf.example.org").exits(2).says("unencrypted");
    with("http://127.0.0.1:1").exits(6).says("cannot connect");
    away.sandbox.wf(&["--server", &away.server, "runs"]).exits(2).says("there is no key");
    std::fs::set_permissions(away.sandbox.at("key.json"), Permissions::from_mode(0o644)).unwrap();
    away.wf(&["runs"]).exits(2).says("key.json");
}
