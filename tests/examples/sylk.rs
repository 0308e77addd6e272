//! The pack of Sylk: tasks that are inspected and tested, a session that appends fixes, routes, answers and handoffs.

mod stopped;

use std::path::Path;

use crate::support::{Did, Sandbox};

const LIMIT: [&str; 4] = ["-p", "task=Refuse the request after the limit.", "-p", "tests=limit"];
const NOTHING: [&str; 4] = ["-p", "task=Change nothing.", "-p", "tests=limit"];

fn pack() -> Sandbox {
    super::pack("sylk")
}

fn run(place: &Sandbox, plan: &str, params: &[&str]) -> Did {
    super::with_wf(place, &[&["run", plan], params].concat())
}

#[test]
fn a_task_is_sent_back_by_its_inspection_and_by_its_tests() {
    let place = pack();
    let ran = run(&place, "task.md", &LIMIT).exits(0);
    ran.says("inspect 1/3").says("check `format`").says("test 1/3").says("check `tests_of_the_task`");
    place.wf(&["show", "--last"]).exits(0).says("1 plausible");
    assert!(place.read("repo/limiter.py").contains(">= self.limit"));
    // A replay begins with the files as they were.
    super::fix_test::copy(Path::new("workflows/sylk"), Path::new(""), &place);
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
    place.wf(&["resume", "--last"]).exits(0).says("succeeded · 1 reported · ");

    run(&place, "task.md", &NOTHING).exits(5);
    place.wf(&["deny", "--last", "--reason", "the test is right", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).exits(1).says("the test is right");
}

#[test]
fn an_engineer_asks_what_the_task_leaves_open() {
    let place = pack();
    let asked =
        run(&place, "task.md", &["-p", "task=Make it faster or smaller.", "-p", "tests=window"]).exits(5);
    asked.says("Faster, or smaller?");
    place.wf(&["answer", "--last", "--text", "smaller", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).says("answered");
}

#[test]
fn a_feature_is_a_dag_of_tasks() {
    let place = pack();
    run(&place, "feature.md", &[]).exits(0).says("succeeded · 2 plausible");
}

#[test]
fn the_architect_plans_and_appends_what_the_tests_of_the_whole_find() {
    let place = pack();
    run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(5).says("Do this?");
    place.wf(&["approve", "--last", "--yes"]).exits(0);
    let ran = place.wf(&["resume", "--last"]).exits(0);
    let ran = ran.says("check all_tests failed").says("proposed fixes: `window`").says("fixes/window/work");
    ran.says("accept · all checks pass");
}

#[test]
fn a_plan_that_was_refused_by_people_does_not_begin() {
    let place = pack();
    let before = place.read("repo/limiter.py");
    run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(5);
    place.wf(&["deny", "--last", "--reason", "not now", "--yes"]).exits(0);
    place
        .wf(&["resume", "--last"])
        .exits(1)
        .says("not now")
        .says("no round asks again: `approved` was not approved");
    assert_eq!(place.read("repo/limiter.py"), before);
}

#[test]
fn a_plan_of_the_architect_uses_tasks_and_nothing_else() {
    let place = pack();
    let replies = place.read("replies.yaml");
    let asked = "- when: Plan the request under Values\n";
    let (before, good) = replies.split_once(asked).expect("the architect has a reply");
    let (good, after) = good.split_once("# The librarian").expect("others follow");
    let wide = good.replace("{id: limit, uses: task.md", "{id: limit, uses: route.md");
    assert_ne!(wide, good);
    // It is mended before a person is asked.
    let mended = format!("- when: route.md\n{good}");
    place.file("replies.yaml", format!("{mended}{before}{asked}{wide}# The librarian{after}"));
    let ran = run(&place, "plan.md", &["-p", "request=Limit requests."]).exits(5);
    ran.says("design · attempt 2").says("check `is_a_plan`").says("one task");
}

fn routed(place: &Sandbox, question: &str) -> Did {
    run(place, "route.md", &["-p", &format!("question={question}")])
}

/// What the step `classify` of the last run logged.
fn classified(place: &Sandbox) -> String {
    place.wf(&["logs", "--last", "classify"]).exits(0).all()
}

#[test]
fn a_question_is_routed_by_rule_then_from_the_cache_then_by_a_model() {
    let place = pack();
    routed(&place, "Where is the limiter?").exits(0).says("code/answer");
    place
        .wf(&["logs", "--last", "classify"])
        .exits(0)
        .says("[answered by gate] rules")
        .says("\"the_limiter\"");
    // A quote that is not in the file was sent back.
    place.wf(&["show", "--last"]).exits(0).says("1 verified");

    let asked = "What is the strategy against bursts?".to_lowercase();
    routed(&place, &asked).exits(0).says("keep");
    assert!(!classified(&place).contains("answered by gate"));
    routed(&place, &asked).exits(0);
    place.wf(&["logs", "--last", "classify"]).exits(0).says("[answered by gate] cache").says("\"cache\"");

    // What the model is not sure of is not kept.
    for _ in 0..2 {
        routed(&place, "something with limits").exits(0);
        assert!(!classified(&place).contains("answered by gate"));
    }
}

#[test]
fn a_question_about_what_was_done_is_answered_from_memory() {
    let place = pack();
    place.wf(&["memory", "add", "limits are counted for a minute"]).exits(0);
    routed(&place, "What changed recently?").exits(0).says("history/answer");
    place.wf(&["logs", "--last", "history/answer"]).exits(0).says("counted for a minute");
}

#[test]
fn a_configured_tool_is_used_and_another_one_is_chosen_by_a_person_and_remembered() {
    let place = pack();
    run(&place, "discover-tools.md", &["-p", "category=linter"]).exits(5).says("Which linter?");
    place.wf(&["answer", "--last", "--text", "ruff", "--yes"]).exits(0);
    place.wf(&["resume", "--last"]).exits(0);
    place.wf(&["memory", "search", "linter"]).exits(0).says("The linter of this repository is ruff.");

    place.file("repo/ruff.toml", "");
    run(&place, "discover-tools.md", &["-p", "category=linter"]).exits(0).says("1 skipped");
}

#[test]
fn a_handoff_ends_in_a_task_that_is_inspected_and_tested() {
    let place = pack();
    let params = ["-p", "task=Refuse requests.", "-p", "tests=limit"];
    run(&place, "handoff.md", &params).exits(0).says("test 1/3").says("1 plausible, 2 reported");
    place.wf(&["memory", "search", "handed"]).exits(0).says("was handed on");
}

#[test]
fn the_recording_of_a_session_is_repeated_with_the_answers_of_people() {
    let place = pack();
    place.file("replies.yaml", "[]\n");
    super::with_wf(&place, &["replay", "tape", "--answers"]).exits(0).says("no difference");
    // Nobody is asked, and so nothing is done.
    super::with_wf(&place, &["replay", "tape"]).exits(1).says("--answers gives what they answered");
    // Other tests are other findings.
    place.file(
        "repo/tests/test_window.py",
        place.read("repo/tests/test_window.py").replace("allow(60)", "allow(61)"),
    );
    super::with_wf(&place, &["replay", "tape", "--answers"]).exits(1).says("differs at event");
}
