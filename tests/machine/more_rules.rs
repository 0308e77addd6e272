//! The written rules, one by one, over small plans: lists, outputs, ends, time, reuse.

use std::time::Duration;

use serde_json::{Value, json};
use wf_core::machine::{Effect, InputKind, ReusedResult, Standing};
use wf_model::{
    JsonObject, OnStepFailure, Plan, PlanParts, PlanPolicy, StepCache, StepRepetition, StepWork,
    WaitCondition,
};

use super::{
    play::{Play, any, expr, list, output, play, policy, steps},
    world::{check, plan_with, run_id},
};

#[test]
fn a_list_known_only_at_run_time_fans_out_and_gathers_in_order() {
    let told = play(&["list", "each < list", "sum < each"], OnStepFailure::Stop, |steps| {
        steps[1].fan = StepRepetition::Each(expr("steps.list.outputs.files"));
        steps[1].outputs = vec![output("rows")];
        steps[0].outputs = vec![list("files")];
    })
    .gives("list", json!({ "files": ["x", "y"] }))
    .gives("each", json!({ "rows": 3 }))
    .told();
    assert_eq!(
        told,
        [
            "list succeeded reported",
            "each[0] succeeded reported",
            "each[1] succeeded reported",
            "each succeeded reported {\"rows\":[3,3]}",
            "sum succeeded reported",
            "run succeeded reported",
        ]
    );
}

#[test]
fn an_empty_list_succeeds_and_no_list_fails() {
    let plan = |value: Value| {
        play(&["list", "each < list"], OnStepFailure::Stop, |steps| {
            steps[0].outputs = vec![any("files")];
            steps[1].fan = StepRepetition::Each(expr("steps.list.outputs.files"));
        })
        .gives("list", json!({ "files": value }))
        .told()
    };
    assert_eq!(plan(json!([]))[1], "each succeeded reported");
    assert_eq!(
        plan(json!(7))[1],
        "each failed unchecked: `for_each: steps.list.outputs.files` evaluates to 7, not a list"
    );
}

#[test]
fn failed_items_fail_their_step_by_name() {
    let told = play(&["each"], OnStepFailure::Continue, |steps| {
        steps[0].fan = StepRepetition::List(vec![json!("x"), json!("y"), json!("y")]);
    })
    .fails("each", 2)
    .told();
    assert_eq!(told[3], "each failed unchecked: 2 of 3 items failed, first `x`");
}

#[test]
fn an_output_that_is_missing_or_wrong_fails_the_attempt() {
    let plan = |given: Value| {
        play(&["a"], OnStepFailure::Stop, |steps| {
            steps[0].outputs = vec![output("rows")];
        })
        .gives("a", given)
        .told()
        .remove(0)
    };
    assert_eq!(plan(json!({ "rows": 1 })), "a succeeded reported");
    assert_eq!(plan(json!({})), "a failed unchecked: output `rows` is missing");
    assert!(plan(json!({ "rows": "many" })).starts_with("a failed unchecked: output `rows`: "));
}

#[test]
fn cancelling_ends_what_runs_and_still_cleans_up() {
    let mut play = play(&["a", "b < a", "last"], OnStepFailure::Stop, |_| {});
    play.cancel_at = Some("a");
    assert_eq!(
        play.told(),
        [
            "b cancelled unchecked: told to",
            "a cancelled unchecked: told to",
            "last succeeded reported",
            "run cancelled unchecked: told to",
        ]
    );
}

#[test]
fn finally_steps_run_one_after_the_other_and_their_failure_shows() {
    let told = play(&["a", "last_a", "last_b"], OnStepFailure::Stop, |_| {}).fails("last_a", 1).told();
    assert_eq!(
        told,
        [
            "a succeeded reported",
            "last_a failed unchecked: exit code 1",
            "last_b succeeded reported",
            "run failed unchecked: step `last_a` failed",
        ]
    );
}

#[test]
fn a_plan_is_refuted_by_its_own_criteria() {
    let plan = plan_with(steps(&["a"]), 1, policy(OnStepFailure::Stop), vec![check("good")]);
    let mut play = Play::new(plan);
    play.refute = vec!["plan"];
    assert_eq!(play.told().last().unwrap(), "run failed refuted: plan checks failed: good");
}

#[test]
fn a_cached_result_is_checked_again_and_replaced_if_refuted() {
    let plan = || {
        let mut play = play(&["a"], OnStepFailure::Stop, |steps| {
            steps[0].cache = Some(Box::new(StepCache { inputs: vec![], outputs: vec![] }));
            steps[0].verify = vec![check("good")];
        });
        play.cached = Some(JsonObject::new());
        play
    };
    assert_eq!(plan().told()[0], "a succeeded verified cached");
    let mut refuted = plan();
    refuted.refute = vec!["a"];
    // The check refutes attempt 0, which is the cached one, and attempt 1, which is real.
    assert!(refuted.told()[0].starts_with("a failed refuted"));
}

