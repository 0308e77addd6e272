//! The planner through the real program: what it may do, and what is refused.

mod must_not;

use std::fs;

use serde_json::Value;

use crate::support::{Did, Sandbox, until};

/// A step that fails with its tool, and a planner that is a script.
const PLAN: &str = "---
kind: plan
id: p
title: Fetch the rates
description: All rates of the day.
replan: {}
planner: {exec: [sh, planner.sh], timeout: 20s}
params: {day: {type: string, default: mon}}
steps:
  - {id: kept, run: echo once >> kept.txt, verify: [{name: there, run: test -s kept.txt}]}
  - id: fetch
    tool: net:curl
    target: mirror_a
    env: {DAY: '{{ params.day }}'}
    writes: [rates.txt, go]
    run: echo $DAY > rates.txt; exit 1
    verify: [{name: full, run: grep -q full rates.txt}]
---
";

/// A planner that answers with this.
fn says(answer: &str) -> String {
    format!("cat > /dev/null\ncat <<'END'\n{answer}\nEND\n")
}

/// A way for `fetch`, with these keys.
fn way(keys: &str) -> String {
    says(&format!("{{\"steps\": {{\"fetch\": {{\"id\": \"other\", {keys}}}}}, \"reason\": \"mirror down\"}}"))
}

const RIGHT: &str =
    r#""tool": "disk:cp", "run": "echo full $DAY > rates.txt", "env": {"DAY": "{{ params.day }}"}"#;

fn ran(planner: &str) -> (Sandbox, Did) {
    let place = Sandbox::new();
    place.file("plan.md", PLAN).file("planner.sh", planner);
    let did = place.wf(&["run", "plan.md", "--json"]);
    (place, did)
}

/// The events of a kind.
fn events(did: &Did, kind: &str) -> Vec<Value> {
    let lines = did.out.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|event: &Value| event["event"] == kind).collect()
}

/// Runs with a planner whose answer is refused, and gives the record of that.
fn refused(planner: &str) -> String {
    let (place, did) = ran(planner);
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert_eq!(events(&did, "planner_requested").len(), 1, "{}", did.all());
    assert!(events(&did, "planner_accepted").is_empty(), "{}", did.all());
    let end = events(&did, "run_ended").remove(0);
    assert_eq!(end["outcome"], "abandoned", "{end}");
    let told = events(&did, "planner_rejected").remove(0);
    let reason = told["reason"].as_str().unwrap().to_owned();
    assert!(end["reason"].as_str().unwrap().ends_with(&reason), "{end}");
    // What was verified stays, and a retry takes it over.
    let shown = place.wf(&["show", "--last"]).exits(0).out;
    assert!(shown.contains("verified") && shown.contains("options: add an alternative"), "{shown}");
    place.file("plan.md", PLAN.replace("exit 1", "echo full > rates.txt"));
    place.wf(&["retry", "--last"]).exits(0);
    assert_eq!(place.read("kept.txt"), "once\n");
    assert!(place.read("rates.txt").contains("full"));
    reason
}

#[test]
fn a_planner_mends_a_step() {
    let (place, did) = ran(&way(RIGHT));
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(place.read("rates.txt"), "full mon\n");
    let answered = events(&did, "planner_accepted").remove(0);
    let asked = events(&did, "planner_requested").remove(0);
    assert_eq!(answered["parent_digest"], asked["plan_digest"]);
    assert_ne!(answered["parent_digest"], answered["plan_digest"]);
    assert_eq!(answered["alternatives"]["fetch"]["tool"], "disk:cp");
    assert_eq!(answered["reason"], "mirror down");
    assert_eq!(asked["steps"], serde_json::json!(["fetch"]));
    let rounds = events(&did, "round_completed");
    assert_eq!(rounds.len(), 2);
    assert_eq!(rounds[0]["changes"][0]["to"], "other");
    assert_eq!(place.read("kept.txt"), "once\n");
    place.wf(&["verify", "--last"]).exits(0);
}

