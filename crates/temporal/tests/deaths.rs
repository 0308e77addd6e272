//! What dies, and what of a run that costs: nothing.

use std::time::Duration;

use serde_json::Value;

use crate::{
    farm::Farm,
    programs::{Did, is_working_in, until},
};

/// A step that says that it began, and lasts until it is told to end.
const LASTS: &str =
    "echo begun >> \"$MARKS/begun\"; until [ -e \"$MARKS/go\" ]; do sleep 0.05; done; echo ended";

/// A farm with a folder outside the workspace, in which steps leave marks.
fn farm(workers: usize, rest: &str) -> Farm {
    let farm = Farm::new(workers);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    let lasts = LASTS.replace("$MARKS", marks.to_str().unwrap());
    farm.plan("long", &rest.replace("LASTS", &lasts.replace('"', "\\\"")));
    farm
}

fn marks(farm: &Farm) -> usize {
    std::fs::read_to_string(farm.path("marks/begun")).unwrap_or_default().lines().count()
}

fn let_go(farm: &Farm) {
    std::fs::write(farm.path("marks/go"), "").unwrap();
}

/// The exits of the attempts of a step, in order.
fn exits(farm: &Farm, run: &str, step: &str) -> Vec<String> {
    let events = farm.events(run);
    let ended = events.iter().filter(|event| event["event"] == "attempt_ended" && event["step"] == step);
    ended.map(|event| event["exit"]["kind"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Asserts that every task has one end, and that the log is whole.
pub fn assert_whole(farm: &Farm, run: &str) {
    let mut ended = std::collections::BTreeSet::new();
    let events = farm.events(run);
    for event in events.iter().filter(|event| event["event"] == "step_ended") {
        assert!(ended.insert(format!("{} {}", event["step"], event["item"])), "ended twice: {event}");
    }
    assert_eq!(events.iter().filter(|event| event["event"] == "run_started").count(), 1);
    assert_eq!(events.last().map(|event| event["event"].clone()), Some(Value::from("run_ended")));
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn the_loss_of_a_host_interrupts_a_step_which_is_retried_elsewhere() {
    let rest = "steps:\n  - id: long\n    run: \"LASTS\"\n    idempotent: true\n    retry: {max: 3, on: [interrupted], backoff: 10ms}\n  - {id: next, depends_on: [long], run: echo next}";
    let mut farm = farm(1, rest);
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    until("the step began", || marks(&farm) == 1);
    farm.kill_host("w1");
    farm.start_worker("w2");
    until("it began again", || marks(&farm) == 2);
    let_go(&farm);
    Did::ended(run).exits(0);
    let run = farm.run();
    assert_eq!(exits(&farm, &run, "long"), ["interrupted", "code"]);
    assert_eq!(farm.count(&run, "attempt_started", Some("next")), 1);
    assert_whole(&farm, &run);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_a_killed_worker_started_dies_with_it() {
    let rest = "steps:\n  - id: long\n    run: \"LASTS\"\n    idempotent: true\n    retry: {max: 3, on: [interrupted], backoff: 10ms}";
    let mut farm = farm(1, rest);
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    until("the step began", || marks(&farm) == 1);
    let runs = farm.path("w1/runs");
    assert!(is_working_in(&runs));
    farm.kill_worker("w1");
    until("its processes ended", || !is_working_in(&runs));
    farm.start_worker("w2");
    until("it began again", || marks(&farm) == 2);
    let_go(&farm);
    Did::ended(run).exits(0);
    assert_whole(&farm, &farm.run());
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_worker_that_is_told_to_end_finishes_its_steps() {
    let rest = "steps:\n  - id: long\n    run: \"LASTS\"\n  - {id: next, depends_on: [long], run: echo next}";
    let mut farm = farm(1, rest);
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    until("the step began", || marks(&farm) == 1);
    let mut worker = farm.end_worker("w1");
    until("it says so", || farm.log("w1").contains("takes no more work"));
    let_go(&farm);
    assert!(worker.wait().unwrap().success());
    farm.start_worker("w2");
    Did::ended(run).exits(0);
    let run = farm.run();
    assert_eq!(exits(&farm, &run, "long"), ["code"]);
    assert_whole(&farm, &run);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn the_loss_of_a_host_fails_a_step_that_must_not_be_repeated() {
    let mut farm = farm(
        1,
        "steps:\n  - id: long\n    run: \"LASTS\"\n  - {id: next, depends_on: [long], run: echo next}",
    );
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    until("the step began", || marks(&farm) == 1);
    farm.kill_host("w1");
    farm.start_worker("w2");
    Did::ended(run).exits(1).says("interrupted");
    let run = farm.run();
    assert_eq!(marks(&farm), 1, "nothing began it again");
    assert_eq!(exits(&farm, &run, "long"), ["interrupted"]);
    assert_eq!(farm.count(&run, "attempt_started", Some("next")), 0);
    assert_whole(&farm, &run);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn another_worker_goes_on_where_one_was_killed() {
    let rest = "policy: {max_parallel: 2}\nsteps:\n  - id: long\n    for_each: [1, 2, 3, 4, 5, 6]\n    run: sleep 0.3; echo \"$WF_ITEM\" > \"f$WF_ITEM\"\n    idempotent: true\n    retry: {max: 4, on: [interrupted], backoff: 10ms}\n  - {id: all, depends_on: [long], run: cat f1 f2 f3 f4 f5 f6}";
    let mut farm = farm(2, rest);
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    let id = farm.run();
    until("two ended", || farm.count(&id, "step_ended", Some("long")) >= 2);
    farm.kill_worker("w1");
    Did::ended(run).exits(0);
    assert_whole(&farm, &id);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_outlives_the_server() {
    let mut farm = farm(
        1,
        "steps:\n  - id: long\n    run: \"LASTS\"\n  - {id: next, depends_on: [long], run: echo next}",
    );
    let run = farm.start(&["run", "--on", "farm", "long.md"]);
    until("the step began", || marks(&farm) == 1);
    let id = farm.run();
    farm.server.kill();
    std::thread::sleep(Duration::from_secs(1));
    farm.server.restart();
    let_go(&farm);
    // The command that follows may have lost the server: then the run goes on without it.
    let followed = Did::ended(run);
    if followed.code != Some(0) {
        until("the run can be followed again", || farm.wf(&["resume", &id]).code == Some(0));
    }
    assert_eq!(marks(&farm), 1, "the step ran once");
    assert_eq!(farm.count(&id, "attempt_started", Some("next")), 1);
    assert_whole(&farm, &id);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_worker_that_is_told_to_end_ends_also_while_there_is_no_server() {
    let mut farm = Farm::new(1);
    farm.server.kill();
    let mut worker = farm.end_worker("w1");
    until("the worker has ended", || worker.try_wait().unwrap().is_some());
    assert!(worker.wait().unwrap().success());
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_outlives_who_follows_it() {
    let farm = farm(
        1,
        "steps:\n  - id: long\n    run: \"LASTS\"\n  - {id: next, depends_on: [long], run: echo next}",
    );
    let mut run = farm.start(&["run", "--on", "farm", "long.md"]);
    until("the step began", || marks(&farm) == 1);
    let id = farm.run();
    run.kill().unwrap();
    run.wait().unwrap();
    let_go(&farm);
    farm.wf(&["resume", &id]).exits(0);
    assert_eq!(farm.run(), id);
    assert_eq!(marks(&farm), 1, "the step ran once");
    assert_eq!(exits(&farm, &id, "long"), ["code"]);
    assert_whole(&farm, &id);
}
