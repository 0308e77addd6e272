//! What a planner must not propose: what memory knows, classes of tools, half of an answer.

use serde_json::{Value, json};

use super::{PLAN, RIGHT, events, refused, says, way};
use crate::support::{Did, Sandbox};

/// A workspace whose memory says to avoid a tool on a target.
fn warned(tool: &str, target: &str) -> Sandbox {
    let place = Sandbox::new();
    let line = json!({
        "created": "2026-11-01T00:00:00.000Z", "level": "common_sense", "space": format!("tool:{tool}"),
        "entity": format!("path:{target}"), "content": "it never worked", "state": "change_approach",
    });
    place.remember(format!("{line}\n"));
    place
}

fn ran(place: &Sandbox, planner: &str) -> Did {
    place.file("plan.md", PLAN).file("planner.sh", planner);
    place.wf(&["run", "plan.md", "--json"])
}

#[test]
fn what_memory_says_to_avoid_is_refused_whether_the_plan_names_it_or_not() {
    let other = RIGHT.replace(r#""run""#, r#""target": "elsewhere", "run""#);
    for (tool, target, answer, avoided) in [
        ("disk:cp", "mirror_a", RIGHT.to_owned(), true),
        // A planner of this plan has called something so: that may have been something else.
        ("p/disk:cp", "mirror_a", RIGHT.to_owned(), false),
        ("disk:cp", "elsewhere", RIGHT.to_owned(), false),
        ("disk:cp", "elsewhere", other, true),
        ("q/disk:cp", "mirror_a", RIGHT.to_owned(), false),
    ] {
        let place = warned(tool, target);
        let did = ran(&place, &way(&answer));
        assert_eq!(did.code, Some(i32::from(avoided)), "{tool}: {}", did.all());
        if avoided {
            let reason = events(&did, "planner_rejected").remove(0)["reason"].clone();
            let wanted = format!("step `fetch`: memory advises to avoid tool `disk:cp` on `{target}`");
            assert_eq!(reason, wanted);
        }
    }
}

#[test]
fn a_planner_is_told_what_memory_says_to_avoid_and_which_classes_were_used() {
    let place = warned("disk:cp", "mirror_a");
    let script = "python3 -c 'import json, sys; r = json.load(sys.stdin); \
        print(json.dumps({\"steps\": {}, \"reason\": json.dumps(r[\"must_not\"], sort_keys=True)}))'\n";
    let did = ran(&place, script);
    let reason = events(&did, "planner_rejected").remove(0)["reason"].clone();
    let reason = reason.as_str().unwrap();
    let told = reason.strip_prefix("it found no alternative: ").unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    let wanted = json!({
        "avoid": [{"tool": "disk:cp", "target": "mirror_a"}],
        "classes": ["kept", "net"],
        "targets": [],
        "tools": ["net:curl"],
    });
    assert_eq!(told, wanted);
}

#[test]
fn one_that_uses_what_is_forbidden_is_told_why_and_asked_once_more() {
    let place = warned("disk:cp", "mirror_a");
    // It is told what memory knows, with the reason, and what was wrong with its first answer.
    let script = "python3 -c 'import json, sys; r = json.load(sys.stdin); \
        again = r.get(\"rejected\"); \
        way = {\"id\": \"x\", \"tool\": \"disk:dd\" if again else \"disk:cp\", \"run\": \"echo full > rates.txt\"}; \
        why = r[\"calibration\"][\"must_not\"][0][\"reason\"] + \": \" + str(again); \
        print(json.dumps({\"steps\": {\"fetch\": way}, \"reason\": why}))'\n";
    let did = ran(&place, script);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(events(&did, "planner_requested").len(), 1);
    let rejected = events(&did, "planner_rejected");
    assert_eq!((rejected.len(), &rejected[0]["asked_again"]), (1, &json!(true)));
    let why = "step `fetch`: memory advises to avoid tool `disk:cp` on `mirror_a`";
    assert_eq!(rejected[0]["reason"], why);
    let accepted = events(&did, "planner_accepted").remove(0);
    assert_eq!(accepted["reason"], format!("it never worked: {why}"));
    // Who insists is not asked a third time; what is wrong otherwise is not asked again at all.
    let did = ran(&warned("disk:cp", "mirror_a"), &way(RIGHT));
    let again: Vec<Value> =
        events(&did, "planner_rejected").iter().map(|one| one["asked_again"].clone()).collect();
    assert_eq!(again, [json!(true), Value::Null]);
    let did = ran(&warned("disk:cp", "mirror_a"), &way(r#""timeout": "1h", "limits": {}"#));
    assert_eq!(events(&did, "planner_rejected").len(), 1);
}

#[test]
fn a_script_that_calls_what_memory_forbids_is_refused_whatever_it_is_called() {
    let place = warned("curl", "mirror_a");
    let did = ran(&place, &way(r#""tool": "disk:cp", "run": "curl mirror_a > rates.txt""#));
    assert_eq!(did.code, Some(1), "{}", did.all());
    assert_eq!(
        events(&did, "planner_rejected").remove(0)["reason"],
        "step `fetch`: it uses the tool `curl` on `mirror_a`, which memory forbids: it never worked"
    );
}

#[test]
fn a_planner_sees_what_the_checks_of_the_plan_printed() {
    let place = Sandbox::new();
    let checked = BOTH.replace("grep -q new one.txt &&", "echo it is old; grep -q new one.txt &&");
    place.file("plan.md", checked);
    place.file(
        "planner.sh",
        "python3 -c 'import json, sys; g = json.load(sys.stdin)[\"gap\"][0]; print(json.dumps({\"steps\": {}, \
         \"reason\": \" \".join([g[\"criterion\"], g[\"expected\"], g[\"found\"], g[\"evidence\"]])}))'\n",
    );
    let did = place.wf(&["run", "plan.md", "--json"]);
    let reason = events(&did, "planner_rejected").remove(0)["reason"].clone();
    assert_eq!(reason, "it found no alternative: fresh exit code 0 exit code 1 it is old");
}

#[test]
fn under_break_symmetry_another_class_of_tools_is_needed() {
    let reason = refused(&way(r#""tool": "net:wget", "run": "echo full > rates.txt""#));
    assert_eq!(
        reason,
        "step `fetch`: tool `net:wget` has class `net`, which this run already used; \
         `break_symmetry` requires another class"
    );
}

#[test]
fn an_answer_that_says_a_key_twice_is_refused() {
    let one = r#"{"id": "x", "tool": "disk:cp", "run": "echo full > rates.txt"}"#;
    let reason = refused(&says(&format!(r#"{{"steps": {{"fetch": {one}, "fetch": {one}}}}}"#)));
    assert!(reason.contains("duplicate key `fetch`"), "{reason}");
}

/// Two steps that hold, of which the whole wants both done otherwise.
const BOTH: &str = "---
kind: plan
id: both
replan: {}
planner: {exec: [sh, planner.sh], timeout: 20s}
steps:
  - {id: one, tool: 'a:x', run: echo old > one.txt}
  - {id: two, tool: 'b:x', run: echo old > two.txt}
verify: [{name: fresh, run: 'grep -q new one.txt && grep -q new two.txt'}]
---
";

fn both(tools: [&str; 2]) -> (Sandbox, Did) {
    let way = |tool: &str, file: &str| {
        let run = format!("echo new > {file}.txt");
        json!({ "id": "made", "tool": tool, "run": run })
    };
    let steps = json!({ "one": way(tools[0], "one"), "two": way(tools[1], "two") });
    let place = Sandbox::new();
    place.file("plan.md", BOTH);
    place.file("planner.sh", says(&json!({ "steps": steps }).to_string()));
    let did = place.wf(&["run", "plan.md", "--json"]);
    (place, did)
}

#[test]
fn ways_for_two_steps_are_both_taken() {
    let (place, did) = both(["c:x", "d:x"]);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!((place.read("one.txt"), place.read("two.txt")), ("new\n".into(), "new\n".into()));
    let rounds = events(&did, "round_completed");
    assert_eq!(rounds.len(), 2);
    assert_eq!(rounds[0]["changes"].as_array().map(Vec::len), Some(2));
    assert_eq!(rounds[0]["blocked_tools"], json!(["a:x", "b:x"]));
    assert_eq!(rounds[0]["reopened"], json!(["one", "two"]));
}

#[test]
fn ways_for_two_steps_that_do_not_go_together_are_refused_aloud() {
    // What one gives up is what the other would take.
    let (_, did) = both(["c:x", "a:x"]);
    assert_eq!(did.code, Some(1), "{}", did.all());
    let reason = events(&did, "planner_rejected").remove(0)["reason"].clone();
    assert_eq!(reason, "step `two`: tool `a:x` is blocked");
    assert_eq!(events(&did, "round_completed").len(), 1);
}
