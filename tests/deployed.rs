//! Deployed goals, with a program of a backend that answers what a file says: what the workspace asks, records and refuses.

use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::support::{Did, Sandbox, until};

/// The program of the backend: it writes down what it is asked, and answers from files.
const BACKEND: &str = r#"#!/bin/sh
cd "${0%/*}"
request=$(cat)
printf '%s\n' "$request" >> asked
test ! -e silent || { echo 'no server answers' >&2; exit 1; }
case "$request" in
'{"prepare"'*) echo '{"prepared":{"workflow":"flow-1","spec":"5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"}}' ;;
'{"start"'*) test ! -e unstarted || { echo '{"failed":"the server is full"}'; exit 0; }; echo '"done"' ;;
'{"records"'*)
    after=${request##*\"after\":}; after=${after%%\}*}
    test ! -e busy || cat busy >> records
    count=$(cat records 2>/dev/null | wc -l)
    printf '{"records":{"records":['; tail -n "+$((after + 1))" records 2>/dev/null | paste -sd, -
    echo "],\"count\":$count}}" ;;
*) echo '"done"' ;;
esac
"#;

/// A goal that is due each hour, and only reports.
const GOAL: &str = "---\nkind: goal\nid: lamp\nschedule: '0 * * * *'\ntimezone: UTC\nbackend: farm\n\
                    verify: [{name: lit, run: test -e lit}]\n---\n# Lamp\n";

const CONFIG: &str = "backends:\n  farm:\n    temporal: {address: 'http://127.0.0.1:9'}\n\
                      \x20   objects: 'file:///tmp/nowhere'\n    queues: {default: wf}\n";

/// A workspace with an approved goal, and the program `wf` beside that of its backend.
struct DeployedPlace {
    sandbox: Sandbox,
    programs: tempfile::TempDir,
}

impl DeployedPlace {
    fn new() -> Self {
        let programs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::hard_link(env!("CARGO_BIN_EXE_wf"), programs.path().join("wf")).unwrap();
        let place = Self { sandbox: Sandbox::new(), programs };
        place.sandbox.file("wf.yaml", CONFIG).file("goals/lamp.md", GOAL);
        place.program(BACKEND);
        place.wf(&["key", "init"]).exits(0);
        place
    }

    fn approved() -> Self {
        let place = Self::new();
        place.wf(&["approve", "goals/lamp.md", "--executions", "5", "--expires", "7d", "--yes"]).exits(0);
        place
    }

    fn deployed() -> Self {
        let place = Self::approved();
        place.wf(&["goal", "deploy", "lamp"]).exits(0).says("lamp is deployed on farm · next ");
        place
    }

    /// The path of a file of the backend.
    fn there(&self, name: &str) -> PathBuf {
        self.programs.path().join(name)
    }

    /// Makes this the program of the backend.
    fn program(&self, text: &str) {
        let path = self.there("wf-temporal");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sandbox.program(self.there("wf").to_str().unwrap());
        command.args(args);
        command
    }

    fn wf(&self, args: &[&str]) -> Did {
        Did::of(&mut self.command(args))
    }

    /// The words for what the backend was asked, in order.
    fn asked(&self) -> Vec<String> {
        let asked = std::fs::read_to_string(self.there("asked")).unwrap_or_default();
        let word = |line: &str| {
            let request: Value = serde_json::from_str(line).unwrap();
            let (word, of) = request.as_object().unwrap().iter().next().unwrap();
            match word.as_str() {
                "act" => format!("act {}", of["act"]),
                "records" => format!("records {}", of["after"]),
                word => word.to_owned(),
            }
        };
        asked.lines().map(word).collect()
    }

    /// Adds a record of the backend.
    fn happens(&self, at: &str, fact: Value) {
        let mut record = fact;
        record["at"] = json!(at);
        let line = json!({"record": record, "started": null});
        let before = std::fs::read_to_string(self.there("records")).unwrap_or_default();
        std::fs::write(self.there("records"), format!("{before}{line}\n")).unwrap();
    }

    fn goal(&self) -> Value {
        let listed: Value = serde_json::from_str(&self.wf(&["goal", "list", "--json"]).out).unwrap();
        listed["goals"][0].clone()
    }

