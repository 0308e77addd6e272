//! What another way executes is approved with the plan.

use super::{BUILD, plan};
use crate::{decisions::last, support::Office};

#[test]
fn what_an_alternative_executes_is_approved_with_the_plan() {
    let office = Office::new(1, &["ada", "bob"], &["ada", "bob"]);
    let steps = BUILD.replace("run: \"echo other >> ran.txt; echo right > out.txt\"", "exec: [sh, other.sh]");
    office.place.file("plan.md", plan("", &steps));
    office.place.file("other.sh", "echo other >> ran.txt; echo right > out.txt\n");
    let often = ["approve", "plan.md", "--executions", "9", "--yes"];
    office.by("ada", &often).exits(0);
    office.by("bob", &["run", "plan.md"]).exits(0);
    let run = last(&office.place);
    office.by("bob", &["show", &run]).says("build: `other`");
    office.place.file("other.sh", "echo evil >> ran.txt; echo right > out.txt\n");
    office.by("bob", &["run", "plan.md"]).exits(4).says("other.sh");
    assert!(!office.place.read("ran.txt").contains("evil"));
}

#[test]
fn a_script_of_an_alternative_that_is_swapped_while_it_runs_is_not_executed() {
    let office = Office::new(1, &["ada", "bob"], &["ada", "bob"]);
    let steps = BUILD.replace("run: \"echo other >> ran.txt; echo right > out.txt\"", "exec: [sh, other.sh]");
    let steps =
        steps.replace("echo wrong > out.txt", "echo wrong > out.txt; echo 'echo evil >> ran.txt' > other.sh");
    office.place.file("plan.md", plan("", &steps));
    office.place.file("other.sh", "echo right > out.txt\n");
    office.by("ada", &["approve", "plan.md", "--yes"]).exits(0);
    office.by("bob", &["run", "plan.md"]).exits(1);
    assert!(!office.place.read("ran.txt").contains("evil"));
}