#[test]
fn waits_take_no_room_and_end_on_time() {
    let mut steps = steps(&["w1", "w2", "w3"]);
    for (at, step) in steps.iter_mut().enumerate() {
        step.work = StepWork::Wait(WaitCondition::For(Duration::from_secs(at as u64 + 1)));
    }
    steps[2].timeout = Some(Duration::from_millis(500));
    let policy = PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Continue, grace: Duration::ZERO };
    let told = Play::new(plan_with(steps, 3, policy, Vec::new())).told();
    assert_eq!(
        told,
        [
            "w3 failed unchecked: timed out after 0.5s",
            "w1 succeeded reported",
            "w2 succeeded reported",
            "run failed unchecked: step `w3` failed",
        ]
    );
}

#[test]
fn a_place_that_waits_too_long_for_its_turn_fails() {
    let mut steps = steps(&["a", "b"]);
    steps[1].queue_timeout = Some(Duration::from_secs(5));
    let policy = PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Continue, grace: Duration::ZERO };
    let mut play = Play::new(plan_with(steps, 2, policy, Vec::new()));
    let mut open = play.feed(InputKind::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    let wake = open.iter().position(|e| matches!(e, Effect::Wake { .. })).unwrap();
    let more = {
        let effect = open.remove(wake);
        play.answer(effect)
    };
    open.extend(more);
    play.run(&mut open);
    assert_eq!(play.told[0], "b failed unchecked: waited longer than 5s in the queue");
}

#[test]
fn kept_results_are_not_made_again() {
    let plan = plan_with(steps(&["a", "b < a"]), 2, policy(OnStepFailure::Stop), Vec::new());
    let mut play = Play::new(plan);
    let kept = ReusedResult {
        item: None,
        item_digest: None,
        step: super::world::name("a"),
        outputs: JsonObject::new(),
        standing: Standing::Verified,
        from: run_id(),
        evidence: Vec::new(),
    };
    let mut open = play.feed(InputKind::Begin {
        kept: vec![kept],
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    assert!(matches!(&open[..], [Effect::Start { attempt, .. }] if attempt.task_id.step.as_str() == "b"));
    play.run(&mut open);
    assert_eq!(play.told, ["b succeeded reported", "run succeeded reported"]);
}

#[test]
fn kept_items_are_not_made_again() {
    let mut steps = steps(&["each"]);
    steps[0].fan = StepRepetition::List(vec![json!("x"), json!("y"), json!("z")]);
    steps[0].outputs = vec![output("rows")];
    steps[0].max_parallel = Some(1);
    let plan = plan_with(steps, 1, policy(OnStepFailure::Stop), Vec::new());
    let mut play = Play::new(plan).gives("each", json!({ "rows": 2 }));
    let kept = |key: &str| ReusedResult {
        step: super::world::name("each"),
        item: Some(key.into()),
        item_digest: None,
        outputs: json!({ "rows": 1 }).as_object().cloned().unwrap(),
        standing: Standing::Verified,
        from: run_id(),
        evidence: Vec::new(),
    };
    let kept = vec![kept("x"), kept("z"), kept("gone")];
    let mut open = play.feed(InputKind::Begin {
        kept,
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    play.run(&mut open);
    assert_eq!(
        play.told,
        [
            "each[0] succeeded verified {\"rows\":1}: reused from run 07070707",
            "each[2] succeeded verified {\"rows\":1}: reused from run 07070707",
            "each[1] succeeded reported",
            "each succeeded reported {\"rows\":[1,2,1]}",
            "run succeeded reported",
        ]
    );
}

#[test]
fn a_run_that_took_too_long_has_failed_for_those_who_ask() {
    let mut steps = steps(&["a", "last"]);
    steps[0].work = StepWork::Wait(WaitCondition::For(Duration::from_mins(1)));
    steps[1].when = Some(expr("failed()").into());
    let id = wf_base::name::PlanId::parse("slow").unwrap();
    let parts = PlanParts {
        timeout: Some(Duration::from_secs(5)),
        ..PlanParts::new(id, steps, 1, policy(OnStepFailure::Stop))
    };
    assert_eq!(
        Play::new(Plan::new(parts).unwrap()).told(),
        [
            "a cancelled unchecked: the run exceeded its time limit",
            "last succeeded reported",
            "run failed unchecked: the run exceeded its time limit",
        ]
    );
}
