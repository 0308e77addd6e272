//! Runs inside runs on a backend: what ends, kills, asks and lasts in them.

use crate::{
    farm::Farm,
    programs::{Did, signal, until},
};

/// A step that says that it began, and lasts until it is told to end.
const LASTS: &str = r#"steps:
  - id: long
    run: echo $$ >> "MARKS/pids"; until [ -e "MARKS/go" ]; do sleep 0.05; done; echo lasted > lasted.txt
    artifacts: [lasted.txt]
    idempotent: true
    retry: {max: 3, on: [interrupted], backoff: 10ms}
    verify: [{name: there, run: test -s lasted.txt}]
finally:
  - {id: clean, run: echo cleaned}"#;

const AROUND: &str = r"steps:
  - {id: first, run: echo first > first.txt}
  - {id: middle, depends_on: [first], uses: between.md}
  - {id: last, depends_on: [middle], run: cat lasted.txt}";

/// Makes the plans of a run that lasts two levels below, and a folder for marks.
fn prepare(farm: &Farm) {
    std::fs::create_dir(farm.path("marks")).unwrap();
    farm.plan("below", &LASTS.replace("MARKS", farm.path("marks").to_str().unwrap()));
    farm.plan("between", "steps: [{id: inner, uses: below.md}]");
    farm.plan("around", AROUND);
}

