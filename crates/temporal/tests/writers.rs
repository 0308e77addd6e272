//! Steps that write the same file at the same time, each on a host of its own.

use crate::farm::Farm;

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn of_two_that_write_a_file_at_once_one_fails_and_the_others_go_on() {
    let farm = Farm::new(2);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    let rest = r#"policy: {max_parallel: 4, on_failure: continue}
steps:
  - id: one
    run: touch MARKS/one; until [ -e MARKS/two ]; do sleep 0.05; done; echo one > same.txt; echo 1 > one.txt
  - id: two
    run: touch MARKS/two; until [ -e MARKS/one ]; do sleep 0.05; done; echo two > same.txt; echo 2 > two.txt
  - {id: other, run: echo other > other.txt}
  - {id: after, depends_on: [other], run: cat other.txt}"#;
    farm.plan("same", &rest.replace("MARKS", marks.to_str().unwrap()));
    farm.wf(&["run", "--on", "farm", "same.md"]).exits(1).says("same.txt");
    let shown = farm.show();
    let state = |id: &str| {
        let steps = shown["steps"].as_array().unwrap();
        steps.iter().find(|step| step["step"] == id).unwrap()["state"].as_str().unwrap().to_owned()
    };
    let mut both = [state("one"), state("two")];
    both.sort();
    assert_eq!(both, ["failed", "succeeded"], "{shown}");
    assert_eq!([state("other"), state("after")], ["succeeded", "succeeded"]);
}
