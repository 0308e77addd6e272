//! The pack of Sylk: tasks that are inspected and tested, a session that appends fixes, routes, answers and handoffs.

use std::path::Path;

use crate::support::Sandbox;

const LIMIT: [&str; 4] = ["-p", "task=Refuse the request after the limit.", "-p", "tests=limit"];
const NOTHING: [&str; 4] = ["-p", "task=Change nothing.", "-p", "tests=limit"];

fn pack() -> Sandbox {
    let place = Sandbox::new();
    super::fix_test::copy(Path::new("workflows/sylk"), Path::new(""), &place);
    place
}

fn run(place: &Sandbox, plan: &str, params: &[&str]) -> crate::support::Did {
    place.wf(&[&["run", plan], params].concat())
}

#[test]
fn a_task_is_sent_back_by_its_inspection_and_by_its_tests() {
    let place = pack();
    let ran = run(&place, "task.md", &LIMIT).exits(0);
    ran.says("inspect 1/3").says("check `format`").says("test 1/3").says("check `tests_of_the_task`");
    place.wf(&["show", "--last"]).exits(0).says("1 verified");
    assert!(place.read("repo/limiter.py").contains(">= self.limit"));
    place.wf(&["replay", "--last"]).exits(0);
}

#[test]
fn after_three_loops_a_person_decides_and_a_pass_by_them_is_not_verified() {
    let place = pack();
    let asked = run(&place, "task.md", &NOTHING).exits(5);
    asked.says("test 3/3").says("ignore `test`?");
    // The engineer tried to change the test.
    assert!(place.read("repo/tests/test_limit.py").contains("[True, True, False]"));
    place.wf(&["approve", "--last", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).exits(0).says("1 reported").lacks("1 verified");

    run(&place, "task.md", &NOTHING).exits(5);
    place.wf(&["deny", "--last", "--reason", "the test is right"]).exits(0);
    place.wf(&["resume", "--last"]).exits(1).says("the test is right");
}

#[test]
fn an_engineer_asks_what_the_task_leaves_open() {
    let place = pack();
    let asked = run(&place, "task.md", &["-p", "task=Make it faster or smaller.", "-p", "tests=window"]).exits(5);
    asked.says("Faster, or smaller?");
    place.wf(&["answer", "--last", "--text", "smaller", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).says("answered");
}

#[test]
fn a_feature_is_a_dag_of_tasks() {
    let place = pack();
    run(&place, "feature.md", &[]).exits(0).says("succeeded · 2 verified");
}

#[test]
fn the_architect_plans_and_appends_what_the_tests_of_the_whole_find() {
    let place = pack();
    run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(5).says("Do this?");
    place.wf(&["approve", "--last", "--yes"]).exits(0);
    let ran = place.wf(&["resume", "--last"]).exits(0);
    ran.says("check all_tests failed").says("proposed fixes: `window`").says("fixes/window/work");
    ran.says("accept · all checks pass");
}

#[test]
fn a_plan_that_was_refused_by_people_does_not_begin() {
    let place = pack();
    let before = place.read("repo/limiter.py");
    run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(5);
    place.wf(&["deny", "--last", "--reason", "not now"]).exits(0);
    place.wf(&["resume", "--last"]).exits(1).says("not now");
    assert_eq!(place.read("repo/limiter.py"), before);
}

#[test]
fn a_plan_of_the_architect_uses_tasks_and_nothing_else() {
    let place = pack();
    let replies = place.read("replies.yaml").replace("kind: dag\\nid: feature\\nnodes:\\n  - {id: limit, uses: task.md", "kind: dag\\nid: feature\\nnodes:\\n  - {id: limit, uses: route.md");
    place.file("replies.yaml", replies);
    run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(5);
    place.wf(&["approve", "--last", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).says("the generated plan was refused").says("route.md");
}
