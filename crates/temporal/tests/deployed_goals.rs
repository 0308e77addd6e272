//! Goals that are decided about on a backend, while nothing lives at their workspace.

use serde_json::Value;

use crate::farm::Farm;
use crate::programs::{is_working_in, until};

/// A goal that a file exists, checked each second. `repair` is what its repair does.
fn goal(farm: &Farm, repair: &str) {
    farm.file(
        "goals/sum.md",
        format!(
            "---\nkind: goal\nid: sum\nschedule: \"* * * * * *\"\nbackend: farm\nverify: [{{name: there, run: test -f out/sum.txt}}]\n\
             on_failure: spawn_plan\napproval: standing\nrepair:\n  steps:\n{repair}\n---\n# A goal\n"
        ),
    );
}

/// The step of a repair that does something and leaves the file.
fn step(run: &str) -> String {
    format!("    - {{id: make, run: '{run} mkdir -p out; echo 4 > out/sum.txt', artifacts: [out/sum.txt]}}")
}

/// Approves the goal for a number of repairs, and deploys it.
fn deploy(farm: &Farm, executions: &str) {
    farm.wf(&["key", "init", "-q"]).exits(0);
    farm.wf(&["approve", "goals/sum.md", "--yes", "--executions", executions, "--expires", "1d"]).exits(0);
    farm.wf(&["goal", "accept", "sum", "--yes"]);
    farm.wf(&["goal", "deploy", "sum"]).exits(0).says("deployed on farm");
}

/// The workflows of a kind that the server knows, with their states.
fn workflows(farm: &Farm, kind: &str) -> Vec<(String, String)> {
    let query = format!("WorkflowType = '{kind}'");
    let listed = farm.server.temporal(&["workflow", "list", "--output", "json", "--query", &query]);
    let listed: Value = serde_json::from_str(&listed.exits(0).out).unwrap();
    let text = |one: &Value, at: &str| one.pointer(at).unwrap().as_str().unwrap().to_owned();
    let listed = listed.as_array().unwrap().iter();
    listed.map(|one| (text(one, "/execution/workflowId"), text(one, "/status"))).collect()
}

/// Waits until some more runs have ended than had before.
fn until_more_runs(farm: &Farm, count: usize) {
    let ended = || {
        let runs = workflows(farm, "wf.run.v1").into_iter();
        runs.filter(|(_, status)| status == "WORKFLOW_EXECUTION_STATUS_COMPLETED").count()
    };
    let before = ended();
    until("more runs have ended", || ended() >= before + count);
}

/// The reconciliations that the workspace has recorded, the latest first.
fn history(farm: &Farm) -> Vec<Value> {
    let shown = farm.wf(&["goal", "history", "sum", "--json"]).exits(0);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    shown["reconciliations"].as_array().unwrap_or_else(|| panic!("{shown}")).clone()
}

/// Asserts that the record is whole, and returns the healths of the goal, the latest first.
fn healths(farm: &Farm) -> Vec<String> {
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    let all = history(farm).into_iter();
    all.map(|one| one["health"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_goal_is_checked_and_repaired_while_nothing_lives_at_its_workspace() {
    let farm = Farm::new(1);
    goal(&farm, &step(""));
    deploy(&farm, "3");
    assert!(!is_working_in(&farm.path("space")));
    until_more_runs(&farm, 4);
    assert!(!farm.path("space/out/sum.txt").exists(), "nothing was recorded here yet");
    farm.wf(&["goal", "pause", "sum"]).exits(0);
    farm.wf(&["goal", "sync", "sum"]).exits(0);
    let healths = healths(&farm);
    let (last, before) = healths.split_last().unwrap();
    assert_eq!(last, "repaired", "{healths:?}");
    assert!(before.len() >= 2 && before.iter().all(|health| health == "healthy"), "{healths:?}");
    assert!(farm.path("space/out/sum.txt").exists());
}
