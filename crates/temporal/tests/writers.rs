//! Steps that write the same file at the same time, on several hosts.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::farm::Farm;

/// Steps on each of two workers. `after` lets them write, and outlasts them: what a worker finds changed while several of
/// its steps are under way, it reports with each of them.
const SAME: &str = r"policy: {max_parallel: 20, on_failure: continue}
steps:
  - {id: one, runs_on: w1, for_each: [1, 2, 3, 4, 5, 6], run: WRITE}
  - {id: two, runs_on: w2, for_each: [7, 8, 9, 10, 11, 12], run: WRITE}
  - {id: other, run: echo other > other.txt}
  - {id: after, depends_on: [other], run: pwd > MARKS/after; sleep 3; cat other.txt}";

const WRITE: &str = r#"'pwd > "MARKS/$WF_ITEM"; until [ "$(ls MARKS | wc -l)" = 13 ]; do sleep 0.05; done; echo "$WF_ITEM" > same.txt'"#;

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn of_those_that_write_a_file_at_once_some_fail_and_the_others_go_on() {
    let farm = Farm::new(2);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    farm.plan("same", &SAME.replace("WRITE", WRITE).replace("MARKS", marks.to_str().unwrap()));
    let told = "another step changed `same.txt` at the same time";
    farm.wf(&["run", "--on", "farm", "same.md"]).exits(1).says(told);
    let hosts: BTreeSet<String> = std::fs::read_dir(&marks)
        .unwrap()
        .map(|mark| std::fs::read_to_string(mark.unwrap().path()).unwrap())
        .collect();
    assert_eq!(hosts.len(), 2, "both workers have some");
    let shown = farm.show();
    let steps = shown["steps"].as_array().unwrap();
    let of = |id: &str, state: &str| {
        let is_it = |step: &&Value| step["step"] == id && step["state"] == state;
        steps.iter().filter(is_it).count()
    };
    let items = |state: &str| {
        let is_it = |step: &&Value| !step["item"].is_null() && step["state"] == state;
        steps.iter().filter(is_it).count()
    };
    assert!(items("succeeded") > 0, "{shown}");
    assert!(items("failed") > 0, "{shown}");
    assert_eq!(items("succeeded") + items("failed"), 12, "{shown}");
    assert_eq!([of("other", "succeeded"), of("after", "succeeded")], [1, 1], "{shown}");
}
