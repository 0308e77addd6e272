//! The beginning of a run: it is recorded, and the use of its approval counted, before anything starts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    farm::Farm,
    programs::{Did, until},
};

/// A run that needs the approval.
const RUN: [&str; 5] = ["run", "--require-approval", "--on", "farm", "once.md"];

/// A farm with an approved plan that notes each time it runs.
fn farm(workers: usize, executions: &str) -> Farm {
    let farm = Farm::new(workers);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    farm.plan("once", &format!("steps:\n  - {{id: mark, run: 'echo x >> {}/all'}}", marks.display()));
    farm.wf(&["key", "init", "-q"]).exits(0);
    farm.wf(&["approve", "once.md", "--yes", "--executions", executions]).exits(0);
    farm
}

fn marks(farm: &Farm) -> usize {
    std::fs::read_to_string(farm.path("marks/all")).unwrap_or_default().lines().count()
}

/// The runs that the workspace knows, each with its state.
fn runs(farm: &Farm) -> Vec<Value> {
    let listed: Value =
        serde_json::from_str(&farm.wf(&["runs", "--limit", "1000", "--json"]).exits(0).out).unwrap();
    listed["runs"].as_array().cloned().unwrap_or_default()
}

/// The workflows that the server knows.
fn workflows(farm: &Farm) -> BTreeSet<String> {
    let listed = farm.server.temporal(&["workflow", "list", "--output", "json"]).exits(0);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let ids = listed.as_array().unwrap().iter();
    ids.map(|one| one["execution"]["workflowId"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn of_two_runs_at_once_one_uses_an_approval_and_the_other_is_not_started() {
    for _ in 0..4 {
        let farm = farm(1, "1");
        let started = [(); 2].map(|()| farm.start(&RUN));
        let ended = started.map(Did::ended);
        let mut codes = ended.each_ref().map(|did| did.code);
        codes.sort_unstable();
        let said = ended.map(|did| did.all()).concat();
        let refused = wf_app::CliExitCode::Approval as i32;
        assert_eq!(codes, [Some(0), Some(refused)], "{said}");
        assert_eq!((marks(&farm), runs(&farm).len(), workflows(&farm).len()), (1, 1, 1));
    }
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn runs_at_once_use_an_approval_as_often_as_it_allows() {
    let farm = farm(1, "3");
    let started = [(); 5].map(|()| farm.start(&RUN));
    let ends = started.map(|run| Did::ended(run).code);
    assert_eq!(ends.iter().filter(|code| **code == Some(0)).count(), 3, "{ends:?}");
    assert_eq!((marks(&farm), runs(&farm).len()), (3, 3));
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_whose_command_is_killed_as_it_begins_is_resumed_or_was_never_recorded() {
    let farm = farm(1, "100");
    let list = farm.path("points");
    let mut command = farm.command(&RUN);
    Did::of(command.env("WF_CRASH", format!("engine:list={}", list.display()))).exits(0);
    let points = std::fs::read_to_string(&list).unwrap().lines().count();
    let mut known = (marks(&farm), runs(&farm).len());
    let mut was_unstarted = false;
    for point in 1..=points {
        let mut command = farm.command(&RUN);
        let did = Did::of(command.env("WF_CRASH", format!("engine:{point}")));
        let runs = runs(&farm);
        if runs.len() == known.1 {
            // Nothing is recorded: so nothing was started.
            assert_eq!(marks(&farm), known.0, "point {point}: {}", did.all());
            continue;
        }
        let run = runs[0]["id"].as_str().unwrap();
        was_unstarted |= !workflows(&farm).contains(run);
        let resumed = farm.wf(&["resume", run]);
        let is_over = resumed.all().contains("has already finished");
        assert!(resumed.code == Some(0) || is_over, "point {point}: {}", resumed.all());
        known = (known.0 + 1, runs.len());
        assert_eq!(marks(&farm), known.0, "point {point}: it ran once");
    }
    assert!(was_unstarted, "no kill was between the record and the start");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_was_recorded_and_not_started_is_cancelled() {
    let mut farm = farm(0, "100");
    let mut point = 0;
    while runs(&farm).is_empty() {
        point += 1;
        let mut command = farm.command(&RUN);
        Did::of(command.env("WF_CRASH", format!("engine:{point}")));
    }
    assert_eq!(workflows(&farm).len(), 0);
    let run = farm.run();
    let cancel = farm.start(&["cancel", &run]);
    until("it is started", || workflows(&farm).len() == 1);
    std::thread::sleep(std::time::Duration::from_secs(1));
    farm.start_worker("w1");
    Did::ended(cancel).exits(0);
    assert_eq!(farm.show()["run"]["state"], "cancelled");
    assert_eq!(marks(&farm), 0);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_cannot_be_started_uses_no_approval() {
    let mut farm = farm(1, "1");
    farm.server.kill();
    let did = farm.wf(&RUN);
    assert_ne!(did.code, Some(0));
    assert!(did.all().contains("nothing was started"), "{}", did.all());
    farm.server.restart();
    farm.wf(&RUN).exits(0);
    assert_eq!((marks(&farm), runs(&farm).len()), (1, 1));
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_that_has_begun_does_not_begin_again_once_the_server_has_forgotten_it() {
    let mut farm = farm(0, "1");
    // Without a worker, no more than the opening of the run can be recorded.
    let mut command = farm.start(&RUN);
    until("it is started", || workflows(&farm).len() == 1);
    command.kill().unwrap();
    command.wait().unwrap();
    let run = farm.run();
    farm.start_worker("w1");
    until("it is over", || {
        let shown = farm.server.temporal(&["workflow", "describe", "--workflow-id", &run]);
        shown.all().contains("COMPLETED")
    });
    assert_eq!(marks(&farm), 1);
    farm.server.temporal(&["workflow", "delete", "--workflow-id", &run, "--yes"]).exits(0);
    until("it is forgotten", || {
        let shown = farm.server.temporal(&["workflow", "describe", "--workflow-id", &run]);
        shown.all().contains("not found")
    });
    farm.wf(&["resume", &run]).exits(6).says("does not know the workflow of the run");
    assert_eq!((marks(&farm), workflows(&farm).len()), (1, 0));
}
