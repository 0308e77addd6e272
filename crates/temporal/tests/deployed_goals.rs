//! Goals that are decided about on a backend, while nothing lives at their workspace.

use serde_json::Value;
use wf_base::name::PlanId;
use wf_core::goal::ReconciliationHealth;
use wf_store::{ReconciliationRow, StoreReader};

use crate::{
    farm::Farm,
    histories::SHORT,
    programs::{is_working_in, until},
};

/// A goal that a file exists, checked each second; it tells when it was repaired. `repair` are the steps of its repair.
pub fn goal(farm: &Farm, repair: &str) {
    farm.file(
        "goals/sum.md",
        format!(
            "---\nkind: goal\nid: sum\nschedule: \"* * * * * *\"\nbackend: farm\nnotify: [{{on: [repaired], exec: [tee, -a, {}]}}]\nverify: [{{name: there, run: test -f out/sum.txt}}]\n\
             on_failure: spawn_plan\napproval: standing\nrepair:\n  steps:\n{repair}\n---\n# A goal\n",
            farm.path("told").display()
        ),
    );
}

/// The step of a repair that does something and leaves the file.
pub fn step(run: &str) -> String {
    format!("    - {{id: make, run: '{run} mkdir -p out; echo 4 > out/sum.txt', artifacts: [out/sum.txt]}}")
}

/// Approves the goal for a number of repairs, and deploys it.
pub fn deploy(farm: &Farm, executions: &str) {
    farm.wf(&["key", "init", "-q"]).exits(0);
    farm.wf(&["approve", "goals/sum.md", "--yes", "--executions", executions, "--expires", "1d"]).exits(0);
    farm.wf(&["goal", "accept", "sum", "--yes"]);
    farm.wf(&["goal", "deploy", "sum"]).exits(0).says("deployed on farm");
}

/// The workflows of a kind that the server knows, with their states.
pub fn workflows(farm: &Farm, kind: &str) -> Vec<(String, String)> {
    let query = format!("WorkflowType = '{kind}'");
    let listed = farm.server.temporal(&["workflow", "list", "--output", "json", "--query", &query]);
    let listed: Value = serde_json::from_str(&listed.exits(0).out).unwrap();
    let text = |one: &Value, at: &str| one.pointer(at).unwrap().as_str().unwrap().to_owned();
    let listed = listed.as_array().unwrap().iter();
    listed.map(|one| (text(one, "/execution/workflowId"), text(one, "/status"))).collect()
}

/// Waits until some more runs have ended than had before.
pub fn until_more_runs(farm: &Farm, count: usize) {
    let ended = || {
        let runs = workflows(farm, "wf.run.v1").into_iter();
        runs.filter(|(_, status)| status == "WORKFLOW_EXECUTION_STATUS_COMPLETED").count()
    };
    let before = ended();
    until("more runs have ended", || ended() >= before + count);
}

/// The reconciliations that the workspace has recorded, the earliest first, in a record that is whole.
fn reconciliations(farm: &Farm) -> Vec<ReconciliationRow> {
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
    let reader = StoreReader::open(&farm.path("space/.wf")).unwrap();
    let mut all = reader.reconciliations().latest(&PlanId::parse("sum").unwrap(), 1000).unwrap();
    all.reverse();
    all
}

/// The healths that they ended with.
fn healths(all: &[ReconciliationRow]) -> Vec<&'static str> {
    all.iter().map(|one| one.ended.as_ref().map_or("", |(_, health, _)| health.as_str())).collect()
}

