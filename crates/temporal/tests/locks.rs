//! Named locks on a backend: one task of all runs has one at a time, whoever ends whenever.

use std::{path::PathBuf, process::Child};

use crate::{
    farm::Farm,
    programs::{Did, signal, until},
};

/// A farm whose plan `hold` has a step that holds a lock for some seconds, and as long as there is the mark `keep`; it
/// notes when it does.
fn farm(workers: usize, seconds: &str) -> Farm {
    let farm = Farm::new(workers);
    let marks = marks(&farm);
    std::fs::create_dir(&marks).unwrap();
    let step = format!(
        "params: {{n: {{type: integer, default: 0}}}}\nsteps:\n  - id: hold\n    concurrency: db\n    run: |\n      \
         mkdir {0}/held || echo overlap >> {0}/overlaps\n      echo $WF_PARAM_N >> {0}/all\n      \
         sleep {seconds}\n      while [ -e {0}/keep ]; do sleep 0.1; done\n      rmdir {0}/held",
        marks.display()
    );
    farm.plan("hold", &step);
    farm
}

fn marks(farm: &Farm) -> PathBuf {
    farm.path("marks")
}

/// The runs that held the lock, in order, by their parameter.
fn held(farm: &Farm) -> Vec<String> {
    let all = std::fs::read_to_string(marks(farm).join("all")).unwrap_or_default();
    all.lines().map(str::to_owned).collect()
}

fn start(farm: &Farm, number: usize) -> Child {
    farm.start(&["run", "--on", "farm", "hold.md", "-p", &format!("n={number}")])
}

#[track_caller]
fn assert_no_overlap(farm: &Farm) {
    assert!(!marks(farm).join("overlaps").exists(), "two held the lock at once: {:?}", held(farm));
    // Nobody has it any more: its workflow is over.
    until("the lock is over", || {
        let shown = farm.server.temporal(&["workflow", "describe", "--workflow-id", "wf-lock-db"]);
        shown.exits(0).all().contains("COMPLETED")
    });
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn two_runs_with_one_lock_never_overlap() {
    let farm = farm(2, "0");
    let keep = marks(&farm).join("keep");
    std::fs::write(&keep, "").unwrap();
    let first = start(&farm, 1);
    until("the first has it", || held(&farm).len() == 1);
    let second = start(&farm, 2);
    until("the second waits", || runs(&farm) == 2 && farm.count(&farm.run(), "lock_requested", None) == 1);
    std::fs::remove_file(keep).unwrap();
    let second = Did::ended(second).exits(0).says("waiting").says("hold");
    let first = Did::ended(first).exits(0);
    assert!(!first.all().contains("waiting"), "{}", first.all());
    assert!(second.all().contains("db"), "{}", second.all());
    assert_eq!(held(&farm), ["1", "2"]);
    assert_no_overlap(&farm);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn many_runs_at_once_have_a_lock_one_after_the_other() {
    let farm = farm(2, "0.1");
    let runs: Vec<Child> = (0..20).map(|number| start(&farm, number)).collect();
    for run in runs {
        Did::ended(run).exits(0);
    }
    let mut held = held(&farm);
    held.sort_by_key(|number| number.parse::<u32>().unwrap());
    assert_eq!(held, (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_no_overlap(&farm);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_lock_goes_on_when_its_history_begins_anew() {
    let farm = farm(1, "0");
    let marks = marks(&farm).display().to_string();
    let numbers: Vec<String> = (0..80).map(|number| number.to_string()).collect();
    let step = format!(
        "policy: {{max_parallel: 40}}\nsteps:\n  - id: hold\n    concurrency: db\n    for_each: [{}]\n    run: |\n      \
         mkdir {marks}/held || echo overlap >> {marks}/overlaps\n      echo $WF_ITEM >> {marks}/all\n      rmdir {marks}/held",
        numbers.join(", ")
    );
    farm.plan("items", &step);
    farm.wf(&["run", "--on", "farm", "items.md"]).exits(0);
    assert_eq!(held(&farm).len(), numbers.len());
    assert_no_overlap(&farm);
    let history = farm.server.history("wf-lock-db");
    assert!(history.contains("continuedExecutionRunId"), "its history began anew");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_is_cancelled_while_it_waits_leaves_the_queue() {
    let farm = farm(2, "4");
    let first = start(&farm, 1);
    until("the first has it", || held(&farm).len() == 1);
    let second = start(&farm, 2);
    until("the second waits", || farm.count(&farm.run(), "lock_requested", None) == 1 && runs(&farm) == 2);
    let third = start(&farm, 3);
    until("the third waits", || runs(&farm) == 3 && farm.count(&farm.run(), "lock_requested", None) == 1);
    signal("INT", second.id());
    Did::ended(second).exits(130);
    assert_eq!(held(&farm), ["1"], "the end of the wait did not have to wait");
    Did::ended(first).exits(0);
    Did::ended(third).exits(0);
    assert_eq!(held(&farm), ["1", "3"]);
    assert_no_overlap(&farm);
}

/// The number of runs that the workspace knows.
fn runs(farm: &Farm) -> usize {
    let listed = farm.wf(&["runs", "--json"]).exits(0).out;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    listed["runs"].as_array().unwrap().len()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_an_operator_ends_by_force_loses_its_lock() {
    let farm = farm(2, "600");
    let mut first = start(&farm, 1);
    until("the first has it", || held(&farm).len() == 1);
    let id = farm.run();
    farm.plan(
        "next",
        &format!(
            "steps:\n  - {{id: hold, concurrency: db, run: 'echo next >> {}/all'}}",
            marks(&farm).display()
        ),
    );
    let next = farm.start(&["run", "--on", "farm", "next.md"]);
    until("the next waits", || runs(&farm) == 2 && farm.count(&farm.run(), "lock_requested", None) == 1);
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert_eq!(held(&farm), ["1"], "no lock is lost because time passes");
    farm.server.temporal(&["workflow", "terminate", "--workflow-id", &id]).exits(0);
    Did::ended(next).exits(0);
    assert_eq!(held(&farm), ["1", "next"]);
    let _ = first.kill();
    let _ = first.wait();
    assert_no_overlap(&farm);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_keeps_and_awaits_a_lock_whichever_worker_is_killed() {
    let mut farm = farm(2, "3");
    let runs = [start(&farm, 1), start(&farm, 2), start(&farm, 3)];
    until("one has it", || held(&farm).len() == 1);
    // Whatever it was doing is lost: the step fails, and gives the lock back, or goes on elsewhere.
    farm.kill_host("w1");
    let _ = std::fs::remove_dir(marks(&farm).join("held"));
    let ends = runs.map(|run| Did::ended(run).code);
    assert!(ends.iter().filter(|code| **code == Some(0)).count() >= 2, "{ends:?}");
    assert_eq!(held(&farm).len(), 3);
    assert_no_overlap(&farm);
}
