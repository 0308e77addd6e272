//! Typed answers around deaths: the process of the approver and the run are killed at every point at which something
//! becomes durable, and exactly one answer counts.

use std::os::unix::process::ExitStatusExt as _;

use crate::support::Sandbox;

const PLAN: &str = "---\nkind: plan\nid: ask\nsteps:\n  \
    - {id: which, approve: {message: Which?, answer: {choose: [keep, delete]}}}\n  \
    - id: follow\n    depends_on: [which]\n    idempotent: true\n    \
      env: {WORD: \"{{ steps.which.outputs.choice }}\"}\n    run: echo \"$WORD\" >> ran.txt\n---\n";

const KEEP: [&str; 5] = ["approve", "--last", "--choose", "keep", "--yes"];
const DELETE: [&str; 5] = ["approve", "--last", "--choose", "delete", "--yes"];
const RESUME: [&str; 2] = ["resume", "--last"];

/// A run that waits for an answer.
fn asked() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("ask.md", PLAN);
    sandbox.wf(&["run", "ask.md"]).exits(5);
    sandbox
}

/// The number of points that a command passes.
fn points(sandbox: &Sandbox, args: &[&str]) -> usize {
    let list = tempfile::NamedTempFile::new().unwrap();
    let mut command = sandbox.command(args);
    command.env("WF_CRASH", format!("engine:list={}", list.path().display()));
    assert!(command.output().unwrap().status.success());
    std::fs::read_to_string(list.path()).unwrap().lines().count()
}

fn kill_at(sandbox: &Sandbox, args: &[&str], point: usize) {
    let mut command = sandbox.command(args);
    command.env("WF_CRASH", format!("engine:{point}"));
    assert_eq!(command.output().unwrap().status.signal(), Some(9), "{args:?} at point {point}");
}

/// The number of answers on record that count.
fn answers(sandbox: &Sandbox) -> i64 {
    let sql = "SELECT count(*) FROM events WHERE kind = 'approval_resolved'";
    sandbox.database().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn an_answer_whose_process_dies_counts_once_it_is_durable_and_never_beside_another() {
    let mut counted = Vec::new();
    for point in 1..=points(&asked(), &KEEP) {
        let sandbox = asked();
        kill_at(&sandbox, &KEEP, point);
        let again = sandbox.wf(&DELETE);
        sandbox.wf(&RESUME).exits(0);
        let word = if again.code == Some(0) { "delete" } else { "keep" };
        assert_eq!(sandbox.read("ran.txt").trim(), word, "killed at point {point}: {}", again.all());
        assert_eq!(answers(&sandbox), 1, "killed at point {point}");
        counted.push(word);
    }
    counted.dedup();
    assert_eq!(counted, ["delete", "keep"], "the answer counts from the point on at which it is durable");
}

#[test]
fn a_run_that_dies_between_an_answer_and_what_follows_neither_loses_nor_repeats_it() {
    let answered = || {
        let sandbox = asked();
        sandbox.wf(&KEEP).exits(0);
        sandbox
    };
    for point in 1..=points(&answered(), &RESUME) {
        let sandbox = answered();
        kill_at(&sandbox, &RESUME, point);
        let resumed = sandbox.wf(&RESUME);
        // Killed after its end was durable, it has nothing left to do.
        let over = resumed.all().contains("has already finished");
        assert!(resumed.code == Some(0) || over, "killed at point {point}: {}", resumed.all());
        let ran = sandbox.read("ran.txt");
        assert!(!ran.is_empty() && ran.lines().all(|word| word == "keep"), "killed at point {point}: {ran}");
        assert_eq!(answers(&sandbox), 1, "killed at point {point}");
    }
}
