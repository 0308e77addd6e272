//! The clock of the machine is set while runs go on, and while nobody works on them.

use wf_base::time::Moment;

use crate::support::{Sandbox, until};

/// What the log says of a run: its instants, in order.
fn instants(sandbox: &Sandbox) -> Vec<Moment> {
    let connection = sandbox.database();
    let mut events = connection.prepare("SELECT at FROM events ORDER BY seq").unwrap();
    let rows = events.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(|at| Moment::parse(&at.unwrap()).unwrap()).collect()
}

fn at(sandbox: &Sandbox, now: &str, args: &[&str]) -> std::process::Output {
    sandbox.command(args).env("WF_NOW", now).output().unwrap()
}

/// A run whose engine dies in its second step, of which the first waits.
fn interrupted(sandbox: &Sandbox) {
    let plan = "---\nkind: plan\nid: three\ntimeout: 5h\nsteps:\n\
        \x20 - {id: a, wait: {duration: 20ms}}\n\
        \x20 - {id: b, depends_on: [a], idempotent: true, retry: {max: 3, backoff: 20ms}, run: \"[ -e on ] || { touch on; sleep 9; }\"}\n\
        \x20 - {id: c, depends_on: [b], wait: {duration: 20ms}}\n---\n";
    sandbox.file("three.md", plan);
    let mut command = sandbox.command(&["run", "three.md"]);
    let mut child = command.env("WF_NOW", "2026-11-21T09:30:00Z").spawn().unwrap();
    until("the second step runs", || sandbox.at("on").exists());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_clock_set_back_makes_nothing_longer_and_nothing_go_back() {
    let sandbox = Sandbox::new();
    interrupted(&sandbox);
    let resumed = at(&sandbox, "2020-01-01T00:00:00Z", &["resume", "--last"]);
    let told = String::from_utf8_lossy(&resumed.stdout).into_owned();
    assert_eq!(resumed.status.code(), Some(0), "{told}");
    let instants = instants(&sandbox);
    assert!(instants.is_sorted(), "{instants:?}");
    sandbox.wf(&["doctor"]).exits(0).says("hash chain OK");
}

#[test]
fn a_clock_set_forward_ends_what_has_a_limit_on_it() {
    let sandbox = Sandbox::new();
    interrupted(&sandbox);
    let resumed = at(&sandbox, "2026-11-21T13:00:00Z", &["resume", "--last"]);
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
    assert!(instants(&sandbox).is_sorted());

    let sandbox = Sandbox::new();
    interrupted(&sandbox);
    let resumed = at(&sandbox, "2030-01-01T00:00:00Z", &["resume", "--last"]);
    let told = String::from_utf8_lossy(&resumed.stdout).into_owned();
    assert_eq!(resumed.status.code(), Some(1), "{told}");
    assert!(told.contains("exceeded its time limit"), "{told}");
}
