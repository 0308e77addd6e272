//! The written rules, one by one, over small plans: failures, conditions, retries.

use std::time::Duration;

use wf_core::machine::WorkExit;
use wf_model::{FailureClass, OnStepError, OnStepFailure, RetryPolicy};

use super::{
    play::{expr, play},
    world::check,
};

#[test]
fn dependants_of_a_failed_step_are_skipped_and_the_rest_goes_on() {
    let told = play(&["a", "b < a", "c < b", "d"], OnStepFailure::Continue, |_| {}).fails("a", 1).told();
    assert_eq!(
        told,
        [
            "a failed unchecked: exit code 1",
            "b skipped unchecked: dependency `a` failed",
            "c skipped unchecked: dependency `b` was skipped",
            "d succeeded reported",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn stop_lets_what_runs_end_and_begins_nothing() {
    let told = play(&["a", "b", "c < b"], OnStepFailure::Stop, |_| {}).fails("a", 1).told();
    assert_eq!(
        told,
        [
            "a failed unchecked: exit code 1",
            "c skipped unchecked: not started: `a` failed",
            "b succeeded reported",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn a_false_condition_skips_and_always_works_transitively() {
    let told = play(&["a", "b < a", "c < b", "d < c"], OnStepFailure::Stop, |steps| {
        steps[0].when = Some(expr("params.region == 'us'").into());
        steps[2].when = Some(expr("always()").into());
    })
    .told();
    assert_eq!(
        told,
        [
            "a skipped unchecked: condition is false: params.region == 'us'",
            "b skipped unchecked: dependency `a` was skipped",
            "c succeeded reported",
            "d succeeded reported",
            "run succeeded reported",
        ]
    );
}

#[test]
fn a_step_that_asks_for_a_failure_survives_the_stop() {
    let told = play(&["a", "repair < a", "other < a", "last"], OnStepFailure::Stop, |steps| {
        steps[1].when = Some(expr("failed('a')").into());
        steps[3].when = Some(expr("failed()").into());
    })
    .fails("a", 1)
    .told();
    assert_eq!(
        told,
        [
            "a failed unchecked: exit code 1",
            "other skipped unchecked: not started: `a` failed",
            "repair succeeded reported",
            "last succeeded reported",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn what_runs_is_ended_by_a_failure_and_says_so() {
    let hour = std::time::Duration::from_hours(1);
    let told = play(&["b", "a", "c < b"], OnStepFailure::Cancel, |steps| {
        steps[0].work = wf_model::StepWork::Wait(wf_model::WaitCondition::For(hour));
    })
    .fails("a", 1)
    .told();
    assert_eq!(
        told,
        [
            "a failed unchecked: exit code 1",
            "c skipped unchecked: not started: `a` failed",
            "b cancelled unchecked: `a` failed",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn a_tolerated_failure_is_shown_and_stops_nothing() {
    let told = play(&["a", "b < a"], OnStepFailure::Stop, |steps| {
        steps[0].on_error = OnStepError::Continue;
    })
    .fails("a", 1)
    .told();
    assert_eq!(
        told,
        ["a failed unchecked tolerated: exit code 1", "b succeeded reported", "run succeeded reported",]
    );
}

#[test]
fn only_checks_verify_and_a_refuted_claim_is_tried_again() {
    let mut play = play(&["a"], OnStepFailure::Stop, |steps| {
        steps[0].verify = vec![check("good")];
        steps[0].retry =
            RetryPolicy { max: 1, backoff: Duration::from_secs(2), ..RetryPolicy::default() }.into();
    });
    play.refute = vec!["a"];
    assert_eq!(play.told(), ["a#2 at 2000", "a succeeded verified", "run succeeded verified"]);
}

#[test]
fn retries_wait_longer_each_time_and_only_for_their_classes() {
    let mut start = play(&["a"], OnStepFailure::Stop, |steps| {
        let on = vec![FailureClass::Environmental];
        steps[0].retry =
            RetryPolicy { max: 5, backoff: Duration::from_secs(1), on, ..RetryPolicy::default() }.into();
    });
    let (signal, wrong) = (WorkExit::Signal { signal: 9 }, WorkExit::Code { code: 1 });
    start.exits.insert("a", vec![signal.clone(), WorkExit::TimedOut, WorkExit::Code { code: 127 }, wrong]);
    assert_eq!(
        start.told(),
        [
            "a#2 at 1000",
            "a#3 at 3000",
            "a#4 at 7000",
            "a failed unchecked: exit code 1",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn the_first_dependency_that_failed_is_named_and_the_stop_told_once() {
    let told =
        play(&["a", "b", "c < a b"], OnStepFailure::Continue, |_| {}).fails("a", 1).fails("b", 1).told();
    assert!(told.contains(&"c skipped unchecked: dependency `a` failed".into()));
    let told = play(&["a", "b", "later < a b"], OnStepFailure::Stop, |steps| {
        steps[2].when = Some(expr("always()").into());
        steps[2].on_error = OnStepError::Continue;
    })
    .fails("a", 1)
    .fails("b", 1)
    .told();
    assert_eq!(told.last().unwrap(), "run failed unchecked: step `a` failed");
}

#[test]
fn a_run_in_which_nothing_ran_is_not_verified() {
    let told = play(&["a"], OnStepFailure::Stop, |steps| {
        steps[0].when = Some(expr("params.region == 'us'").into());
    })
    .told();
    assert_eq!(told.last().unwrap(), "run succeeded reported");
}
