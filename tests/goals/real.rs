//! Real time, and deaths at random.

use rustix::process::{Signal, kill_process};
use std::{process::Child, thread::sleep, time::Duration};

use super::{
    idle::{memory, wakes},
    processes, settled, signal, without_holes, workspace,
};
use crate::support::until;

/// Numbers by chance, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }
}

#[test]
fn a_daemon_killed_around_its_slots_loses_and_doubles_none() {
    let front = "schedule: \"* * * * * *\"\nmissed: {run: all, window: 1h, cap: 1000}\n\
                 window: 1m\noverlap: queue_all";
    let sandbox = workspace(front);
    let mut dice = Dice(7);
    let start = || sandbox.start(&["daemon", "-q"]);
    let kill = |daemon: &mut Child| {
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    };
    for round in 0..12 {
        let mut daemon = start();
        sleep(Duration::from_millis(300 + dice.below(2_000)));
        kill(&mut daemon);
        if round % 3 == 0 {
            // Its cycles die, too.
            for pid in processes(&sandbox, "goal\0run") {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        sleep(Duration::from_millis(dice.below(400)));
    }
    let mut daemon = start();
    sleep(Duration::from_secs(2));
    signal(&daemon, Signal::TERM);
    assert!(daemon.wait().unwrap().success());
    // What still waits is skipped; what goes on is brought to its end.
    until("somebody pauses it", || sandbox.wf(&["goal", "pause", "kept"]).code == Some(0));
    sandbox.wf(&["daemon", "--once"]).exits(0);
    without_holes(&sandbox, "kept", 1);
    settled(&sandbox, "kept");
    let sql = "SELECT count(*) FROM reconciliations a JOIN reconciliations b ON a.run < b.run
               AND a.started_at < b.ended AND b.started_at < a.ended";
    let beside: i64 = sandbox.database().query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(beside, 0, "no two cycles went on side by side");
}

#[test]
fn an_idle_daemon_sleeps_and_is_small() {
    let sandbox = workspace("schedule: \"0 0 29 2 *\"");
    let mut daemon = sandbox.start(&["daemon", "-q"]);
    let begun = || sandbox.wf(&["goal", "history", "kept"]).code == Some(0);
    until("it has looked", begun);
    sleep(Duration::from_secs(2));
    let before = wakes(daemon.id());
    sleep(Duration::from_secs(4));
    let (woken, (_, own)) = (wakes(daemon.id()) - before, memory(daemon.id()));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(woken < 2, "it woke {woken} times");
    assert!(own < 8 << 10, "it takes {own} KiB");
}
