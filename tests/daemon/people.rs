//! Who approves, answers, pauses and asks for the past.

use rustix::process::{Pid, Signal, kill_process};

use super::{Daemon, EACH_SECOND, count, cycles_of, ended, goal, one_by_one, place, soon, words};
use crate::support::Sandbox;

/// The desired state is that there is a file; a repair writes down that it was done.
const REPAIRED: &str = "on_failure: spawn_plan\nverify: [{name: shut, run: test -f shut}]\n";
const SHUTS: &str =
    "repair: {steps: [{id: shut, run: 'touch shut; echo done >> repairs', writes: [shut, repairs]}]}\n";

fn repairs(sandbox: &Sandbox) -> usize {
    sandbox.read("repairs").lines().count()
}

#[test]
fn after_an_approval_the_next_slot_repairs_and_uses_one_execution_each_time() {
    let sandbox = place();
    goal(&sandbox, &format!("{EACH_SECOND}{REPAIRED}{SHUTS}"));
    let daemon = Daemon::start(&sandbox, &["-q"]);
    soon("cycles wait", || ended(&sandbox, "waiting") > 1);
    assert_eq!(repairs(&sandbox), 0, "nobody has approved");
    let notices = "SELECT count(*) FROM reconciliations WHERE repair_run IS NOT NULL";
    assert_eq!(count(&sandbox, notices), 0);
    sandbox.wf(&["key", "init"]);
    let approve = ["approve", "goals/kept.md", "--executions", "2", "--yes"];
    sandbox.wf(&approve).exits(0);
    for done in 1..=2 {
        soon("it is repaired", || ended(&sandbox, "repaired") == done);
        std::fs::remove_file(sandbox.at("shut")).unwrap();
    }
    let waiting = ended(&sandbox, "waiting");
    soon("it waits again", || ended(&sandbox, "waiting") > waiting);
    daemon.ends();
    assert_eq!(repairs(&sandbox), 2, "as often as was approved");
    let used = "SELECT execution || ' ' || (SELECT count(*) FROM reconciliations
                WHERE reconciliations.repair_run = approval_uses.run) FROM approval_uses
                WHERE run IN (SELECT repair_run FROM reconciliations) ORDER BY execution";
    assert_eq!(words(&sandbox, used), ["1 1", "2 1"]);
    // Neither a retry nor a run gets round it.
    let run =
        words(&sandbox, "SELECT repair_run FROM reconciliations WHERE repair_run IS NOT NULL").remove(0);
    sandbox.wf(&["retry", &run, "--from", "shut"]).exits(2);
    sandbox.wf(&["run", "goals/kept.md"]).exits(2);
    let by_hand = sandbox.wf(&["goal", "run", "kept"]).exits(5);
    by_hand.says("used up: 2 of 2 uses");
    assert_eq!(repairs(&sandbox), 2);
}

#[test]
fn a_repair_that_asks_goes_on_once_it_is_answered_while_the_daemon_runs() {
    let sandbox = place();
    let asks = "approval: none\nrepair:\n  steps:\n    - {id: ok, approve: {message: 'Shut it?'}}\n\
                \x20   - {id: shut, depends_on: [ok], run: 'touch shut; echo done >> repairs'}\n\
                notify: [{on: [waiting], exec: [sh, -c, 'echo waits >> news']}]\n";
    goal(&sandbox, &format!("{EACH_SECOND}{REPAIRED}{asks}"));
    let daemon = Daemon::start(&sandbox, &["-q"]);
    // Later cycles wait for the repair of the first.
    soon("cycles wait", || ended(&sandbox, "waiting") > 2);
    let asking = words(&sandbox, "SELECT repair_run FROM reconciliations WHERE repair_run IS NOT NULL");
    let [run] = asking.as_slice() else {
        panic!("one repair: {asking:?}");
    };
    sandbox.wf(&["approve", run, "--yes"]).exits(0);
    soon("it is repaired", || ended(&sandbox, "repaired") == 1);
    soon("it is healthy", || ended(&sandbox, "healthy") > 0);
    daemon.ends();
    let repaired = words(&sandbox, "SELECT repair_run FROM reconciliations WHERE health = 'repaired'");
    assert_eq!(repaired, [run.as_str()], "the cycle that asked is put right");
    assert_eq!((repairs(&sandbox), sandbox.read("news").as_str()), (1, "waits\n"));
    one_by_one(&sandbox);
}

