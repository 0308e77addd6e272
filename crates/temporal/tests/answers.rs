//! Approvals of runs on a backend: who may answer is counted where the run is, whatever way the answer came.

use serde_json::Value;

use crate::{
    farm::Farm,
    programs::{Did, until},
};

/// A plan that waits for an approval between two steps.
const ASKS: &str = r#"steps:
  - {id: first, run: echo first > first.txt, artifacts: [first.txt]}
  - id: ok
    depends_on: [first]
    approve: {message: "Go on?", timeout: TIMEOUT}
  - {id: last, depends_on: [ok], run: cat first.txt}"#;

fn farm(timeout: &str) -> Farm {
    let farm = Farm::new(1);
    farm.plan("ask", &ASKS.replace("TIMEOUT", timeout));
    farm
}

/// Starts a run that waits for an approval, and returns its id. Nobody follows it.
fn waiting_run(farm: &Farm) -> String {
    farm.wf(&["run", "--on", "farm", "ask.md"]).exits(5).says("Go on?");
    farm.run()
}

/// The number of the only request of a run.
fn request(farm: &Farm, run: &str) -> u32 {
    let events = farm.events(run);
    let asked = events.iter().find(|event| event["event"] == "approval_requested").unwrap();
    asked["request"].as_u64().unwrap().try_into().unwrap()
}

/// Approves a run in the state of the workspace, and lets it go on.
fn approve(farm: &Farm, run: &str) {
    farm.wf(&["approve", run, "--yes"]).exits(0);
    farm.wf(&["resume", run]).exits(0);
    assert_eq!(farm.count(run, "approval_resolved", None), 1);
}

/// The answer that led a run on.
fn token(farm: &Farm, run: &str) -> String {
    farm.answers(run, request(farm, run)).remove(0)
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_approval_lets_a_run_go_on_that_is_followed() {
    let farm = farm("10m");
    let run = farm.start(&["run", "--wait", "--on", "farm", "ask.md"]);
    let id = farm.run();
    until("it asks", || farm.count(&id, "approval_requested", None) == 1);
    farm.wf(&["approve", &id, "--yes"]).exits(0);
    Did::ended(run).exits(0);
    assert_eq!(farm.count(&id, "approval_resolved", None), 1);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_approval_lets_a_run_go_on_that_nobody_follows() {
    let farm = farm("10m");
    let id = waiting_run(&farm);
    assert_eq!(farm.count(&id, "step_ended", Some("last")), 0);
    approve(&farm, &id);
    assert_eq!(farm.count(&id, "step_ended", Some("last")), 1);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_denial_ends_a_run_that_nobody_follows() {
    let farm = farm("10m");
    let id = waiting_run(&farm);
    farm.wf(&["deny", &id, "--yes", "--reason", "not today"]).exits(0);
    farm.wf(&["resume", &id]).exits(1).says("not today");
    assert_eq!(farm.count(&id, "attempt_started", Some("last")), 0);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_answer_that_was_forged_replayed_or_misaddressed_is_none() {
    let farm = farm("10m");
    let before = waiting_run(&farm);
    approve(&farm, &before);
    let genuine = token(&farm, &before);
    let run = waiting_run(&farm);
    let number = request(&farm, &run);
    // Nobody's signature, and none at all: refused before it is in the history of the run.
    let mut forged: Value = serde_json::from_str(&genuine).unwrap();
    forged["signatures"][0]["sig"] = Value::from("A".repeat(86) + "==");
    let mut other = forged.clone();
    other["signatures"][0]["keyid"] = Value::from("0".repeat(64));
    for token in [forged.to_string(), other.to_string(), "approved".to_owned()] {
        let did = farm.server.answer(&run, number, &token);
        assert_ne!(did.code, Some(0), "{}", did.all());
    }
    let did = farm.server.answer(&run, number + 1, &genuine);
    assert_ne!(did.code, Some(0), "a request that is none: {}", did.all());
    assert!(!farm.server.history(&run).contains("UpdateAccepted"), "none is in the history of the run");
    // Signed by an approver, for another run: where it is counted, it counts nothing.
    farm.server.answer(&run, number, &genuine);
    std::thread::sleep(std::time::Duration::from_secs(2));
    farm.wf(&["resume", &run]).exits(5);
    assert_eq!(farm.count(&run, "approval_resolved", None), 0);
    assert_eq!(farm.count(&run, "attempt_started", Some("last")), 0);
    // And it is in the way of nothing.
    approve(&farm, &run);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_answer_that_comes_too_late_is_none() {
    let farm = farm("3s");
    let before = waiting_run(&farm);
    approve(&farm, &before);
    let genuine = token(&farm, &before);
    let run = waiting_run(&farm);
    let number = request(&farm, &run);
    until("it is over", || farm.wf(&["resume", &run]).code == Some(1));
    let did = farm.server.answer(&run, number, &genuine);
    assert_ne!(did.code, Some(0), "{}", did.all());
    let did = farm.wf(&["approve", &run, "--yes"]);
    assert_ne!(did.code, Some(0), "{}", did.all());
    assert_eq!(farm.count(&run, "attempt_started", Some("last")), 0);
    let events = farm.events(&run);
    let resolved = events.iter().filter(|event| event["event"] == "approval_resolved");
    assert!(resolved.clone().all(|event| event["decision"] != "approved"), "{events:?}");
}
