//! A run that goes on, told with the same words and numbers by commands, pages and the interface for programs.

use serde_json::Value;

use super::{Pages, api::Program, autonomy::LAMP, last_run};
use crate::support::{Sandbox, until};

const OUTER: &str = "\
---
kind: plan
id: outer
steps:
  - {id: first, run: 'true'}
  - {id: all, depends_on: [first], uses: inner.md}
  - {id: last, depends_on: [all], run: 'true'}
---
";

/// A repeated step with an item that asks, and one that works until there is a file.
const INNER: &str = "\
---
kind: plan
id: inner
steps:
  - {id: each, for_each: [ask, work], uses: item.md, with: {kind: '{{ item }}'}}
---
";

const ITEM: &str = "\
---
kind: plan
id: item
params: {kind: {type: string}}
steps:
  - {id: ask, when: \"params.kind == 'ask'\", approve: {message: 'Go on?'}}
  - {id: work, when: \"params.kind == 'work'\", run: 'until [ -e done ]; do sleep 0.1; done'}
---
";

const SLEEPS: &str = "---\nkind: plan\nid: sleeps\nsteps:\n  - {id: short, run: 'true'}\n  \
                      - {id: long, depends_on: [short], run: sleep 60}\n---\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

/// Returns the plan and the state of each run, nested ones too, by the parameter that tells items apart.
fn states(runs: &Value) -> Vec<(String, String)> {
    let name = |run: &Value| {
        let kind = run["params"]["kind"].as_str().unwrap_or_default();
        (format!("{}{kind}", run["plan"].as_str().unwrap()), run["state"].as_str().unwrap().to_owned())
    };
    let mut found: Vec<_> = runs["runs"].as_array().unwrap().iter().map(name).collect();
    found.sort();
    found
}

fn states_of(words: [&str; 4]) -> Vec<(String, String)> {
    let names = ["inner", "itemask", "itemwork", "outer"];
    names.into_iter().zip(words).map(|(name, word)| (name.to_owned(), word.to_owned())).collect()
}

#[test]
fn a_nested_run_lives_as_long_as_the_run_around_it() {
    let sandbox = Sandbox::new();
    sandbox.file("outer.md", OUTER).file("inner.md", INNER).file("item.md", ITEM);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let mut child = sandbox.start(&["run", "outer.md", "--wait", "-q"]);
    until("it asks", || sandbox.wf(&["inbox"]).out.contains("ask"));
    let shown = || json(&sandbox.wf(&["runs", "--all", "--json"]).exits(0).out);
    let listed = || bot.get("/runs?nested=true").is(200);
    until("an item works", || states(&shown()).iter().any(|(run, _)| run == "itemwork"));
    let working = states_of(["running", "waiting", "running", "running"]);
    until("they are seen at work", || states(&shown()) == working);
    assert_eq!(states(&listed()), working);
    let inner = shown()["runs"].as_array().unwrap().iter().find(|run| run["plan"] == "inner").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(bot.get(&format!("/runs/{inner}")).is(200)["state"], "running");
    assert_eq!(pages.view(&format!("/runs/{inner}"))["record"]["life"], "running");
    let page = pages.ask(&format!("/runs/{inner}"));
    assert!(!page.contains("No process works on it"), "{page}");
    sandbox.wf(&["show", &inner]).exits(0).says("inner · running");
    sandbox.wf(&["runs", "--all", "--state-is", "interrupted"]).exits(0).says("no matching runs");

    sandbox.file("done", "");
    let asked = states_of(["waiting", "waiting", "succeeded", "waiting"]);
    until("nothing works any more", || states(&shown()) == asked);
    assert_eq!(states(&listed()), asked);
    for (run, step) in [(last_run(&sandbox), "all"), (inner, "each")] {
        let word = |steps: &Value, key: &str| {
            let found = steps.as_array().unwrap().iter().find(|row| row[key] == step);
            found.unwrap_or_else(|| panic!("no {step}: {steps}"))["state"].clone()
        };
        assert_eq!(word(&bot.get(&format!("/runs/{run}")).is(200)["steps"], "step"), "waiting");
        let of_state =
            |state: &str| bot.get(&format!("/runs/{run}/steps?state={state}")).is(200)["steps"].clone();
        assert_eq!(word(&of_state("waiting"), "step"), "waiting");
        assert_eq!(of_state("running"), Value::Array(vec![]));
        let view = pages.view(&format!("/runs/{run}?tab=steps"));
        assert_eq!(word(&view["record"]["steps"], "step"), "waiting");
        let record = json(&sandbox.wf(&["show", &run, "--json"]).exits(0).out);
        assert_eq!(word(&record["steps"], "step"), "waiting");
    }
    sandbox.wf(&["cancel", "--last"]).exits(0);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_that_goes_on_says_how_far_it_has_come_and_since_when() {
    let sandbox = Sandbox::new();
    sandbox.file("sleeps.md", SLEEPS);
    let pages = Pages::open(&sandbox);
    let bot = Program::new(&pages, &sandbox, "start");
    let mut child = sandbox.start(&["run", "sleeps.md", "-q"]);
    let steps = || bot.get("/runs").is(200)["runs"][0]["progress"].clone();
    let progress = serde_json::json!({"done": 1, "total": 2});
    until("its first step has ended", || steps() == progress);
    let run = last_run(&sandbox);
    let row = sandbox.wf(&["runs"]).exits(0).says("1 of 2").out;
    assert!(row.trim_end().ends_with('s'), "it says how long that took: {row}");
    let detail = bot.get(&format!("/runs/{run}")).is(200);
    assert_eq!((&detail["progress"], &detail["counts"]["reported"]), (&progress, &1.into()));
    assert!(detail["duration_ms"].as_u64() > Some(0), "{detail}");
    let record = json(&sandbox.wf(&["show", &run, "--json"]).exits(0).out);
    assert_eq!(record["run"]["counts"]["reported"], 1);
    pages.shows("/runs", &[">1/2 <", "<wf-time data-since="]);
    pages.shows(&format!("/runs/{run}"), &["/timeline.js", "data-now=", "<rect data-open"]);
    pages.shows("/", &["<span class=\"count\">1</span>"]);

    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.wf(&["runs", "--state-is", "interrupted"]).exits(0).says("sleeps").says("1 of 2");
    sandbox.wf(&["runs", "--state-is", "running"]).exits(0).says("no matching runs");
    assert_eq!(bot.get("/runs?state=interrupted").is(200)["runs"][0]["id"], run.as_str());
    pages.shows("/runs?state=interrupted", &[">1/2 <"]);
    let page = pages.ask(&format!("/runs/{run}"));
    assert!(
        page.contains("No process works on it") && !page.contains("data-now="),
        "it stands still: {page}"
    );
    assert!(!pages.ask("/").contains("<span class=\"count\">1</span>"), "nothing runs");
    sandbox.wf(&["cancel", &run]).exits(0);
}

#[test]
fn a_goal_that_fails_is_wrong_once() {
    let sandbox = Sandbox::new();
    sandbox.file("goals/lamp.md", LAMP.replace("touch lit/on", "exit 3"));
    std::fs::create_dir(sandbox.at("lit")).unwrap();
    sandbox.wf(&["key", "init"]).exits(0);
    sandbox.wf(&["approve", "goals/lamp.md", "--executions", "3", "--expires", "1d", "--yes"]).exits(0);
    assert_ne!(sandbox.wf(&["goal", "run", "lamp", "-q"]).code, Some(0));
    let pages = Pages::open(&sandbox);
    let view = pages.view("/");
    assert_eq!((&view["failures"], &view["troubled"][0]["id"]), (&Value::Array(vec![]), &"lamp".into()));
    pages.shows("/", &["Wrong now", "href=\"/goals/lamp\""]);
    sandbox.wf(&["runs"]).exits(0).says("lamp (look)");
    let runs = sandbox.wf(&["runs", "--no-checks"]).exits(0).says("lamp (repair)").out;
    assert!(!runs.contains("(look)"), "{runs}");
}
