//! Line 9 of the torture list: two daemons in one workspace.

use rustix::process::Signal;
use std::{process::Child, thread::sleep, time::Duration};

use super::{history, settled, signal, without_holes, workspace};
use crate::support::{Sandbox, until};

const FRONT: &str = "schedule: \"*/2 * * * * *\"\nmissed: {run: all}\noverlap: queue_all";

/// A daemon that leads.
fn leader(sandbox: &Sandbox, args: &[&str]) -> Child {
    let child = sandbox.start(args);
    until("it leads", || leads(sandbox, child.id()));
    child
}

fn leads(sandbox: &Sandbox, pid: u32) -> bool {
    let sql = "SELECT pid FROM daemon_leases ORDER BY token DESC LIMIT 1";
    sandbox.at(".wf/state.db").exists() && sandbox.database().query_row(sql, [], |row| row.get(0)) == Ok(pid)
}

/// Ends all, and looks at what is left.
#[track_caller]
fn whole(sandbox: &Sandbox, mut daemon: Child) {
    signal(&daemon, Signal::TERM);
    assert!(daemon.wait().unwrap().success());
    sandbox.wf(&["goal", "pause", "kept"]).exits(0);
    sandbox.wf(&["daemon", "--once"]).exits(0);
    without_holes(sandbox, "kept", 2);
    settled(sandbox, "kept");
}

#[test]
fn t09_of_two_daemons_one_leads_and_the_other_takes_over() {
    let sandbox = workspace(FRONT);
    let mut first = leader(&sandbox, &["daemon", "-q"]);
    let refused = sandbox.wf(&["daemon"]).exits(6);
    refused.says("another daemon is active in this workspace").says(&first.id().to_string());
    let second = sandbox.start(&["daemon", "-q", "--standby"]);
    until("slots come", || history(&sandbox, "kept").len() > 1);
    assert!(leads(&sandbox, first.id()), "the second one waits");
    first.kill().unwrap();
    first.wait().unwrap();
    until("the second one leads", || leads(&sandbox, second.id()));
    let before = history(&sandbox, "kept").len();
    until("slots go on", || history(&sandbox, "kept").len() > before + 1);
    whole(&sandbox, second);
}

#[test]
fn t09_a_leader_that_was_superseded_while_it_stood_still_writes_nothing() {
    let sandbox = workspace(FRONT);
    let mut first = leader(&sandbox, &["daemon", "-q"]);
    until("slots come", || history(&sandbox, "kept").len() > 1);
    signal(&first, Signal::STOP);
    until("no cycle goes on", || super::processes(&sandbox, "goal\0run").is_empty());
    // As if the lock had been lost: on some disks it is, with the machine that held it.
    let lead =
        "INSERT INTO daemon_leases (token, pid, acquired_at) SELECT max(token) + 1, 1, 0 FROM daemon_leases";
    sandbox.database().execute(lead, []).unwrap();
    let before = history(&sandbox, "kept");
    sleep(Duration::from_secs(3));
    signal(&first, Signal::CONT);
    let ended = first.wait().unwrap();
    assert_eq!(ended.code(), Some(6), "it says that another one leads");
    assert_eq!(history(&sandbox, "kept"), before, "it wrote nothing");
    // Whoever leads next accounts for all that came meanwhile.
    let second = leader(&sandbox, &["daemon", "-q"]);
    until("slots go on", || history(&sandbox, "kept").len() > before.len() + 2);
    whole(&sandbox, second);
}
