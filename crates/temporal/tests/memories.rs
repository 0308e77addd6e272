//! Memory in runs on a backend: they are told what the workspace knows, and it learns what they found out.

use std::path::PathBuf;

use serde_json::Value;

use crate::{caches::walk, farm::Farm, mirrors::compare_with_state};

/// Rules, which do not fade, so that they weigh the same whenever they are asked for.
const RULES: &str = r#"{"created":"2026-11-14T09:30:00Z","space":"tool:curl","entity":"path:api.example","content":"answers 503 in reports","state":"change_approach","level":"common_sense"}
{"created":"2026-11-14T09:30:00Z","space":"tool:net:wget","entity":"path:api.example","content":"the report came through","state":"accept","level":"common_sense"}
"#;

/// A plan that has to do a step in another way, and whose first way memory may know.
const REPLANS: &str = r#"replan: {max_replans: 2}
steps:
  - id: get
    tool: curl
    target: api.example
    run: "false"
    alternatives:
      - {id: other, tool: wget, run: echo got > got.txt}
verify: [{name: got, run: test -s got.txt}]"#;

/// A farm whose runs have a model with replies.
fn farm(replies: &str) -> Farm {
    let farm = Farm::new(2);
    let models = "models:\n  m: {api: scripted, model: replies.yaml}\nroles: {executor: m}\n";
    farm.file("wf.yaml", farm.config() + models).file("replies.yaml", replies);
    farm
}

/// Imports the rules, signed: what a file says of itself decides nothing.
fn import_rules(farm: &Farm) {
    farm.file("../rules.jsonl", RULES);
    drop(farm.wf(&["key", "init", "ada", "-q"]));
    let sign = ["memory", "sign", "../rules.jsonl", "--key", "ada", "--out", "../rules.json"];
    farm.wf(&sign).exits(0);
    farm.wf(&["memory", "import", "../rules.json"]).exits(0).says("imported 2 megrams");
}

/// Returns what memory has, line by line.
fn memory(farm: &Farm) -> Vec<Value> {
    let exported = farm.wf(&["memory", "export"]).exits(0).out;
    exported.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_is_told_there_what_it_is_told_here() {
    let farm = farm("[]\n");
    farm.plan("get", REPLANS);
    // What a run finds out there is known to the next one, wherever that is.
    assert_eq!(compare_with_state(&farm, &["run", "--json", "get.md"]), Some(0));
    let learnt = memory(&farm).len();
    assert!(learnt > 0, "the run is remembered in the workspace");
    import_rules(&farm);
    assert_eq!(compare_with_state(&farm, &["run", "--json", "get.md"]), Some(0));
    let run = farm.run();
    assert_eq!(farm.count(&run, "memory_applied", None), 1, "{:?}", farm.events(&run));
    assert_eq!(farm.count(&run, "round_completed", None), 1, "the way that fails is not tried");
    let rule = memory(&farm).into_iter().find(|one| one["content"] == "answers 503 in reports").unwrap();
    assert!(rule["recalled"].is_string(), "it is recorded that the rule was told: {rule}");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn agents_recall_search_and_note_there_what_they_would_here() {
    let farm = farm(REPLIES);
    import_rules(&farm);
    farm.plan("deaf", "steps:\n  - {id: a, run: 'true'}");
    farm.wf(&["run", "--on", "farm", "deaf.md"]).exits(0);
    let objects = walk(&farm.path("objects"));
    let has_rule = |object: &PathBuf| {
        String::from_utf8_lossy(&std::fs::read(object).unwrap()).contains("\"space\":\"tool:curl\"")
    };
    assert!(!objects.iter().any(has_rule), "a run that asks nothing takes nothing along");
    let text = "---\nkind: plan\nid: agents\nsteps:\n  - {id: notes, runs_on: w1, agent: {role: executor, tools: [remember], recall: Make a report}}\n  - {id: finds, runs_on: w2, depends_on: [notes], agent: {role: executor, tools: [memory]}}\n---\n## notes\nNote it.\n\n## finds\nFind it.\n";
    farm.file("agents.md", text);
    assert_eq!(compare_with_state(&farm, &["run", "--json", "agents.md"]), Some(0));
    farm.wf(&["logs", "--last", "finds"]).exits(0).says("It is known.");
    farm.wf(&["memory", "search", "mirror"]).exits(0).says("the mirror is down on Sundays");
    assert!(walk(&farm.path("objects")).iter().any(has_rule));
    let note = memory(&farm).into_iter().find(|one| one["text"] == "the mirror is down on Sundays").unwrap();
    assert!(note["source"].as_str().unwrap().contains(&farm.run()), "{note}");
}

const REPLIES: &str = r#"- when: Note it.
  replies:
    - expect: {contains: "SHOULD PREFER the tool `net:wget` on `api.example`: the report came through"}
      tool_calls: [{tool: remember, arguments: {text: the mirror is down on Sundays, kind: fact}}]
    - text: It is noted.
- when: Find it.
  replies:
    - tool_calls: [{tool: memory, arguments: {query: mirror}}]
    - expect: {contains: the mirror is down on Sundays}
      text: It is known.
"#;
