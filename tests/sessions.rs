//! Sessions are put aside and taken up again by other processes, also when these are killed.

use std::{process::Child, time::Duration};

use crate::{
    crash::{kill_both, lines_of_ps},
    support::{Sandbox, until},
};

/// Two steps, of which the first waits for a file.
const PLAN: &str = "---\nkind: plan\nid: work\nsteps:\n  \
    - {id: a, idempotent: true, run: \"echo a >> ran.txt; until [ -e go ]; do sleep 0.01; done\"}\n  \
    - {id: b, depends_on: [a], run: \"echo b >> ran.txt\"}\n---\n";

/// A workspace with a session `x`, and a run of it whose first step is under way.
fn at_work() -> (Sandbox, Child) {
    let sandbox = Sandbox::new();
    sandbox.file("work.md", PLAN);
    sandbox.wf(&["session", "new", "x"]).exits(0);
    let run = sandbox.start(&["run", "work.md"]);
    until("the step runs", || sandbox.at("ran.txt").exists());
    (sandbox, run)
}

fn is_suspended(sandbox: &Sandbox) -> bool {
    sandbox.wf(&["session", "list", "--json"]).all().contains("\"suspended\"")
}

/// The events of the only run, as what happened where, without times.
fn events(sandbox: &Sandbox) -> Vec<String> {
    let database = sandbox.database();
    let sql =
        "SELECT kind || ' ' || coalesce(body ->> '$.step', '') || ' ' || coalesce(body ->> '$.attempt', '')
               FROM events WHERE run = (SELECT max(key) FROM runs) AND run_seq > 0 ORDER BY run_seq";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The events of a run that nobody put aside.
fn uninterrupted_events() -> Vec<String> {
    let sandbox = Sandbox::new();
    sandbox.file("work.md", PLAN).file("go", "");
    sandbox.wf(&["run", "work.md"]).exits(0);
    events(&sandbox)
}

#[test]
fn a_session_resumes_elsewhere_with_the_same_next_event() {
    let (sandbox, mut run) = at_work();
    let mut suspend = sandbox.start(&["session", "suspend"]);
    until("the session is suspended", || is_suspended(&sandbox));
    // The engine sees it within a quarter of a second, if the machine has time for it.
    std::thread::sleep(Duration::from_secs(2));
    // The step under way ends, and no other one begins.
    sandbox.file("go", "");
    assert!(suspend.wait().unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_eq!(sandbox.read("ran.txt"), "a\n");
    sandbox.wf(&["resume", "--last"]).exits(2).says("session `x` is suspended").says("wf session resume x");
    sandbox.wf(&["run", "work.md", "--session", "x"]).exits(2).says("session `x` is suspended");
    sandbox.wf(&["session", "resume", "x", "--runs"]).exits(0).says("succeeded");
    assert_eq!(sandbox.read("ran.txt"), "a\nb\n");
    assert_eq!(events(&sandbox), uninterrupted_events());
}

#[test]
fn an_engine_that_is_killed_while_it_drains_loses_nothing() {
    let (sandbox, mut run) = at_work();
    let mut suspend = sandbox.start(&["session", "suspend", "x"]);
    until("the session is suspended", || is_suspended(&sandbox));
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(suspend.wait().unwrap().success());
    sandbox.wf(&["resume", "--last"]).exits(2).says("is suspended");
    sandbox.file("go", "");
    // Who resumes the session is killed, too; the session stays resumed.
    let mut resume = sandbox.start(&["session", "resume", "x"]);
    resume.kill().unwrap();
    resume.wait().unwrap();
    if is_suspended(&sandbox) {
        sandbox.wf(&["session", "resume", "x"]).exits(0);
    }
    sandbox.wf(&["resume", "--last"]).exits(0).says("succeeded");
    assert_eq!(sandbox.read("ran.txt"), "a\nb\n");
}

#[test]
fn a_session_is_interrupted_at_once_when_asked_to() {
    let (sandbox, mut run) = at_work();
    sandbox.wf(&["session", "suspend", "--now"]).exits(0).says("is suspended");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    until("its processes are gone", || lines_of_ps(&sandbox).is_empty());
    sandbox.file("go", "");
    sandbox.wf(&["session", "resume", "x", "--runs"]).exits(0).says("succeeded");
    assert_eq!(sandbox.read("ran.txt"), "a\na\nb\n");
}

#[test]
fn a_run_of_a_session_that_has_ended_is_only_cancelled() {
    let (sandbox, mut run) = at_work();
    sandbox.wf(&["session", "complete"]).exits(2).says("have not ended");
    sandbox.wf(&["session", "fail"]).exits(2).says("are under way");
    kill_both(&mut run);
    sandbox.wf(&["session", "fail", "--reason", "given up"]).exits(0);
    sandbox.wf(&["resume", "--last"]).exits(2).says("session `x` has ended: failed");
    sandbox.wf(&["cancel", "--last"]).exits(0);
    sandbox.wf(&["runs", "--session", "x"]).exits(0).says("cancelled");
    assert_eq!(sandbox.read("ran.txt"), "a\n");
}