#[test]
fn a_repair_that_cannot_begin_fails_its_cycle_and_is_in_nobodys_way() {
    let sandbox = place();
    // While it looks, the file that says who may approve comes to be wrong.
    let breaks = "on_failure: spawn_plan\n\
                  verify: [{name: shut, run: 'echo [ > approvers.yaml; test -f shut'}]\n";
    goal(&sandbox, &format!("{EACH_SECOND}{breaks}{SHUTS}"));
    let did = sandbox.wf(&["goal", "run", "kept"]).exits(1);
    did.says("the repair failed: it could not start");
    assert_eq!((ended(&sandbox, "failed"), repairs(&sandbox)), (1, 0));
}

#[test]
fn a_cycle_that_may_not_go_on_waits_and_is_in_nobodys_way() {
    let sandbox = place();
    let slow = "verify: [{name: shut, run: 'touch \"$PWD/looks\"; test -f quick || sleep 20'}]\n";
    goal(&sandbox, &format!("{EACH_SECOND}{slow}"));
    let mut look = sandbox.start(&["goal", "run", "kept"]);
    soon("it looks", || sandbox.at("looks").exists());
    look.kill().unwrap();
    look.wait().unwrap();
    sandbox.accept();
    sandbox.file("quick", "").file("approvers.yaml", "[\n");
    let daemon = Daemon::start(&sandbox, &["-q"]);
    soon("it waits", || ended(&sandbox, "waiting") == 1);
    std::fs::remove_file(sandbox.at("approvers.yaml")).unwrap();
    soon("it goes on", || ended(&sandbox, "waiting") == 0);
    soon("others follow", || ended(&sandbox, "healthy") > 1);
    daemon.ends();
}

#[test]
fn too_many_failures_pause_a_goal_and_nothing_is_made_up_for() {
    let sandbox = place();
    let fails = "auto_pause_after: 2\nmissed: {run: latest}\nverify: [{name: shut, run: test -f shut}]\n\
                 notify: [{on: [paused, failed], exec: [sh, -c, 'cat >> news']}]\n";
    goal(&sandbox, &format!("{EACH_SECOND}{fails}"));
    let daemon = Daemon::start(&sandbox, &["-q"]);
    let paused = "SELECT count(*) FROM goals WHERE paused_at IS NOT NULL";
    soon("it is paused", || count(&sandbox, paused) == 1);
    let skipped = "SELECT coalesce(sum(count), 0) FROM slots WHERE state = 'skipped'";
    soon("slots are skipped", || count(&sandbox, skipped) > 2);
    assert_eq!(ended(&sandbox, "failed"), 2);
    let told = || sandbox.read("news").lines().count();
    soon("people are told", || told() == 2);
    sandbox.file("shut", "");
    sandbox.wf(&["goal", "resume", "kept"]).exits(0);
    soon("it goes on", || ended(&sandbox, "healthy") > 1);
    daemon.ends();
    let late = "SELECT count(*) FROM slots WHERE cause <> 'schedule'";
    assert_eq!(count(&sandbox, late), 0, "nothing is made up for");
    let before = "SELECT count(*) FROM slots WHERE state = 'started' AND slot <
                  (SELECT max(last_slot) FROM slots WHERE state = 'skipped' AND reason LIKE '%paused%')";
    assert_eq!(count(&sandbox, before), 2, "only what failed began before");
    assert_eq!(told(), 2, "once for each");
}

