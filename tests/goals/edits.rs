//! Somebody who may write to the database changes what is accounted for of a goal, between two looks
//! of the daemon.

use super::{at, history, settled, states, workspace};
use crate::{
    support::{Did, Sandbox},
    tampered::{clean, named, sql},
};

const FRONT: &str = "schedule: \"0 9 * * *\"\ntimezone: UTC";

/// A slot of the second day of March, or of one after it.
fn slot(day: u32) -> String {
    format!("2026-03-{day:02}T09:00:00.000Z")
}

/// The daemon looks a little later than a slot.
fn look(sandbox: &Sandbox, day: u32) -> Did {
    at(sandbox, &format!("2026-03-{day:02}T09:00:20Z"), &["daemon", "--once"]).exits(0)
}

/// A workspace whose daemon has started the first slot.
fn looked() -> Sandbox {
    let sandbox = workspace(FRONT);
    at(&sandbox, "2026-03-02T08:59:00Z", &["daemon", "--once"]).exits(0);
    look(&sandbox, 2);
    settled(&sandbox, "kept");
    clean(&sandbox);
    sandbox
}

/// The states of the slots from the first day on.
#[track_caller]
fn accounted(sandbox: &Sandbox, attack: &str, wanted: &[&str]) {
    let found = states(&history(sandbox, "kept"));
    let wanted = (2..).zip(wanted).map(|(day, state)| (slot(day), (*state).to_owned()));
    assert_eq!(found, wanted.collect::<Vec<_>>(), "{attack}");
}

#[test]
fn a_pause_that_is_removed_from_its_table_goes_on() {
    let attack = "UPDATE goals SET paused_at = NULL, reason = ''";
    let sandbox = looked();
    at(&sandbox, "2026-03-02T10:00:00Z", &["goal", "pause", "kept"]).exits(0);
    sql(&sandbox, attack);
    named(&sandbox, attack, &["table `goals`, id=`kept`: `paused_at` is nothing, expected "]);
    look(&sandbox, 3);
    accounted(&sandbox, attack, &["started", "skipped"]);
    // What it tried to do: a pause that is ended holds up nothing.
    at(&sandbox, "2026-03-03T10:00:00Z", &["goal", "resume", "kept"]).exits(0);
    look(&sandbox, 4);
    accounted(&sandbox, attack, &["started", "skipped", "started"]);
    // All that was changed was written anew since.
    clean(&sandbox);
}

/// How many runs looked at the goal.
fn runs(sandbox: &Sandbox) -> i64 {
    sandbox.database().query_row("SELECT count(*) FROM runs", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_slot_is_started_once_wherever_the_tables_have_it() {
    for attack in [
        "DELETE FROM slots; UPDATE goals SET decided_until = decided_until - 60000",
        "UPDATE slots SET state = 'due', run = NULL; DELETE FROM reconciliations",
        "UPDATE slots SET slot = slot + 86400000, last_slot = last_slot + 86400000",
    ] {
        let sandbox = looked();
        sql(&sandbox, attack);
        named(&sandbox, attack, &["the log"]);
        at(&sandbox, "2026-03-02T09:00:40Z", &["daemon", "--once"]).exits(0);
        accounted(&sandbox, attack, &["started"]);
        assert_eq!(runs(&sandbox), 1, "{attack}");
        let again = ["goal", "run", "kept", "--slot", &slot(2), "--cause", "schedule"];
        let again = at(&sandbox, "2026-03-02T09:01:00Z", &again);
        assert_ne!(again.code, Some(0), "{attack}: {}", again.all());
        look(&sandbox, 3);
        accounted(&sandbox, attack, &["started", "started"]);
        assert_eq!(runs(&sandbox), 2, "{attack}");
    }
}

#[test]
fn a_slot_is_left_out_by_no_table() {
    for attack in [
        "UPDATE goals SET decided_until = decided_until + 86400000",
        "INSERT INTO slots SELECT goal, slot + 86400000, slot + 86400000, 1, 'skipped', cause, 'so', at, NULL
             FROM slots; UPDATE goals SET decided_until = decided_until + 86400000",
        // The goal would be new.
        "DELETE FROM goals; DELETE FROM slots; DELETE FROM reconciliations",
    ] {
        let sandbox = looked();
        sql(&sandbox, attack);
        named(&sandbox, attack, &["the log"]);
        look(&sandbox, 3);
        accounted(&sandbox, attack, &["started", "started"]);
        assert_eq!(runs(&sandbox), 2, "{attack}");
    }
}

#[test]
fn a_cycle_that_is_removed_from_its_table_is_brought_to_its_end() {
    let attack = "DELETE FROM reconciliations";
    let sandbox = workspace(FRONT);
    let slow = sandbox.read("goals/kept.md").replace("\"true\"", "sleep 0.2");
    sandbox.file("goals/kept.md", slow);
    at(&sandbox, "2026-03-02T08:59:00Z", &["daemon", "--once"]).exits(0);
    let live = "SELECT count(*) FROM reconciliations JOIN runs ON id = run WHERE outcome IS NULL";
    let is_live = || sandbox.database().query_row(live, [], |row| row.get(0)) == Ok(1_i64);
    let mut daemon = sandbox.command(&["daemon", "--once"]);
    let daemon = daemon.env("WF_NOW", "2026-03-02T09:00:20Z").spawn();
    crate::support::until("a cycle goes on", is_live);
    for pid in super::processes(&sandbox, "goal\0run") {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    daemon.unwrap().wait().unwrap();
    sql(&sandbox, attack);
    named(&sandbox, attack, &["table `reconciliations`, run=", "row missing"]);
    look(&sandbox, 2);
    accounted(&sandbox, attack, &["started"]);
    settled(&sandbox, "kept");
}