/// Pauses the goal there, so that no more comes, and records what happened.
fn settle(farm: &Farm) -> Vec<ReconciliationRow> {
    farm.wf(&["goal", "pause", "sum"]).exits(0);
    let settled = || {
        farm.wf(&["goal", "sync", "sum"]).exits(0);
        reconciliations(farm).iter().all(|one| one.ended.is_some())
    };
    until("all that was under way has ended", settled);
    reconciliations(farm)
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
    let told = std::fs::read_to_string(farm.path("told")).unwrap();
    assert!(told.contains("sum · repaired") && told.lines().count() == 1, "{told}");
    let all = settle(&farm);
    let healths = healths(&all);
    assert_eq!(healths[0], "repaired", "{healths:?}");
    assert!(healths.len() >= 3 && healths[1..].iter().all(|health| *health == "healthy"), "{healths:?}");
    assert!(farm.path("space/out/sum.txt").exists());
    // Its scheduled times are those of any other goal.
    let from = all[0].slot.unwrap().to_string();
    let named = farm.wf(&["goal", "next", "sum", "--from", &from, "-n", "120"]).exits(0).out;
    for one in &all[1..] {
        assert!(named.contains(&one.slot.unwrap().to_second()), "{:?} is not in {named}", one.slot);
    }
    // All its runs are runs of the workspace.
    for run in all.iter().flat_map(|one| [Some(&one.run), one.repair.as_ref()]).flatten() {
        farm.wf(&["show", run.as_str()]).exits(0).says("sum");
        assert_eq!(farm.count(run.as_str(), "run_ended", None), 1);
    }
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_deployed_goal_outlives_its_worker_and_its_server() {
    // Its histories are short, so it goes through some.
    let mut farm = Farm::with_settings("127.0.0.1", &[SHORT]);
    farm.start_worker("w1");
    farm.start_worker("w2");
    goal(&farm, &step(""));
    deploy(&farm, "3");
    until_more_runs(&farm, 2);
    farm.kill_host("w1");
    until_more_runs(&farm, 2);
    farm.server.kill();
    farm.server.restart();
    until_more_runs(&farm, 2);
    // If the worker that was lost was sending a notification, another one sends it first.
    until("its history has begun anew", || workflows(&farm, "wf.goal.v1").len() > 1);
    let all = settle(&farm);
    let last = all.last().unwrap();
    assert_eq!(last.ended.as_ref().unwrap().1, ReconciliationHealth::Healthy, "{all:?}");
    assert!(all.iter().filter(|one| one.repair.is_some()).count() <= 2, "{all:?}");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn repairs_there_use_the_approval_as_often_as_it_allows() {
    let farm = Farm::new(1);
    // It repairs nothing.
    goal(&farm, "    - {id: make, run: 'true'}");
    deploy(&farm, "1");
    until_more_runs(&farm, 4);
    let all = settle(&farm);
    let healths = healths(&all);
    assert_eq!((healths[0], healths[1]), ("failed", "waiting"), "{healths:?}");
    assert_eq!(all.iter().filter(|one| one.repair.is_some()).count(), 1);
    let (_, _, reason) = all[1].ended.clone().unwrap();
    assert!(reason.contains("used up: 1 of 1") && reason.contains("wf goal deploy sum"), "{reason}");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_withdrawn_approval_starts_no_more_repairs_there() {
    let farm = Farm::new(1);
    goal(&farm, "    - {id: make, run: 'true'}");
    deploy(&farm, "99");
    until_more_runs(&farm, 2);
    farm.wf(&["goal", "tighten", "sum"]).exits(0).says("revoked the approval");
    until_more_runs(&farm, 3);
    let all = settle(&farm);
    let last = all.last().unwrap();
    let (_, health, reason) = last.ended.clone().unwrap();
    assert_eq!((health, &last.repair), (ReconciliationHealth::Waiting, &None), "{reason}");
    assert!(reason.contains("revoked on"), "{reason}");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_goal_is_paused_resumed_and_recalled_there() {
    let farm = Farm::new(1);
    goal(&farm, &step(""));
    deploy(&farm, "3");
    until_more_runs(&farm, 2);
    let paused = settle(&farm);
    std::thread::sleep(std::time::Duration::from_secs(2));
    farm.wf(&["goal", "sync", "sum"]).exits(0);
    assert_eq!(reconciliations(&farm).len(), paused.len(), "nothing starts while it is paused");
    farm.wf(&["goal", "list"]).exits(0).says("paused");
    farm.wf(&["goal", "resume", "sum"]).exits(0);
    until_more_runs(&farm, 2);
    farm.wf(&["goal", "recall", "sum"]).exits(0).says("back from farm");
    let recalled = reconciliations(&farm);
    assert!(recalled.len() > paused.len());
    assert!(recalled.iter().all(|one| one.ended.is_some()), "{recalled:?}");
    let goals = workflows(&farm, "wf.goal.v1");
    assert!(goals.iter().all(|(_, status)| status.ends_with("COMPLETED")), "{goals:?}");
    // The workspace decides again.
    farm.wf(&["goal", "run", "sum"]).exits(0).says("sum is healthy");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_repair_that_asks_is_answered_from_its_workspace() {
    let mut farm = Farm::new(1);
    let asks = "    - {id: ask, approve: {message: 'Go on?', timeout: 10m}}\n";
    let make = "    - {id: make, depends_on: [ask], run: 'mkdir -p out; echo 4 > out/sum.txt', artifacts: [out/sum.txt]}";
    goal(&farm, &format!("{asks}{make}"));
    deploy(&farm, "1");
    until("the repair asks", || {
        farm.wf(&["goal", "sync", "sum"]).exits(0);
        reconciliations(&farm).iter().any(|one| {
            one.ended.as_ref().is_some_and(|(_, health, reason)| {
                *health == ReconciliationHealth::Waiting && reason.contains("wf approve")
            })
        })
    });
    let all = reconciliations(&farm);
    let repair = all.iter().find_map(|one| one.repair.clone()).unwrap();
    // The worker that waits for the end of the repair may end, and another one waits.
    farm.start_worker("w2");
    let mut ending = farm.end_worker("w1");
    until("the worker has ended", || ending.try_wait().unwrap().is_some());
    farm.wf(&["approve", repair.as_str(), "--yes"]).exits(0);
    until("the answer has reached it", || {
        farm.wf(&["goal", "sync", "sum"]).exits(0);
        healths(&reconciliations(&farm)).contains(&"repaired")
    });
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_an_operator_ends_fails_the_reconciliation() {
    let farm = Farm::new(1);
    let go = farm.path("go");
    goal(&farm, &step(&format!("until [ -e {} ]; do sleep 0.1; done;", go.display())));
    deploy(&farm, "1");
    let repair = || {
        let runs = workflows(&farm, "wf.run.v1").into_iter();
        let mut open = runs.filter(|(_, status)| status.ends_with("RUNNING"));
        open.find_map(|(run, _)| farm.server.history(&run).contains("start make").then_some(run))
    };
    until("the repair has begun", || repair().is_some());
    let repair = repair().unwrap();
    farm.server.temporal(&["workflow", "terminate", "--workflow-id", &repair]).exits(0);
    let goal = workflows(&farm, "wf.goal.v1").remove(0).0;
    until("the goal knows", || {
        let records = ["workflow", "query", "--workflow-id", &goal, "--type", "records"];
        farm.server.temporal(&records).out.contains("ended on the Temporal server")
    });
    // Its record has an end, and is not waited for.
    farm.wf(&["goal", "sync", "sum"]).exits(0);
    let end = farm.events(&repair).pop().unwrap();
    assert_eq!(end["outcome"], "cancelled", "{end}");
    assert!(end["reason"].as_str().unwrap().contains("ended on the Temporal server"), "{end}");
    farm.wf(&["audit", "verify"]).exits(0);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn runs_that_the_server_has_forgotten_are_recorded() {
    let farm = Farm::new(1);
    goal(&farm, &step(""));
    deploy(&farm, "3");
    until_more_runs(&farm, 3);
    farm.wf(&["goal", "pause", "sum"]).exits(0);
    for (run, status) in workflows(&farm, "wf.run.v1") {
        assert!(status.ends_with("COMPLETED"), "{run}: {status}");
        farm.server.temporal(&["workflow", "delete", "--yes", "--workflow-id", &run]).exits(0);
    }
    until("the server has forgotten them", || workflows(&farm, "wf.run.v1").is_empty());
    let all = settle(&farm);
    assert_eq!(healths(&all)[0], "repaired");
    for run in all.iter().flat_map(|one| [Some(&one.run), one.repair.as_ref()]).flatten() {
        assert_eq!(farm.count(run.as_str(), "run_ended", None), 1);
    }
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_repair_that_is_followed_is_cancelled_from_its_workspace() {
    let farm = Farm::new(1);
    goal(&farm, &step("sleep 600;"));
    deploy(&farm, "1");
    let mut sync = farm.start(&["goal", "sync", "sum", "--follow"]);
    let repair = || reconciliations(&farm).iter().find_map(|one| one.repair.clone());
    until("the repair is followed", || {
        repair().is_some_and(|run| farm.count(run.as_str(), "attempt_started", Some("make")) == 1)
    });
    let repair = repair().unwrap();
    farm.wf(&["cancel", repair.as_str()]).exits(0);
    assert_eq!(farm.events(repair.as_str()).pop().unwrap()["outcome"], "cancelled");
    sync.kill().unwrap();
    sync.wait().unwrap();
    let all = settle(&farm);
    let its = all.iter().find(|one| one.repair.as_ref() == Some(&repair)).unwrap();
    assert_eq!(its.ended.as_ref().unwrap().1, ReconciliationHealth::Cancelled, "{its:?}");
}