#[test]
fn only_failures_after_a_resume_count_and_a_cancelled_cycle_is_in_no_row() {
    let sandbox = place();
    let check = "test -f slow && touch \"$PWD/looks\" && sleep 50; false";
    let front =
        format!("schedule: \"0 9 1 1 *\"\nauto_pause_after: 2\nverify: [{{name: shut, run: '{check}'}}]\n");
    goal(&sandbox, &front);
    let paused = || count(&sandbox, "SELECT count(*) FROM goals WHERE paused_at IS NOT NULL") == 1;
    let look = || drop(sandbox.wf(&["goal", "run", "kept"]));
    sandbox.wf(&["daemon", "--once"]).exits(0);
    look();
    assert!(!paused());
    look();
    assert!(paused(), "two in a row");
    sandbox.wf(&["goal", "resume", "kept"]).exits(0);
    look();
    assert!(!paused(), "one since somebody resumed it");
    // A cycle that is cancelled says nothing of the goal.
    sandbox.file("slow", "");
    let mut cancelled = sandbox.start(&["goal", "run", "kept"]);
    soon("it looks", || sandbox.at("looks").exists());
    let pid = Pid::from_raw(i32::try_from(cancelled.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    cancelled.wait().unwrap();
    assert_eq!(ended(&sandbox, "cancelled"), 1);
    std::fs::remove_file(sandbox.at("slow")).unwrap();
    look();
    assert!(paused(), "two in a row, and one between them that was cancelled");
}

const PAST: [&str; 7] =
    ["goal", "backfill", "kept", "--from", "2026-03-01T00:00:00Z", "--to", "2026-03-03T23:00:00Z"];
const STARTED: &str = "SELECT count(*) FROM slots WHERE state = 'started' AND cause = 'backfill'";

fn daily(check: &str) -> Sandbox {
    let sandbox = place();
    let front = format!("schedule: \"0 9 * * *\"\nverify: [{{name: ok, run: '{check}'}}]\n");
    goal(&sandbox, &front);
    sandbox
}

#[test]
fn a_backfill_without_a_daemon_is_done_once_also_after_it_was_killed() {
    let sandbox = daily("echo look >> \"$PWD/looks\"; test -f quick || sleep 20");
    let mut backfill = sandbox.start(&PAST);
    soon("it looks", || !sandbox.read("looks").is_empty());
    backfill.kill().unwrap();
    backfill.wait().unwrap();
    sandbox.file("quick", "");
    // The one that was killed is adopted, the others are begun.
    sandbox.wf(&PAST).exits(0);
    sandbox.wf(&["daemon", "--once"]).exits(0);
    assert_eq!(count(&sandbox, STARTED), 3);
    assert_eq!(ended(&sandbox, "healthy"), 3);
    sandbox.wf(&PAST).exits(0).says("every slot of this period has started");
    assert_eq!(ended(&sandbox, "healthy"), 3);
}

#[test]
fn an_interrupted_backfill_begins_no_other_slot() {
    let sandbox = daily("echo look >> \"$PWD/looks\"; test -f quick || sleep 20");
    let mut backfill = sandbox.start(&PAST);
    soon("it looks", || !sandbox.read("looks").is_empty());
    let pid = rustix::process::Pid::from_raw(i32::try_from(backfill.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(backfill.wait().unwrap().code(), Some(130));
    assert_eq!((count(&sandbox, STARTED), ended(&sandbox, "cancelled")), (1, 1));
    let open = "SELECT count(*) FROM slots WHERE state IN ('due', 'queued')";
    assert_eq!(count(&sandbox, open), 2, "the others are still due");
}

#[test]
fn a_daemon_works_on_a_backfill_one_after_the_other() {
    let sandbox = daily("echo begin >> \"$PWD/looks\"; sleep 0.3; echo end >> \"$PWD/looks\"");
    let daemon = Daemon::start(&sandbox, &["-q"]);
    let known = "SELECT count(*) FROM goals";
    soon("the goal is known", || count(&sandbox, known) == 1);
    for _ in 0..2 {
        sandbox.wf(&PAST).exits(0).says("the daemon runs them");
    }
    soon("all are done", || ended(&sandbox, "healthy") == 3);
    daemon.ends();
    assert_eq!(sandbox.read("looks"), "begin\nend\n".repeat(3));
    assert!(cycles_of(sandbox.path()).is_empty());
}
