//! Line 8 of the torture list: at its slot a goal cannot be accounted for, and later it can.

use super::{history, settled, states, without_holes, workspace};
use crate::{
    faults::{among_own_mounts, part},
    support::until,
};
use rustix::process::Signal;

#[test]
fn t08_slots_at_which_the_database_is_locked_are_recovered_once() {
    let front = "schedule: \"*/2 * * * * *\"\nmissed: {run: all}\noverlap: queue_all";
    let sandbox = workspace(front);
    let mut command = sandbox.command(&["daemon", "-q"]);
    let mut daemon = command.env("WF_LEASE", "300").spawn().unwrap();
    until("there is a ledger", || sandbox.at(".wf/state.db").exists());
    let started = || {
        let found = states(&history(&sandbox, "kept"));
        found.iter().filter(|(_, state)| state == "started").count()
    };
    let known = || sandbox.wf(&["goal", "history", "kept"]).code == Some(0);
    until("the ledger can be read", known);
    until("the first slot", || started() > 0);
    let holder = sandbox.database();
    let locked = || holder.execute_batch("BEGIN EXCLUSIVE").is_ok();
    until("the database is locked", locked);
    std::thread::sleep(std::time::Duration::from_secs(5));
    let before = started();
    holder.execute_batch("ROLLBACK").unwrap();
    until("slots go on", || started() > before + 3);
    super::signal(&daemon, Signal::TERM);
    assert!(daemon.wait().unwrap().success(), "it lived on");
    sandbox.wf(&["goal", "pause", "kept"]).exits(0);
    sandbox.wf(&["daemon", "--once"]).exits(0);
    without_holes(&sandbox, "kept", 2);
    settled(&sandbox, "kept");
}

#[test]
fn t08_a_slot_at_which_the_disk_is_full_is_recovered_once() {
    let sandbox = workspace("schedule: \"0 9 * * *\"\ntimezone: UTC");
    let script = "mkdir .wf; mount -t tmpfs -o size=4m none .wf
        $wf goal accept --all --yes
        WF_NOW=2026-03-02T08:59:00Z $wf daemon --once; echo \"code $?\"
        for n in 1 2 3; do dd if=/dev/zero of=.wf/ballast$n bs=1k 2> /dev/null; sleep 0.05; done
        echo '== full'; WF_NOW=2026-03-02T09:00:01Z $wf daemon --once; echo \"code $?\"
        rm .wf/ballast*
        echo '== room'; WF_NOW=2026-03-02T09:00:20Z $wf daemon --once; echo \"code $?\"
        WF_NOW=2026-03-03T09:00:02Z $wf daemon --once; echo \"code $?\"
        echo '== history'; $wf goal history kept --json";
    let Some(did) = among_own_mounts(&sandbox, script) else {
        return;
    };
    let full = part(&did, "full");
    assert!(full.contains("no space left"), "{full}");
    let room = part(&did, "room");
    assert_eq!(room.matches("code 0").count(), 2, "{room}");
    let rows: Vec<serde_json::Value> =
        part(&did, "history").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = states(&rows);
    let wanted = ["2026-03-02T09:00:00.000Z", "2026-03-03T09:00:00.000Z"];
    let wanted = wanted.map(|slot| (slot.to_owned(), "started".to_owned()));
    assert_eq!(found, wanted, "{}", did.out);
    let healthy = rows.iter().all(|row| row["cycle"]["health"] == "healthy");
    assert!(healthy, "{}", did.out);
}
