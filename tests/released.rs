//! Upgrades: states that released programs left are opened by this one, and everything in them goes on. They are made by
//! `tests/released/make`, and never changed.

use std::path::Path;

use crate::support::{Did, Sandbox};

/// Unpacks the workspace that a version left.
fn unpack((version, now): (&str, &'static str)) -> Left {
    let sandbox = Sandbox::new();
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/released/{version}.tar.gz"));
    for (folder, depth) in [("work", "1"), ("home", "1")] {
        let mut tar = sandbox.program("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(sandbox.path());
        let done = tar.args(["--strip-components", depth, folder]).status().expect("tar is there");
        assert!(done.success(), "{version}");
    }
    Left { sandbox, now }
}

/// Unpacks the workflow files of a version.
fn unpack_plans(version: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/released/{version}.plans.tar.gz"));
    let mut tar = sandbox.program("tar");
    let done = tar.arg("-xzf").arg(&archive).arg("-C").arg(sandbox.path()).status().expect("tar is there");
    assert!(done.success(), "{version}");
    sandbox
}

/// The states that releases left, each with a time shortly after: what was agreed to in them expires.
const RELEASED: &[(&str, &str)] = &[("0.1.0-rc1", "2026-11-29T18:00:00Z")];

/// A workspace that a version left, some time later.
struct Left {
    sandbox: Sandbox,
    now: &'static str,
}

impl Left {
    fn wf(&self, args: &[&str]) -> Did {
        Did::of(self.sandbox.command(args).env("WF_NOW", self.now))
    }
}

/// The id of the newest run of a plan.
fn run_of(left: &Left, plan: &str) -> String {
    let listed = left.wf(&["runs", "--json", "-n", "99"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.exits(0).out).unwrap();
    let runs = listed["runs"].as_array().unwrap();
    runs.iter().find(|run| run["plan"] == plan).unwrap()["id"].as_str().unwrap().to_owned()
}

#[test]
fn everything_in_a_released_state_goes_on() {
    for released in RELEASED {
        let left = unpack(*released);
        let sandbox = &left.sandbox;
        left.wf(&["audit", "verify"]).exits(0);
        let approve = ["approve", "waits.md", "--executions", "3", "--yes"];
        left.wf(&approve).exits(0).says("already approved with this key");
        left.wf(&["doctor", "--full"]).says("hash chain OK");
        // What ended is there, is verified, attested, and reused.
        let done = run_of(&left, "done");
        left.wf(&["show", &done]).exits(0).says("words");
        left.wf(&["verify", &run_of(&left, "outer")]).says("2 of 2 checks that passed still pass");
        left.wf(&["attest", &done, "--key", "robin", "--out", "done.intoto.json"]).exits(0);
        left.wf(&["run", "done.md", "-p", "name=later"]).exits(0).says("cached");
        // What waits, was killed, or failed goes on.
        for waiting in ["waits", "nested"].map(|plan| run_of(&left, plan)) {
            left.wf(&["approve", &waiting, "--yes"]).exits(0);
            left.wf(&["resume", &waiting]).exits(0).says("succeeded");
        }
        assert_eq!(sandbox.read("after.txt"), "went on\n");
        sandbox.file("go", "").file("mended", "");
        left.wf(&["resume", &run_of(&left, "killed")]).exits(0).says("succeeded");
        left.wf(&["retry", &run_of(&left, "fails")]).exits(0).says("succeeded");
        // What was agreed to, accepted and remembered stays so.
        left.wf(&["audit", "tail", "-n", "999"]).exits(0).says("state_migrated");
        left.wf(&["goal", "list"]).exits(0).says("fresh");
        left.wf(&["goal", "run", "fresh"]).exits(0);
        left.wf(&["memory", "search", "greeting"]).exits(0).says("made by a script");
        left.wf(&["session", "list"]).exits(0).says("line");
        left.wf(&["audit", "verify"]).exits(0);
        left.wf(&["backup", "state.tar"]).exits(0);
        left.wf(&["restore", "--state", "other", "state.tar"]).exits(0);
        left.wf(&["show", "--state", "other", &done]).exits(0).says("words");
        left.wf(&["check"]).exits(0);
    }
}

#[test]
fn an_upgrade_is_announced_and_can_be_taken_back() {
    for released in RELEASED {
        let left = unpack(*released);
        let sandbox = &left.sandbox;
        let database = || std::fs::read(sandbox.at(".wf/state.db")).unwrap();
        let untouched = database();
        sandbox
            .wf(&["doctor", "--upgrade"])
            .exits(0)
            .says("copy before")
            .says("3 runs not ended")
            .says("they go on");
        assert_eq!(database(), untouched);
        let before = left.wf(&["runs", "-n", "99"]).exits(0).out.clone();
        left.wf(&["doctor", "--upgrade"]).exits(0).says("nothing to upgrade");
        let copy = std::fs::read_dir(sandbox.at(".wf/upgrades")).unwrap().next().unwrap().unwrap().path();
        // What happens from now on is undone with the upgrade.
        left.wf(&["run", "done.md", "-p", "name=gone"]).exits(0);
        let copy = copy.to_str().unwrap();
        left.wf(&["restore", copy]).exits(2).says("--force");
        left.wf(&["restore", "--force", copy]).exits(0);
        assert_eq!(left.wf(&["runs", "-n", "99"]).exits(0).out, before);
        left.wf(&["audit", "verify"]).exits(0);
        let waiting = run_of(&left, "waits");
        left.wf(&["approve", &waiting, "--yes"]).exits(0);
        left.wf(&["resume", &waiting]).exits(0).says("succeeded");
    }
}

#[test]
fn an_upgrade_that_is_killed_leaves_the_old_state_or_the_new_one() {
    for point in ["migrate.before", "migrate.after"] {
        let left = unpack(RELEASED[0]);
        let sandbox = &left.sandbox;
        let killed = sandbox.command(&["runs"]).env("WF_CRASH", point).status().unwrap();
        assert!(!killed.success(), "{point}");
        left.wf(&["audit", "verify"]).exits(0);
        let migrated = "SELECT count(*) FROM events WHERE kind = 'state_migrated'";
        let count: u32 = sandbox.database().query_row(migrated, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1, "{point}");
    }
}

#[test]
fn a_state_of_a_later_version_is_named_saved_and_left_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.file("p.md", "---\nkind: plan\nid: p\nsteps: [{id: a, run: \"true\"}]\n---\n# P\n");
    sandbox.wf(&["run", "p.md"]).exits(0);
    sandbox
        .database()
        .execute_batch(
            "CREATE TABLE more (x); INSERT INTO migrations VALUES (99, 'x');
             INSERT INTO programs (version, since) VALUES ('9.1.0 (0123456789ab)', 0)",
        )
        .unwrap();
    for args in
        [&["runs"][..], &["run", "p.md"], &["serve", "--no-open", "--listen", "localhost:0"], &["daemon"]]
    {
        let did = sandbox.wf(args);
        did.exits(6).says("of wf 9.1.0 (0123456789ab)").says("upgrades");
    }
    sandbox.wf(&["backup", "saved.tar"]).exits(0).says("not verified").says("restore it with that version");
    sandbox.wf(&["restore", "--state", "other", "saved.tar"]).exits(6).says("has schema");
}

#[test]
fn the_plans_of_a_release_stay_valid() {
    for (version, _) in RELEASED {
        let sandbox = unpack_plans(version);
        sandbox
            .wf(&["check", "workflows", "gates", "examples", "skills", "wf.yaml"])
            .exits(0)
            .says("files checked");
    }
}
