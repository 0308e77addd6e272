//! Runs that remember: what a controller found out is known to the next run.

use serde_json::Value;

use crate::support::Sandbox;

/// A step whose written way leaves the wrong result, and two others that leave the right one.
pub const PLAN: &str = r#"---
kind: plan
id: heal
title: Build the thing
replan: {strict: true}
steps:
  - id: build
    tool: cc:old
    run: echo bad > out.txt
    writes: [out.txt]
    alternatives:
      - {id: newer, tool: "cc:new", run: echo good > out.txt}
      - {id: other, tool: "ld:x", run: echo good > out.txt}
    verify:
      - {name: right, run: grep good out.txt}
---
"#;

/// What the latest run began with and came to.
fn shown(place: &Sandbox) -> Value {
    let text = place.wf(&["show", "--last", "--json"]).exits(0).out;
    serde_json::from_str(&text).unwrap()
}

fn query(place: &Sandbox, space: &str) -> String {
    let query = ["memory", "query", "--space", space];
    place.wf(&query).exits(0).out
}

#[test]
fn what_failed_is_not_tried_again_by_the_next_run() {
    let place = Sandbox::new();
    place.file("plan.md", PLAN);
    let first = place.wf(&["run", "plan.md"]).exits(0);
    assert!(first.out.contains("break_symmetry"), "{}", first.out);
    assert!(query(&place, "tool:cc:old").contains("avoid"));
    assert!(query(&place, "tool:ld:x").contains("exploit"));
    let second = place.wf(&["run", "plan.md"]).exits(0);
    assert!(!second.out.contains("round 2"), "{}", second.out);
    assert!(second.out.contains("avoid cc:old"), "{}", second.out);
    let record = shown(&place);
    let began = &record["memory"]["changes"][0];
    assert_eq!(began["to"], "other");
    assert_eq!(record["rounds"].as_array().unwrap().len(), 1);
    let attempts = record["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 1, "{attempts:?}");
    let told = place.wf(&["why", "--last", "build"]).exits(0).out;
    let reason = "memory advises against the step as written";
    assert!(told.contains(reason), "{told}");
}

#[test]
fn a_run_goes_back_to_what_is_written_once_that_is_forgotten() {
    let place = Sandbox::new();
    place.file("plan.md", PLAN);
    place.wf(&["run", "plan.md"]).exits(0);
    let forget = ["memory", "forget", "--space", "tool:cc:old", "--yes"];
    place.wf(&forget).exits(0);
    let again = place.wf(&["run", "plan.md"]).exits(0);
    assert!(again.out.contains("break_symmetry"), "{}", again.out);
}

#[test]
fn memory_makes_no_step_impossible() {
    let place = Sandbox::new();
    let all_bad = PLAN.replace("echo good", "echo worse");
    place.file("plan.md", &all_bad);
    place.wf(&["run", "plan.md"]).exits(1);
    for tool in ["cc:old", "cc:new", "ld:x"] {
        let said = query(&place, &format!("tool:{tool}"));
        assert!(said.contains("avoid"), "{tool}: {said}");
    }
    place.wf(&["run", "plan.md"]).exits(1);
    let record = shown(&place);
    assert!(record["memory"]["changes"].is_null(), "{record}");
    let rounds = record["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 3, "every way is tried again: {rounds:?}");
}

#[test]
fn a_plan_without_rounds_neither_writes_nor_asks() {
    let place = Sandbox::new();
    place.file("plan.md", PLAN.replace("replan: {strict: true}\n", ""));
    place.wf(&["run", "plan.md"]).exits(1);
    let list = place.wf(&["memory", "list", "--json"]).exits(0).out;
    assert!(!list.contains("cc:old"), "{list}");
    // Nor does it ask, once there is something to be known.
    place.file("other.md", PLAN);
    place.wf(&["run", "other.md"]).exits(0);
    place.wf(&["run", "plan.md"]).exits(1);
    let record = shown(&place);
    assert!(record["memory"].is_null(), "{record}");
}

/// What is written about an intent is asked before a plan of that intent begins (artoo v0.8, R2): it
/// is recorded with the run, told to people and to the planner, and makes no plan impossible.
#[test]
fn how_an_intent_ended_is_asked_before_a_plan_begins() {
    let place = Sandbox::new();
    let planner = "max_replans: 6, strict: true}\nplanner: {exec: [sh, planner.sh], timeout: 20s}\n";
    let all_bad = PLAN.replace("echo good", "echo worse").replace("strict: true}\n", planner);
    // It knows a way only once it is told how the intent ended before.
    let way = r#"{"steps":{"build":{"id":"told","tool":"disk:cp","run":"echo good > out.txt"}}}"#;
    let told = r#"*'"slug":"build_the_thing"'*"#;
    let says = format!("case $(cat) in {told}) echo '{way}';; *) echo '{{}}';; esac\n");
    place.file("plan.md", &all_bad).file("planner.sh", says);
    place.wf(&["run", "plan.md"]).exits(1);
    assert!(shown(&place)["memory"].is_null(), "nothing was known yet");
    assert!(query(&place, "intent:build_the_thing").contains("avoid"));
    let again = place.wf(&["run", "plan.md"]).exits(0);
    assert!(again.out.contains("avoid intent:build_the_thing"), "{}", again.out);
    let said = &shown(&place)["memory"]["intent"];
    assert_eq!(said["slug"], "build_the_thing", "{said}");
    assert_eq!(said["advice"], "avoid", "{said}");
    let decision = said["decision"].as_f64().unwrap();
    assert!((-0.96..-0.9).contains(&decision), "{decision}");
    // Another plan of the same intent, with no ways to choose among, is told the same.
    let other = PLAN.replace("id: heal", "id: another").replace("echo bad", "echo good");
    let (head, rest) = other.split_once("    alternatives:").unwrap();
    let (_, tail) = rest.split_once("    verify:").unwrap();
    place.file("other.md", format!("{head}    verify:{tail}"));
    let told = place.wf(&["run", "other.md"]).exits(0);
    assert!(told.out.contains("caution intent:build_the_thing"), "{}", told.out);
}

/// A plan whose runs have the intent of their request.
fn by_request() -> String {
    let params =
        "replan: {strict: true}\nparams: {request: {type: string}}\nintent: \"{{ params.request }}\"\n";
    PLAN.replace("replan: {strict: true}\n", params)
}

#[test]
fn what_failed_for_one_request_is_not_held_against_another() {
    let place = Sandbox::new();
    place.file("plan.md", by_request());
    let run = |request: &str| place.wf(&["run", "plan.md", "-p", &format!("request={request}")]).exits(0);
    run("Make a report of May").says("break_symmetry");
    let known = query(&place, "tool:cc:old");
    assert!(known.contains("avoid") && known.contains("intent:make_a_report"), "{known}");
    run("make a report, of MAY").says("avoid cc:old").says("exploit intent:make_a_report");
    // Another request that begins alike is another one: what failed for May may do for June.
    let june = run("Make a report of June");
    assert!(!june.out.contains("avoid cc:old"), "{}", june.out);
    june.says("break_symmetry");
    // Another request begins with what is written, and is known apart from then on.
    let other = run("rename a file");
    assert!(!other.out.contains("avoid cc:old"), "{}", other.out);
    other.says("break_symmetry");
    assert!(query(&place, "tool:cc:old").contains("intent:rename_a_file"));
}

#[test]
fn a_request_without_a_word_has_the_intent_of_the_title() {
    let place = Sandbox::new();
    place.file("plan.md", by_request());
    place.wf(&["run", "plan.md", "-p", "request=?!"]).exits(0);
    assert!(query(&place, "intent:build_the_thing").contains("exploit"));
    assert!(query(&place, "tool:cc:old").contains("path:any"));
}

#[test]
fn tools_that_a_plan_does_not_name_are_its_own() {
    let place = Sandbox::new();
    let unnamed = PLAN
        .replace("    tool: cc:old\n", "")
        .replace("tool: \"cc:new\", ", "")
        .replace("tool: \"ld:x\", ", "");
    place.file("plan.md", &unnamed);
    place.wf(&["run", "plan.md"]).exits(0);
    assert!(query(&place, "tool:heal/build").contains("avoid"));
    place.file("other.md", unnamed.replace("id: heal", "id: another"));
    let other = place.wf(&["run", "other.md"]).exits(0);
    assert!(other.out.contains("break_symmetry"), "{}", other.out);
}

/// A planner that always has the same script copied, and calls it what `label.txt` says.
fn copying() -> Sandbox {
    let place = Sandbox::new();
    let plan = by_request().replace(
        "replan: {strict: true}\n",
        "replan: {strict: true}\nplanner: {exec: [sh, planner.sh], timeout: 20s}\n",
    );
    let (head, rest) = plan.split_once("    alternatives:").unwrap();
    let (_, tail) = rest.split_once("    verify:").unwrap();
    place.file("plan.md", format!("{head}    verify:{tail}"));
    let way =
        r#"{"steps":{"build":{"id":"copied","tool":"'$(cat label.txt)'","run":"cp template.txt out.txt"}}}"#;
    place.file("planner.sh", format!("cat > /dev/null; echo '{way}'\n"));
    place
}

#[test]
fn what_was_done_is_known_whatever_it_is_called_and_for_its_request_alone() {
    let place = copying();
    let run = |request: &str, label: &str, template: &str| {
        place.file("label.txt", label).file("template.txt", template);
        place.wf(&["run", "plan.md", "-p", &format!("request={request}")])
    };
    run("Make a report of May", "disk:x", "worse").exits(1);
    let known = place.wf(&["memory", "query"]).exits(0);
    assert!(!known.out.contains("disk:x"), "{}", known.out);
    known.says("tool:run:cp");
    let listed = place.wf(&["memory", "list", "--json"]).exits(0);
    listed.says("it called run:cp; right failed");
    // Under another name it is the same.
    run("Make a report of May", "other:y", "good").exits(1).says("memory advises to avoid tool `run:cp`");
    // A request that shares three words with it is another one, for which it may work.
    run("Make a report of June", "disk:x", "good").exits(0);
}

#[test]
fn what_an_agent_called_is_a_part_of_its_record() {
    let place = Sandbox::new();
    place.file("wf.yaml", "models: {m: {api: scripted, model: replies.yaml}}\n");
    let call = "tool_calls: [{tool: run, arguments: {script: 'wc -l plan.md'}}]";
    place.file("replies.yaml", format!("- replies:\n    - {call}\n    - text: I counted.\n"));
    let step = "  - id: count\n    agent: {model: m, tools: [run]}\n    \
                verify: [{name: counted, run: test -s count.txt}]\n";
    place.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: asks\nreplan: {{strict: true}}\nsteps:\n{step}---\n\n## count\n\nCount.\n"
        ),
    );
    place.wf(&["run", "plan.md"]).exits(1);
    place.wf(&["memory", "list", "--json"]).exits(0).says("it called agent:m, run:wc; counted failed");
}
