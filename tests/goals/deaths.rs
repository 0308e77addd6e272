//! Line 1 of the torture list: processes die between the claim of a slot and its run, and around.

use rustix::process::{Signal, kill_process};

use super::{at, history, processes, settled, states, workspace};
use crate::support::{Did, Sandbox, until};
use std::sync::Arc;
use wf_base::{
    name::PlanId,
    time::{FixedClock, Moment},
};
use wf_core::goal::{ReconciliationCause, SlotDecision, SlotEntry, SlotState};
use wf_store::{LedgerGoal, Store, StoreDurability};

const FRONT: &str = "schedule: \"0 9 * * *\"\ntimezone: UTC";
const SLOT: &str = "2026-03-02T09:00:00.000Z";

/// A workspace in which the slot is due, decided by a daemon that died then.
fn due() -> Sandbox {
    let sandbox = workspace(FRONT);
    at(&sandbox, "2026-03-02T08:59:00Z", &["daemon", "--once"]).exits(0);
    let slot = Moment::parse(SLOT).unwrap();
    let store = Store::open(&sandbox.at(".wf"), StoreDurability::Full, Arc::new(FixedClock(slot))).unwrap();
    let id = PlanId::parse("kept").unwrap();
    let known = store.reader().unwrap().goals().ledger(&id).unwrap().unwrap();
    let goal = LedgerGoal { id, path: "goals/kept.md".into(), schedule: known.timing.unwrap() };
    let row = SlotEntry::of(slot, SlotState::Due, ReconciliationCause::Schedule, "");
    let decision = SlotDecision { rows: vec![row], decided_until: slot, cancels_running: false, wake: None };
    let decided = store.goals().record_decision(goal, Some(known.decided_until), decision, None, slot);
    assert_eq!(decided.wait(), Ok(true));
    sandbox
}

/// After a later daemon has looked, the slot has begun once, and its cycle has ended.
#[track_caller]
fn made_good(sandbox: &Sandbox, what: &str) {
    let did = at(sandbox, "2026-03-02T09:00:30Z", &["daemon", "--once"]);
    assert_eq!(did.code, Some(0), "{what}: {}", did.all());
    let found = states(&history(sandbox, "kept"));
    assert_eq!(found, [(SLOT.into(), "started".into())], "{what}");
    settled(sandbox, "kept");
}

#[test]
fn t01_a_cycle_that_is_killed_anywhere_is_begun_once_and_ends() {
    let args = ["goal", "run", "kept", "--slot", SLOT, "--cause", "schedule"];
    let run = |sandbox: &Sandbox, plan: String| {
        let mut command = sandbox.command(&args);
        command.env("WF_NOW", "2026-03-02T09:00:01Z");
        Did::of(command.env("WF_CRASH", plan))
    };
    let whole = due();
    let list = tempfile::NamedTempFile::new().unwrap();
    run(&whole, format!("engine:list={}", list.path().display())).exits(0);
    let points = std::fs::read_to_string(list.path()).unwrap();
    let points = points.lines().count();
    assert!(points > 15, "{points} points are too few to be a whole cycle");
    settled(&whole, "kept");
    for point in 1..=points {
        let sandbox = due();
        let did = run(&sandbox, format!("engine:{point}"));
        let what = format!("killed at point {point} of {points}");
        assert!(matches!(did.code, None | Some(0)), "{what}: {}", did.all());
        made_good(&sandbox, &what);
    }
}

#[test]
fn t01_a_daemon_that_is_killed_anywhere_loses_and_doubles_no_slot() {
    let mut killed = 0;
    for point in 1.. {
        let sandbox = workspace(FRONT);
        at(&sandbox, "2026-03-02T08:59:00Z", &["daemon", "--once"]).exits(0);
        let mut command = sandbox.command(&["daemon"]);
        command.env("WF_NOW", "2026-03-02T08:59:59Z");
        command.env("WF_WARP", "2026-03-02T09:00:02Z");
        let did = Did::of(command.env("WF_CRASH", format!("engine:{point}")));
        made_good(&sandbox, &format!("the daemon, killed at {point}"));
        if did.code == Some(0) {
            break;
        }
        assert_eq!(did.code, None, "{}", did.all());
        killed = point;
    }
    assert!(killed > 3, "{killed} points are too few for a daemon");
}

#[test]
fn t01_a_daemon_goes_on_with_a_cycle_whose_process_was_killed() {
    let sandbox = workspace("schedule: \"* * * * * *\"\noverlap: skip");
    let slow = sandbox.read("goals/kept.md").replace("\"true\"", "sleep 1");
    sandbox.file("goals/kept.md", slow);
    let mut daemon = sandbox.start(&["daemon", "-q"]);
    let claimed = || {
        let is_live = "SELECT count(*) FROM runs WHERE outcome IS NULL";
        let exists = sandbox.at(".wf/state.db").exists();
        exists && sandbox.database().query_row(is_live, [], |row| row.get(0)) == Ok(1)
    };
    until("a cycle goes on", claimed);
    for pid in processes(&sandbox, "goal\0run") {
        let _ = kill_process(pid, Signal::KILL);
    }
    let started = || {
        let found = states(&history(&sandbox, "kept"));
        found.iter().filter(|(_, state)| state == "started").count()
    };
    let before = started();
    until("another one begins", || started() > before);
    super::signal(&daemon, Signal::TERM);
    assert!(daemon.wait().unwrap().success());
    sandbox.wf(&["goal", "pause", "kept"]).exits(0);
    sandbox.wf(&["daemon", "--once"]).exits(0);
    settled(&sandbox, "kept");
}
