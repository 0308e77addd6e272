//! Runs that repeat others, on a backend or here: what succeeded is reused wherever it was done.

use std::process::Command;

use crate::{
    farm::Farm,
    programs::{Did, program},
};

/// A plan whose second step needs the artifact of the first, and fails at first.
const PLAN: &str = r#"steps:
  - {id: made, run: 'echo x >> "MARKS/made"; mkdir -p out; echo made > out/made.txt; echo n=3 >> "$WF_OUTPUT"', artifacts: [out/made.txt], outputs: {n: {type: integer}}}
  - {id: used, depends_on: [made], exec: [sh, -c, 'cat out/made.txt; test "$0" = 3; test -e "MARKS/ok"', "{{ steps.made.outputs.n }}"]}"#;

/// A farm with a run of the plan that failed, here or on the backend. Git ignores the artifact.
fn failed(run: &[&str]) -> Farm {
    let farm = Farm::new(2);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    farm.plan("made", &PLAN.replace("MARKS", marks.to_str().unwrap()));
    farm.file(".gitignore", "out/\n.wf/\n");
    let mut git: Command = program("git", &farm.path("space"), &farm.path("home"));
    Did::of(git.args(["init", "--quiet"])).exits(0);
    farm.wf(run).exits(1);
    farm.file("../marks/ok", "");
    farm
}

/// Asserts that the latest run reused the first step.
fn assert_reused(farm: &Farm) {
    assert_eq!(std::fs::read_to_string(farm.path("marks/made")).unwrap(), "x\n", "it was made once");
    let run = farm.run();
    assert_eq!(farm.count(&run, "step_reused", Some("made")), 1);
    assert_eq!(farm.count(&run, "attempt_started", None), 1);
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_on_a_backend_is_retried_there() {
    let farm = failed(&["run", "--on", "farm", "made.md"]);
    farm.wf(&["retry", "--last", "--on", "farm"]).exits(0);
    assert_reused(&farm);
    farm.wf(&["retry", "--last", "--on", "farm"]).exits(0).says("nothing to run again");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_from_here_is_retried_on_a_backend() {
    let farm = failed(&["run", "made.md"]);
    farm.wf(&["retry", "--last", "--on", "farm"]).exits(0);
    assert_reused(&farm);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_run_on_a_backend_is_retried_here_if_nothing_else_is_said() {
    let farm = failed(&["run", "--on", "farm", "made.md"]);
    farm.wf(&["retry", "--last"]).exits(0).says("it runs here");
    assert_reused(&farm);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_retry_whose_command_is_killed_as_it_begins_reuses_what_it_would_have() {
    let farm = failed(&["run", "--on", "farm", "made.md"]);
    let old = farm.run();
    let mut point = 0;
    // It is recorded, and was not started.
    while farm.run() == old {
        point += 1;
        let mut command = farm.command(&["retry", &old, "--on", "farm"]);
        Did::of(command.env("WF_CRASH", format!("engine:{point}")));
    }
    let run = farm.run();
    let listed = farm.server.temporal(&["workflow", "describe", "--workflow-id", &run]);
    assert!(listed.all().contains("not found"), "{}", listed.all());
    farm.wf(&["resume", &run]).exits(0);
    assert_reused(&farm);
}