/// The processes that began the long step, in order.
fn pids(farm: &Farm) -> Vec<String> {
    let text = std::fs::read_to_string(farm.path("marks/pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn let_go(farm: &Farm) {
    std::fs::write(farm.path("marks/go"), "").unwrap();
}

/// The id of the innermost run.
fn innermost(farm: &Farm) -> String {
    farm.runs().remove("/middle#1/inner#1").unwrap()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_interrupt_ends_a_nested_run_which_cleans_up() {
    let farm = Farm::new(1);
    prepare(&farm);
    let run = farm.start(&["run", "--on", "farm", "around.md"]);
    until("the step began", || pids(&farm).len() == 1);
    signal("INT", run.id());
    Did::ended(run).exits(130);
    assert_eq!(farm.runs().len(), 3);
    for run in farm.runs().values() {
        let events = farm.events(run);
        assert_eq!(events.last().unwrap()["outcome"], "cancelled", "{events:?}");
    }
    assert_eq!(farm.count(&innermost(&farm), "step_ended", Some("clean")), 1);
    assert!(!std::path::Path::new(&format!("/proc/{}", pids(&farm)[0])).exists(), "its process lives");
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_second_interrupt_ends_nested_runs_at_once() {
    let farm = Farm::new(1);
    prepare(&farm);
    let stays = r#"echo $$ > "MARKS/pids"; trap '' TERM INT; while true; do sleep 0.1; done"#;
    let stays = stays.replace("MARKS", farm.path("marks").to_str().unwrap());
    farm.plan("below", &format!("policy: {{grace: 10m}}\nsteps:\n  - id: long\n    run: |\n      {stays}"));
    let run = farm.start(&["run", "--on", "farm", "around.md"]);
    until("the step began", || pids(&farm).len() == 1);
    signal("INT", run.id());
    until("it was told", || farm.runs().values().all(|run| farm.count(run, "cancel_requested", None) == 1));
    signal("INT", run.id());
    Did::ended(run).exits(130);
    assert!(!std::path::Path::new(&format!("/proc/{}", pids(&farm)[0])).exists(), "its process lives");
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn the_loss_of_a_host_interrupts_a_nested_step_alone() {
    let mut farm = Farm::new(1);
    prepare(&farm);
    let run = farm.start(&["run", "--on", "farm", "around.md"]);
    until("the step began", || pids(&farm).len() == 1);
    farm.kill_host("w1");
    farm.start_worker("w2");
    until("it began again", || pids(&farm).len() == 2);
    let_go(&farm);
    Did::ended(run).exits(0);
    let run = farm.run();
    assert_eq!(farm.count(&run, "attempt_started", Some("middle")), 1);
    assert_eq!(farm.count(&innermost(&farm), "attempt_started", Some("long")), 2);
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn nested_runs_outlive_who_follows_them() {
    let farm = Farm::new(1);
    prepare(&farm);
    let mut run = farm.start(&["run", "--on", "farm", "around.md"]);
    until("the step began", || pids(&farm).len() == 1);
    let id = farm.run();
    until("it is recorded", || {
        farm.runs().len() == 3 && farm.count(&innermost(&farm), "attempt_started", None) == 1
    });
    run.kill().unwrap();
    run.wait().unwrap();
    let_go(&farm);
    farm.wf(&["resume", &id]).exits(0);
    assert_eq!(pids(&farm).len(), 1, "the step ran once");
    farm.wf(&["logs", &innermost(&farm), "clean"]).exits(0).says("cleaned");
    farm.wf(&["attest", &id, "--key", "robin", "--out", "attested.json"]).exits(0);
    let key = farm.wf(&["key", "export", "--hex"]).exits(0).out;
    farm.wf(&["attest", "--verify", "attested.json", "--public-key", key.trim()]).exits(0);
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn whenever_who_follows_is_killed_all_runs_are_recorded_whole() {
    let farm = Farm::new(2);
    farm.plan("leaf", "steps: [{id: a, run: sleep 0.1}, {id: b, depends_on: [a], run: echo b}]");
    farm.plan("branch", "steps: [{id: each, for_each: [1, 2], uses: leaf.md}]");
    farm.plan("tree", "steps: [{id: each, for_each: [1, 2, 3], uses: branch.md}]");
    let mut follower = farm.start(&["run", "--on", "farm", "tree.md"]);
    let id = farm.run();
    for case in 0_u64..6 {
        std::thread::sleep(std::time::Duration::from_millis(100 + case * 157 % 400));
        follower.kill().unwrap();
        follower.wait().unwrap();
        follower = farm.start(&["resume", &id]);
    }
    let _ = Did::ended(follower);
    // It may have been over before.
    farm.wf(&["show", &id]).exits(0).says("succeeded");
    assert_eq!(farm.runs().len(), 10);
    for (path, run) in farm.runs() {
        assert_eq!(farm.events(&run).last().unwrap()["outcome"], "succeeded", "{path}");
    }
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn nested_runs_outlive_the_history_of_their_workflow() {
    let mut farm = Farm::with_settings("127.0.0.1", &["limit.historyCount.suggestContinueAsNew=10"]);
    farm.start_worker("w1");
    prepare(&farm);
    let run = farm.start(&["run", "--on", "farm", "around.md"]);
    until("the step began", || pids(&farm).len() == 1);
    let id = farm.run();
    until("another history begins", || farm.server.history(&id).contains("continuedExecutionRunId"));
    std::thread::sleep(std::time::Duration::from_secs(1));
    let_go(&farm);
    Did::ended(run).exits(0);
    assert_eq!(pids(&farm).len(), 1, "the step ran once");
    let of = |run: &str| farm.count(run, "attempt_started", None);
    assert_eq!(farm.runs().values().map(|run| of(run)).collect::<Vec<_>>(), [3, 1, 2]);
    farm.assert_whole();
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn an_approval_that_a_nested_run_asks_for_lets_all_go_on() {
    let farm = Farm::new(1);
    farm.plan("asks", r#"steps: [{id: ok, approve: {message: "Go on?", timeout: 10m}}]"#);
    farm.plan("around", "steps: [{id: inner, uses: asks.md}, {id: last, depends_on: [inner], run: echo on}]");
    farm.wf(&["run", "--on", "farm", "around.md"]).exits(5).says("Go on?");
    let id = farm.run();
    let nested = farm.runs().remove("/inner#1").unwrap();
    farm.wf(&["resume", &id]).exits(5).says("Go on?");
    farm.wf(&["approve", &nested, "--yes"]).exits(0);
    farm.wf(&["resume", &id]).exits(0);
    assert_eq!(farm.count(&nested, "approval_resolved", None), 1);
    assert_eq!(farm.count(&id, "step_ended", Some("last")), 1);
    farm.assert_whole();
}