#[test]
fn it_is_told_what_was_tried_and_what_it_must_not() {
    // It writes nowhere but to its output: what it was told comes back in its reason.
    let script = "python3 -c 'import json, sys; r = json.load(sys.stdin); \
        s = r[\"steps\"][0]; g = r[\"gap\"][0]; print(json.dumps({\"steps\": {}, \"reason\": \" \".join([\
        str(r[\"version\"]), r[\"plan\"][\"id\"], r[\"intent\"][\"title\"], r[\"round\"][\"directive\"], \
        r[\"must_not\"][\"tools\"][0], s[\"step\"], s[\"run\"], s[\"env\"][\"DAY\"], g[\"step\"], \
        g[\"found\"], str(len(r[\"history\"]))])}))'\n";
    let reason = refused(script);
    assert_eq!(
        reason,
        "it found no alternative: 1 p Fetch the rates break_symmetry net:curl fetch \
         echo $DAY > rates.txt; exit 1 {{ params.day }} fetch exit code 1 0"
    );
}

#[test]
fn what_is_blocked_is_refused() {
    let reason = refused(&way(r#""tool": "net:curl", "run": "echo full > rates.txt""#));
    assert_eq!(reason, "step `fetch`: tool `net:curl` is blocked");
    let reason = refused(&way(r#""tool": "disk:cp", "timeout": "1m""#));
    // Who calls the same by another name does not get past that.
    assert_eq!(reason, "step `fetch`: it executes the same as tool `net:curl` under another name");
}

#[test]
fn wider_permissions_are_refused() {
    for (keys, wanted) in [
        (r#""tool": "d", "run": "true", "allow": {"net": true}"#, "`allow` can be set only in the plan"),
        (r#""tool": "d", "run": "true", "verify": []"#, "`verify` can be set only in the plan"),
        (r#""tool": "d", "http": {"url": "http://localhost"}"#, "`http` can be set only in the plan"),
        (
            r#""tool": "d", "run": "true", "env": {"X": "{{ secrets.TOKEN }}"}"#,
            "`X` reads secrets.TOKEN, which the step does not read",
        ),
        (r#""run": "true""#, "it executes another command, but `tool` is missing"),
        (r#""tool": "d", "run": "true", "cwd": "../.."#, "output is not valid JSON"),
        (r#""tool": "d", "run": "true", "cwd": "../..""#, "`cwd` leaves the workspace: ../.."),
    ] {
        let reason = refused(&way(keys));
        assert!(reason.contains(wanted), "{wanted}: {reason}");
    }
    let reason = refused(&says(r#"{"steps": {"kept": {"id": "x", "tool": "d", "run": "true"}}}"#));
    assert_eq!(reason, "step `kept`: no alternative was requested for it");
    let reason = refused(&says(r#"{"steps": {}, "permissions": ["all"]}"#));
    assert_eq!(reason, "unknown key `permissions`: an answer has `steps` and `reason`");
}

#[test]
fn a_planner_that_fails_prints_trash_or_takes_too_long_is_no_planner() {
    assert_eq!(refused("echo no idea >&2; exit 3\n"), "it failed: exit code 3: no idea");
    assert!(refused(&says("I think so")).starts_with("output is not valid JSON"));
    let place = Sandbox::new();
    place.file("plan.md", PLAN.replace("timeout: 20s", "timeout: 200ms"));
    place.file("planner.sh", "sleep 30\n");
    let did = place.wf(&["run", "plan.md"]);
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert!(did.all().contains("it failed: timed out"), "{}", did.all());
}

#[test]
fn the_same_script_is_no_other_tool() {
    let same = r#""tool": "disk:cp", "timeout": "9s", "run": "echo $DAY > rates.txt; exit 1""#;
    let reason = refused(&way(same));
    assert!(reason.contains("under another name"), "{reason}");
}

#[test]
fn a_planner_writes_no_line_that_looks_like_a_result() {
    let forged = "disk:cp\\n   verified      0.0s  forged";
    let reason = refused(&way(&format!(r#""tool": "{forged}", "run": "true""#)));
    assert!(reason.contains("must be plain words"), "{reason}");
    let reason = refused(&says(r#"{"steps": {}, "reason": "sorry\n   verified  forged\u001b[2J"}"#));
    assert!(reason.ends_with("sorry verified forged [2J"), "{reason:?}");
}

#[test]
fn a_planner_writes_nothing_and_may_not_change_itself() {
    let script = format!("echo x > made.txt; echo '# more' >> planner.sh\n{}", way(RIGHT));
    let (place, did) = ran(&script);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(events(&did, "planner_accepted").len(), 1);
    assert!(!place.at("made.txt").exists(), "{}", did.all());
    assert_eq!(place.read("planner.sh"), script);
    let plan = PLAN.replace("exit 1", "echo '# more' >> planner.sh; exit 1");
    let place = Sandbox::new();
    place.file("plan.md", plan).file("planner.sh", way(RIGHT));
    let did = place.wf(&["run", "plan.md"]);
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert!(did.all().contains("the planner failed: changed, not declared: planner.sh"), "{}", did.all());
}

#[test]
fn abandon_asks_nobody() {
    let place = Sandbox::new();
    let plan = PLAN.replace("replan: {}", "replan: {}\non_stuck: abandon");
    place.file("plan.md", plan).file("planner.sh", way(RIGHT));
    let did = place.wf(&["run", "plan.md", "--json"]);
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert!(events(&did, "planner_requested").is_empty(), "{}", did.all());
}

#[test]
fn a_run_that_dies_while_it_is_asked_asks_again_and_goes_on() {
    let place = Sandbox::new();
    let slow = format!("if test -e go; then :; else sleep 60; fi\n{}", way(RIGHT));
    place.file("plan.md", PLAN).file("planner.sh", slow);
    let out = fs::File::create(place.at("events.jsonl")).unwrap();
    let mut child = place.command(&["run", "plan.md", "--json"]).stdout(out).spawn().unwrap();
    until("the planner is asked", || place.read("events.jsonl").contains("planner_requested"));
    crate::crash::kill_both(&mut child);
    place.file("go", "");
    place.wf(&["resume", "--last"]).exits(0).says("succeeded");
    assert_eq!(place.read("rates.txt"), "full mon\n");
    let shown = place.wf(&["show", "--last", "--rounds"]).exits(0).out;
    assert!(shown.contains("`other` instead of the step as written"), "{shown}");
}

#[test]
fn who_cancels_while_it_is_asked_need_not_wait() {
    let place = Sandbox::new();
    place.file("plan.md", PLAN).file("planner.sh", "sleep 60\n");
    let out = fs::File::create(place.at("events.jsonl")).unwrap();
    let mut child = place.command(&["run", "plan.md", "--json"]).stdout(out).spawn().unwrap();
    until("the planner is asked", || place.read("events.jsonl").contains("planner_requested"));
    place.wf(&["cancel", "--last"]);
    until("the run is over", || child.try_wait().unwrap().is_some());
    let events = place.read("events.jsonl");
    assert!(events.contains("the run is being cancelled"), "{events}");
    assert!(events.contains("\"outcome\":\"cancelled\""), "{events}");
}

#[test]
fn a_way_executes_no_file_that_was_not_approved() {
    let place = Sandbox::new();
    let evil = r#""tool": "disk:cp", "run": "sh evil.sh""#;
    let plants = PLAN
        .replace("run: echo $DAY > rates.txt;", "run: echo full > evil.sh;")
        .replace("run: echo once", "writes: [kept.txt], run: echo once");
    place.file("plan.md", plants).file("planner.sh", way(evil));
    let with_key = |args: &[&str]| {
        let mut command = place.command(args);
        let ran = command.env("WF_KEYS", place.at("keys")).output();
        let ran = ran.expect("wf can be started");
        Did {
            code: ran.status.code(),
            out: String::from_utf8_lossy(&ran.stdout).into_owned(),
            err: String::from_utf8_lossy(&ran.stderr).into_owned(),
        }
    };
    with_key(&["key", "init", "ada"]).exits(0);
    let view = with_key(&["approve", "plan.md", "--yes"]).exits(0);
    view.says("adds alternatives to steps that no");
    let did = with_key(&["run", "--require-approval", "plan.md"]).exits(1);
    did.says("not approved, not declared: evil.sh");
    assert!(!place.read("rates.txt").contains("full"));
}