    /// The number of records that the workspace has; `None`: the goal is not deployed.
    fn recorded(&self) -> Option<i64> {
        let sql = "SELECT deployment ->> '$.recorded' FROM goals WHERE id = 'lamp'";
        self.sandbox.database().query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

#[test]
fn a_goal_is_prepared_recorded_and_started_in_this_order() {
    let place = DeployedPlace::approved();
    std::fs::write(place.there("unstarted"), "").unwrap();
    let failed = place.wf(&["goal", "deploy", "lamp"]).exits(6);
    let failed = failed.says("lamp is deployed, and not started yet: backend `farm`: the server is full");
    failed.says("start it: wf goal sync lamp");
    assert_eq!(place.asked(), ["prepare", "start"]);
    assert_eq!(place.recorded(), Some(0), "it is recorded before it starts");
    std::fs::remove_file(place.there("unstarted")).unwrap();
    place.wf(&["goal", "sync", "lamp"]).exits(0).says("lamp on farm · 0 new records");
    assert_eq!(place.asked()[2..], ["start", "records 0"]);
    let goal = place.goal();
    assert_eq!(goal["deployed"]["on"], "farm");
    place.wf(&["goal", "list"]).says("deployed on farm since ");
    place.wf(&["goal", "deploy", "lamp"]).exits(2).says("take it back first: wf goal recall lamp");
    place.wf(&["audit", "verify"]).exits(0);
}

#[test]
fn what_is_needed_for_a_deployment_is_asked_for() {
    let place = DeployedPlace::new();
    place.wf(&["goal", "deploy", "lamp"]).exits(4).says("accept it: wf goal accept lamp");
    place.wf(&["goal", "accept", "lamp", "--yes"]).exits(0);
    let missing = place.wf(&["goal", "deploy", "lamp"]).exits(4);
    missing.says("for many runs: wf approve goals/lamp.md --executions N --expires TIME");
    place.wf(&["goal", "sync", "lamp"]).exits(2).says("lamp is not deployed").says("wf goal deploy lamp");
    place.wf(&["goal", "recall", "lamp"]).exits(2).says("lamp is not deployed");
    place.sandbox.file("goals/lamp.md", GOAL.replace("backend: farm\n", ""));
    place.wf(&["goal", "deploy", "lamp"]).exits(2).says("add `backend: NAME` to it");
    place.sandbox.file("goals/lamp.md", GOAL);
    std::fs::remove_file(place.there("wf-temporal")).unwrap();
    place.wf(&["goal", "deploy", "lamp"]).exits(2).says("neither beside wf nor in a folder of PATH");
    assert_eq!(place.asked(), [""; 0]);
}

#[test]
fn what_happens_there_is_recorded_once() {
    let place = DeployedPlace::deployed();
    let decided = "SELECT decided_until FROM goals";
    let before: i64 = place.sandbox.database().query_row(decided, [], |row| row.get(0)).unwrap();
    let at = |millis: i64| wf_base::time::Moment::from_millis(millis).to_string();
    let (after, until) = (at(before), at(before + 3_600_000));
    let row = json!({"slot": until, "last": until, "count": 1, "state": "skipped", "cause": "schedule",
                     "reason": "the approval is used up"});
    let decision = json!({"rows": [row], "decided_until": until, "cancels_running": false, "wake": null});
    place.happens(&until, json!({"fact": "decided", "after": after, "decision": decision}));
    place.happens(&until, json!({"fact": "paused", "reason": "the bulb is gone"}));
    place.wf(&["goal", "sync", "lamp"]).exits(0).says("2 new records");
    let history = place.wf(&["goal", "history", "lamp"]).exits(0);
    history.says("the approval is used up");
    assert_eq!(place.goal()["paused"]["reason"], "the bulb is gone");
    // The command died after it recorded them, and before it recorded that.
    let state = |place: &DeployedPlace| {
        let goals = place.sandbox.database();
        let one = |sql: &str| goals.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
        let slots = "SELECT json_group_array(json_array(slot, state, reason)) FROM slots";
        [one(slots), one("SELECT json_array(decided_until, paused_at, reason) FROM goals")]
    };
    let once = state(&place);
    place.wf(&["goal", "sync", "lamp"]).exits(0).says("0 new records");
    assert_eq!(state(&place), once);
    place.happens(&at(before + 3_700_000), json!({"fact": "resumed"}));
    place.happens(&at(before + 3_800_000), json!({"fact": "recalled"}));
    place.wf(&["goal", "sync", "lamp"]).exits(0).says("lamp is back from farm");
    assert_eq!(place.recorded(), None);
    assert!(place.goal()["paused"].is_null());
    place.wf(&["audit", "verify"]).exits(0);
    place.wf(&["goal", "deploy", "lamp"]).exits(0);
}

#[test]
fn a_goal_to_which_always_something_happens_is_recorded_as_of_the_first_look() {
    let place = DeployedPlace::deployed();
    place.happens("2026-11-21T09:30:00.000Z", json!({"fact": "paused", "reason": "dark"}));
    place.happens("2026-11-21T09:30:01.000Z", json!({"fact": "resumed"}));
    // Both again at each look.
    std::fs::copy(place.there("records"), place.there("busy")).unwrap();
    place.wf(&["goal", "sync", "lamp"]).exits(0).says("4 new records");
    place.wf(&["goal", "sync", "lamp"]).exits(0).says("2 new records");
    place.wf(&["audit", "verify"]).exits(0);
}

#[test]
fn acts_on_a_deployed_goal_are_passed_on_and_nothing_starts_here() {
    let place = DeployedPlace::deployed();
    place.wf(&["goal", "pause", "lamp", "--reason", "dark"]).exits(0).says("lamp is paused");
    assert_eq!(place.asked()[2..], ["start", r#"act {"pause":{"reason":"dark"}}"#, "records 0"]);
    assert!(place.goal()["paused"].is_null(), "it is paused once the backend says so");
    place.happens("2026-11-21T09:30:00.000Z", json!({"fact": "paused", "reason": "dark"}));
    place.wf(&["goal", "resume", "lamp"]).exits(0).says("lamp is resumed");
    assert_eq!(place.asked().last().unwrap(), "records 1");
    assert!(place.asked().contains(&r#"act "resume""#.to_owned()));
    let backfill =
        ["goal", "backfill", "lamp", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T02:00:00Z"];
    place.wf(&backfill).exits(2).says("take it back with `wf goal recall`");
    // A slot that a daemon was about to start, and a branch.
    let slot = ["goal", "run", "lamp", "--slot", "2026-01-01T00:00:00Z"];
    place.wf(&slot).says("goal `lamp` is deployed");
    place.wf(&["goal", "tighten", "lamp"]).exits(0);
    assert_eq!(place.asked().iter().filter(|act| *act == r#"act "withdraw""#).count(), 1);
    std::fs::write(place.there("silent"), "").unwrap();
    let unheard = place.wf(&["goal", "tighten", "lamp"]).exits(6);
    unheard.says("goes on under it on farm, which was not told").says("no server answers");
    std::fs::remove_file(place.there("silent")).unwrap();
    place.happens("2026-11-21T09:40:00.000Z", json!({"fact": "recalled"}));
    place.wf(&["goal", "recall", "lamp", "--cancel"]).exits(0).says("lamp is back from farm");
    assert!(place.asked().contains(&r#"act {"recall":{"cancels":true}}"#.to_owned()));
    place.wf(&["goal", "deploy", "lamp"]).exits(4).says("the approval was revoked");
    let acts = place.wf(&["audit", "tail", "-n", "50"]).out;
    for act in ["goal_deployed", "goal_recalled"] {
        assert!(acts.contains(act), "{acts}");
    }
}

#[test]
fn a_daemon_records_what_happens_there_and_takes_the_goal_back() {
    let place = DeployedPlace::deployed();
    let mut daemon = place.command(&["daemon"]).spawn().unwrap();
    place.happens("2026-11-21T09:30:00.000Z", json!({"fact": "paused", "reason": "dark"}));
    until("it is recorded", || place.recorded() == Some(1));
    let busy = place.wf(&["goal", "sync", "lamp"]).exits(6);
    busy.says("another process records here what happens to lamp");
    place.happens("2026-11-21T09:40:00.000Z", json!({"fact": "recalled"}));
    place.wf(&["goal", "recall", "lamp"]).exits(0);
    assert_eq!(place.recorded(), None);
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(daemon.wait().unwrap().code(), Some(0));
}

#[test]
fn a_goal_whose_backend_is_lost_is_taken_back_without_it() {
    let place = DeployedPlace::deployed();
    std::fs::write(place.there("silent"), "").unwrap();
    place.wf(&["goal", "recall", "lamp"]).exits(6).says("backend `farm`: no server answers");
    assert_eq!(place.recorded(), Some(0));
    place.wf(&["goal", "recall", "lamp", "--forget"]).exits(0).says("lamp is back");
    assert_eq!(place.recorded(), None);
    place.wf(&["goal", "pause", "lamp"]).exits(0).says("lamp is paused");
}
