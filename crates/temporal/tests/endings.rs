//! Runs on a backend that somebody ends: their steps end, and they clean up.

use crate::{
    farm::Farm,
    programs::{Did, signal, until},
};

const LASTS: &str = r#"steps:
  - id: long
    run: echo $$ > "MARKS/pid"; sleep 600
finally:
  - {id: clean, run: echo cleaned}"#;

/// A farm with a run whose step is under way.
fn farm() -> Farm {
    let farm = Farm::new(1);
    std::fs::create_dir(farm.path("marks")).unwrap();
    farm.plan("long", &LASTS.replace("MARKS", farm.path("marks").to_str().unwrap()));
    farm
}

/// Waits until the step is under way, and returns the id of its run and of its process.
fn under_way(farm: &Farm) -> (String, String) {
    let mut pid = String::new();
    until("the step began", || {
        pid = std::fs::read_to_string(farm.path("marks/pid")).unwrap_or_default();
        pid.ends_with('\n')
    });
    (farm.run(), pid.trim().to_owned())
}

/// Asserts that a run was cancelled, its step ended, and what it does at its end done.
fn assert_cancelled(farm: &Farm, run: &str, pid: &str) {
    assert_eq!(farm.show()["run"]["state"], "cancelled");
    assert_eq!(farm.count(run, "attempt_ended", Some("long")), 1);
    let events = farm.events(run);
    let clean = events.iter().find(|event| event["event"] == "step_ended" && event["step"] == "clean");
    assert_eq!(clean.map(|event| event["state"].clone()), Some("succeeded".into()), "{events:?}");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "its process lives");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_interrupt_cancels_the_run_that_is_followed() {
    let farm = farm();
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    let (id, pid) = under_way(&farm);
    signal("INT", run.id());
    Did::ended(run).exits(130);
    assert_cancelled(&farm, &id, &pid);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_nobody_follows_is_cancelled() {
    let farm = farm();
    let mut run = farm.start(&["run", "--on", "farm", "long.md"]);
    let (id, pid) = under_way(&farm);
    run.kill().unwrap();
    run.wait().unwrap();
    let did = farm.wf(&["cancel", &id]);
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert_cancelled(&farm, &id, &pid);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_workflow_that_is_cancelled_on_the_server_ends_as_a_cancelled_run() {
    let farm = farm();
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    let (id, pid) = under_way(&farm);
    farm.server.temporal(&["workflow", "cancel", "--workflow-id", &id]).exits(0);
    Did::ended(run).exits(130).says("cancelled on the Temporal server");
    assert_cancelled(&farm, &id, &pid);
}

/// A plan whose step runs a plan, the step of which is under way.
const NESTS: &str =
    "steps:\n  - {id: inner, uses: long.md}\n  - {id: after, run: 'true', depends_on: [inner]}";

/// Asserts that a run has the end of one that nobody works for any more.
fn assert_terminated(farm: &Farm, run: &str, reason: &str) {
    let events = farm.events(run);
    let end = events.last().unwrap();
    assert_eq!((&end["event"], &end["outcome"]), (&"run_ended".into(), &"cancelled".into()), "{events:?}");
    assert!(end["reason"].as_str().unwrap().contains(reason), "{end}");
    assert_eq!(farm.count(run, "step_ended", None), 2, "{events:?}");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_workflow_that_is_terminated_on_the_server_ends_the_run_and_those_nested_in_it() {
    let farm = farm();
    farm.plan("outer", NESTS);
    let run = farm.start(&["run", "--on", "farm", "outer.md"]);
    let (id, pid) = under_way(&farm);
    farm.server.temporal(&["workflow", "terminate", "--workflow-id", &id]).exits(0);
    Did::ended(run).exits(130).says("ended on the Temporal server");
    assert_terminated(&farm, &id, "ended on the Temporal server");
    let nested = &farm.runs()["/inner#1"];
    assert_terminated(&farm, nested, "ended on the Temporal server");
    // It cleans up nowhere, since its files are not here.
    assert_eq!(farm.count(nested, "attempt_started", Some("clean")), 0);
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    farm.wf(&["doctor"]).exits(0);
    until("its process has ended", || !std::path::Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_the_server_has_forgotten_is_ended_by_cancelling_it() {
    let farm = farm();
    farm.plan("outer", NESTS);
    let mut run = farm.start(&["run", "--on", "farm", "outer.md"]);
    let (id, _) = under_way(&farm);
    run.kill().unwrap();
    run.wait().unwrap();
    farm.server.temporal(&["workflow", "delete", "--yes", "--workflow-id", &id]).exits(0);
    let resume = || farm.wf(&["resume", &id]).all();
    until("it is forgotten", || resume().contains("does not know the workflow"));
    assert!(resume().contains("`wf cancel RUN` ends its record"));
    farm.wf(&["cancel", &id]).exits(0);
    assert_terminated(&farm, &id, "does not know the workflow");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}
