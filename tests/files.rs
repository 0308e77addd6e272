//! Runs that declare to change the same file take turns.

use crate::support::{Sandbox, until};

/// A plan with one step, which declares a path to change.
fn plan(id: &str, path: &str, script: &str) -> String {
    format!("---\nkind: plan\nid: {id}\nsteps:\n  - {{id: a, writes: [{path}], run: \"{script}\"}}\n---\n")
}

/// A script that adds one to a number in a file, slowly enough that another could come between.
const ADD_ONE: &str = "n=$(cat out/n.txt); sleep 0.05; echo $((n + 1)) > out/n.txt";

#[test]
fn two_runs_that_change_one_file_lose_nothing() {
    let sandbox = Sandbox::new();
    let add = |id: &str, path: &str| {
        format!(
            "---\nkind: plan\nid: {id}\nsteps:\n  - id: a\n    for_each: [1, 2, 3, 4, 5, 6]\n\
             \x20   writes: [{path}]\n    run: {ADD_ONE}\n---\n"
        )
    };
    sandbox
        .file("out/n.txt", "0\n")
        .file("one.md", add("one", "out/n.txt"))
        .file("two.md", add("two", "out"));
    let runs = ["one.md", "two.md", "one.md"].map(|path| sandbox.start(&["run", path]));
    for run in runs {
        let output = run.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(sandbox.read("out/n.txt"), "18\n");
}

#[test]
fn a_killed_run_keeps_its_file_until_its_work_has_ended() {
    let sandbox = Sandbox::new();
    let holds = "echo in >> ran.txt; until [ -e go ]; do sleep 0.01; done; echo out >> ran.txt";
    sandbox.file("first.md", plan("first", "out/x", holds));
    sandbox.file("second.md", plan("second", "out", "echo second >> ran.txt"));
    sandbox.file("third.md", plan("third", "out/y", "echo third > third.txt"));
    let mut first = sandbox.start(&["run", "first.md"]);
    until("the step runs", || sandbox.at("ran.txt").exists());
    sandbox.wf(&["run", "third.md"]).exits(0);
    assert!(sandbox.at("third.txt").exists(), "another file in the folder is free");
    first.kill().unwrap();
    first.wait().unwrap();
    let second = sandbox.start(&["run", "second.md"]);
    until("the second waits", || sandbox.wf(&["runs", "--json"]).out.contains("second"));
    assert_eq!(sandbox.read("ran.txt"), "in\n");
    sandbox.file("go", "");
    assert!(second.wait_with_output().unwrap().status.success());
    assert_eq!(sandbox.read("ran.txt"), "in\nout\nsecond\n");
}

#[test]
fn a_step_says_what_it_waits_for_and_who_has_it() {
    let sandbox = Sandbox::new();
    sandbox.file("first.md", plan("first", "out/x", "touch on; until [ -e go ]; do sleep 0.01; done"));
    sandbox.file("second.md", plan("second", "out/x", "true"));
    let first = sandbox.start(&["run", "first.md"]);
    until("the step runs", || sandbox.at("on").exists());
    let second = sandbox.start(&["run", "second.md"]);
    let waits = "waits for out/x, which step a of run";
    until("the second is in the queue", || sandbox.wf(&["queue", "list"]).out.contains(waits));
    sandbox.file("go", "");
    assert!(first.wait_with_output().unwrap().status.success());
    let output = second.wait_with_output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("a · out/x, which step a of run ") && told.contains(" writes"), "{told}");
    sandbox.wf(&["queue", "list"]).exits(0).says("nothing is waiting");
}

#[test]
fn nested_runs_take_turns_and_wait_for_no_step_above_them() {
    let sandbox = Sandbox::new();
    sandbox.file("out/n.txt", "0\n").file("add.md", plan("add", "out/n.txt", ADD_ONE));
    let outer = "---\nkind: plan\nid: outer\nsteps:\n  - {id: one, uses: add.md}\n  - {id: two, uses: add.md}\n\
                 \x20 - {id: three, uses: add.md, writes: [out], queue_timeout: 30s}\n---\n";
    sandbox.file("outer.md", outer);
    sandbox.wf(&["run", "outer.md"]).exits(0);
    assert_eq!(sandbox.read("out/n.txt"), "3\n");
}
