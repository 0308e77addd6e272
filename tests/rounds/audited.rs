//! What the auditor sees of rounds.

use serde_json::{Value, json};

use super::{BUILD, FETCH, plan, ran};
use crate::support::Sandbox;

/// What the auditor tells of all that happened.
fn report(place: &Sandbox) -> Value {
    let told = place.wf(&["audit", "report", "--json"]).exits(0).out;
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["report"]["boundary_violations"], json!([]), "{told:#}");
    told["report"].clone()
}

#[test]
fn a_run_that_heals_itself_has_no_violations_and_its_rounds_are_counted() {
    let build = BUILD.replace("run: echo build", "depends_on: [fetch]\n    run: echo build");
    let (place, did) = ran("", &format!("{FETCH}{build}"));
    assert_eq!(did.code, Some(0), "{}", did.all());
    let told = report(&place);
    // The dead mirror, and what was built wrong.
    assert_eq!(told["total_corrections"], 2, "{told:#}");
    assert_eq!(told["tasks_observed"], 2, "{told:#}");
    let tools = json!({"execution_failures": 1, "environmental_retries": 1, "logical_retries": 1});
    assert_eq!(told["tool_health"], tools);
    // What is thought of it at its end is what is thought of it later.
    let log = place.read(".wf/audit/log.jsonl");
    let records = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let reports = records.filter(|record: &Value| record["kind"] == "report");
    for record in reports {
        assert_eq!(record["about"]["boundary_violations"], json!([]), "{record}");
    }
    place.wf(&["audit", "verify"]).exits(0);
}

#[test]
fn an_item_that_stays_in_another_round_is_no_violation() {
    let step = "  - id: each\n    for_each: [a, b]\n    env: {ITEM: '{{ item }}', WAY: first}\n\
        \x20   run: test \"$WAY $ITEM\" != 'first b'\n\
        \x20   alternatives: [{id: second, tool: other, env: {WAY: second}}]\n";
    let (place, did) = ran("", step);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_eq!(report(&place)["tasks_observed"], 3);
}

#[test]
fn what_was_abandoned_after_breaks_of_symmetry_in_vain_is_told_as_that() {
    let place = Sandbox::new();
    let ways = "[{id: b, tool: 'b:x', run: exit 2}, {id: c, tool: 'c:x', run: exit 3}]";
    let step = format!("  - {{id: a, tool: 'a:x', run: exit 1, alternatives: {ways}}}\n");
    place.file("p.md", plan("", &step));
    place.wf(&["run", "p.md"]).exits(1);
    let told = report(&place);
    let runs = json!({
        "started": 1, "succeeded": 0, "failed": 0, "abandoned": 1, "cancelled": 0, "refused": 0
    });
    assert_eq!(told["runs"], runs);
    let thrash = &told["thrashing"][0];
    assert_eq!(thrash["what"], "ggs_thrashing", "{told:#}");
    assert_eq!((&thrash["first"], &thrash["times"]), (&json!(1), &json!(3)));
    let said = place.wf(&["audit", "report"]).exits(0);
    said.says("0 failed · 1 abandoned · 0 cancelled").says("ggs_thrashing: rounds 1 to 3 of run");
}
