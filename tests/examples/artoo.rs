//! The pack of artoo: a request, a plan by a model that is refused by a judge, and another round that holds.

use crate::support::Sandbox;

fn pack() -> Sandbox {
    super::pack("artoo")
}

#[test]
fn a_request_is_planned_judged_and_planned_again() {
    let place = pack();
    let request = "request=Which text is the longest, and how long is it?";
    let ran = super::with_wf(&place, &["run", "ask.md", "-p", request]).exits(0);
    let ran = ran.says("check does_what_was_asked failed").says("proposed attempt: `counted`");
    ran.says("accept · all checks pass (D = 0)");
    assert_eq!(place.read("out/answer.md"), "texts/wheat.txt is the longest: 3 lines.\n");
    let shown = place.wf(&["show", "--last"]).exits(0);
    // Perceiver 1, planner 1 and 2, executors 3 and 3, judge 1 and 1, planner of the round 1.
    shown.says("agents with recorded: 10 calls").says("13 calls in sequence");
    // How long the rounds took is not the same again.
    std::fs::remove_dir_all(place.at("out")).expect("it is there");
    super::with_wf(&place, &["replay", "--last"]).exits(0);
}

/// The model plans by what it is told: it counts at once only if memory tells it what worked.
#[test]
fn the_demo_needs_fewer_rounds_once_memory_tells_what_worked() {
    let place = pack();
    let rounds = |request: &str| {
        super::with_wf(&place, &["run", "ask.md", "-p", &format!("request={request}")]).exits(0);
        let shown: serde_json::Value =
            serde_json::from_str(&place.wf(&["show", "--last", "--json"]).exits(0).out).unwrap();
        assert_eq!(place.read("out/answer.md"), "texts/wheat.txt is the longest: 3 lines.\n");
        std::fs::remove_file(place.at("out/answer.md")).unwrap();
        shown["rounds"].as_array().map(Vec::len)
    };
    let demo = "Which text is the longest, and how long is it?";
    assert_eq!([1, 2, 3, 4].map(|_| rounds(demo)), [Some(2), Some(1), Some(1), Some(1)]);
    // What was done is known, and not what the planner called it.
    let known = place.wf(&["memory", "query"]).exits(0);
    assert!(!known.out.contains("count:lines"), "{}", known.out);
    known.says("tool:agent:executor+agent:planner+run:grep+run:sort+run:wc");
    let listed = place.wf(&["memory", "list", "--json"]).exits(0);
    listed.says("it called agent:executor, agent:planner; does_what_was_asked failed");
    // Another request that shares words is told nothing of it, and comes to its end.
    assert_eq!(rounds("Which text is the longest by its lines, and how long is it?"), Some(2));
}

#[test]
fn goals_dream_and_report_at_their_slots() {
    let place = pack();
    // They hardly fade, whatever the time is.
    let fact = |hour: u32| {
        format!(
            r#"{{"created":"2026-11-20T{hour:02}:30:00Z","space":"tool:curl","entity":"path:api.example","content":"answered 503","state":"change_approach","k":0.000001}}"#
        )
    };
    place.remember((0..8).map(|hour| fact(hour) + "\n").collect::<String>());
    for goal in ["dream", "audit-report"] {
        super::with_wf(&place, &["goal", "accept", goal, "--yes"]).exits(0);
        super::with_wf(&place, &["goal", "run", goal]).exits(0).says(&format!("{goal} is reported"));
    }
    place.wf(&["memory", "list"]).exits(0).says("common_sense");
    assert!(place.read("out/audit.txt").contains("runs"));
}

#[test]
fn the_recording_is_repeated_without_a_model() {
    let place = pack();
    place.file("replies.yaml", "[]\n");
    super::with_wf(&place, &["replay", "tape"]).exits(0).says("no difference");
    // Another prompt is another question.
    place.file(
        "attempt.md",
        place.read("attempt.md").replace("a plan that rests on a guess fails", "do not guess"),
    );
    super::with_wf(&place, &["replay", "tape"]).exits(1).says("has no reply to this request");
}

#[test]
fn a_plan_of_the_model_that_reaches_further_does_not_begin() {
    let place = pack();
    let replies = place.read("replies.yaml").replace("allow: {write: [out]}", "allow: {write: [.]}");
    place.file("replies.yaml", replies);
    super::with_wf(&place, &["run", "ask.md", "-p", "request=Which text is the longest?"])
        .exits(1)
        .says("error[plan/outside-envelope]: step `answer` may write `.`");
    assert!(!place.at("out/answer.md").exists());
}

#[test]
fn a_plan_that_failed_before_is_refused_and_another_one_is_written() {
    let place = pack();
    // Told to count, the planner repeats its estimate first.
    let replies =
        place.read("replies.yaml").replace("- when: MUST NOT estimate", "- when: this very plan failed");
    place.file("replies.yaml", replies);
    let request = "request=Which text is the longest, and how long is it?";
    let ran = super::with_wf(&place, &["run", "ask.md", "-p", request]).exits(0);
    ran.says("attempt/plan · attempt 2").says("check `is_new`").says("accept · all checks pass (D = 0)");
    assert_eq!(place.read("out/answer.md"), "texts/wheat.txt is the longest: 3 lines.\n");
}

#[test]
fn the_planner_is_told_what_memory_knows_before_its_first_plan() {
    let place = pack();
    let run = |request: &str| super::with_wf(&place, &["run", "ask.md", "-p", &format!("request={request}")]);
    run("Which text is the longest, and how long is it?").exits(0);
    place.wf(&["memory", "query"]).exits(0).says("tool:approach:first").says("intent:which_text_is");
    let replies = place.read("replies.yaml");
    let first = "- when: Write a plan that does the task\n  replies:\n    - ";
    let told =
        "expect: {contains: 'MUST NOT use the tool `approach:first`: step `attempt` of ask failed'}\n      ";
    assert!(replies.contains(first), "{replies}");
    place.file("replies.yaml", replies.replace(first, &format!("{first}{told}")));
    run("Which text is the longest, and how long is it?").exits(0);
    // Another one, though it begins with the same words, is told nothing of it: else the planner would answer with no plan.
    let silent = "- when: MUST NOT use the tool\n  replies: [{text: I was told.}]\n";
    place.file("replies.yaml", format!("{silent}{replies}"));
    run("Which text is the shortest, and how long is it?").exits(0);
}
