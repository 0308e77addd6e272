//! What is staged: begun by others in the place of what ended well, and never out of turn.

use std::sync::Arc;
use std::time::Duration;

use wf_core::machine::{Attempt, Effect, EventKind, InputKind, StepState, WorkExit};
use wf_model::{OnStepFailure, Plan, PlanPolicy, Step};

use super::killed::{Killed, attempt, end_of, words};
use super::play::{policy, steps};
use super::world::{ended, plan_with};

const WELL: WorkExit = WorkExit::Code { code: 0 };

/// Steps that need nothing, two at once.
fn fan(ids: &[&str], on_failure: OnStepFailure, change: impl FnOnce(&mut [Step])) -> Arc<Plan> {
    let mut steps = steps(ids);
    change(&mut steps);
    let policy = PlanPolicy { max_parallel: 2, ..policy(on_failure) };
    plan_with(steps, ids.len(), policy, Vec::new())
}

fn began(attempt: Attempt) -> InputKind {
    InputKind::Began { attempt }
}

fn unstaged(attempt: Attempt) -> InputKind {
    InputKind::Unstaged { attempt }
}

/// What was said of a step, fact by fact.
fn said(run: &Killed, step: &str) -> Vec<&'static str> {
    let of_it = |attempt: &Attempt| attempt.place.step.as_str() == step;
    let facts = run.events.iter().filter_map(|event| match &event.fact {
        EventKind::AttemptStaged(attempt) if of_it(attempt) => Some("staged"),
        EventKind::AttemptUnstaged(attempt) if of_it(attempt) => Some("unstaged"),
        EventKind::AttemptStarted(attempt) if of_it(attempt) => Some("started"),
        EventKind::AttemptEnded { attempt, .. } if of_it(attempt) => Some("ended"),
        _ => None,
    });
    facts.collect()
}

/// The steps that a turn stages.
fn stages(effects: &[Effect]) -> Vec<&str> {
    let staged = effects.iter().filter_map(|effect| match effect {
        Effect::Stage { attempt, .. } => Some(attempt.place.step.as_str()),
        _ => None,
    });
    staged.collect()
}

/// The steps that are staged.
fn on_stage(run: &Killed, ids: &[String]) -> usize {
    let is = |id: &&String| said(run, id).last() == Some(&"staged");
    ids.iter().filter(is).count()
}

#[test]
fn at_first_twice_as_many_are_staged_as_may_run_at_once() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut run = Killed::new(fan(&ids, OnStepFailure::Stop, |_| {}));
    for id in ["c", "d", "e", "f"] {
        assert_eq!(said(&run, id), ["staged"], "{id}");
    }
    assert_eq!(said(&run, "g"), Vec::<&str>::new());
    let effects = run.feed(ended(attempt("a", 1), WELL));
    assert_eq!(stages(&effects), ["g"], "one more, since one ended well");
    let effects = run.feed(began(attempt("c", 1)));
    assert_eq!(stages(&effects), ["h"]);
    assert_eq!(said(&run, "c"), ["staged", "started"]);
}

#[test]
fn the_more_end_well_and_soon_the_more_are_staged_until_one_does_not() {
    let ids: Vec<String> = (10..70).map(|at| format!("s{at}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut run = Killed::new(fan(&names, OnStepFailure::Continue, |_| {}));
    for well in 0..30 {
        assert_eq!(on_stage(&run, &ids), 16.min(4 + well), "{well}");
        run.feed(ended(attempt(&ids[well], 1), WELL));
        run.feed(began(attempt(&ids[well + 2], 1)));
    }
    run.feed(ended(attempt(&ids[30], 1), WorkExit::Code { code: 1 }));
    for id in ids.iter().skip(32).take(16) {
        run.feed(unstaged(attempt(id, 1)));
    }
    // They know of the end now, so one of them begins at once.
    assert_eq!(said(&run, &ids[32]), ["staged", "unstaged", "staged"]);
    assert!((1..8).contains(&on_stage(&run, &ids)));
}

#[test]
fn of_attempts_that_take_long_few_are_staged() {
    let ids: Vec<String> = (10..70).map(|at| format!("s{at}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut run = Killed::new(fan(&names, OnStepFailure::Stop, |_| {}));
    for well in 0..20 {
        assert_eq!(on_stage(&run, &ids), 4, "{well}");
        run.now += 1000;
        run.feed(ended(attempt(&ids[well], 1), WELL));
        run.feed(began(attempt(&ids[well + 2], 1)));
    }
}

#[test]
fn what_becomes_ready_does_not_wait_for_what_comes_after_it() {
    let ids = ["a", "b1", "b2", "b3", "c", "d", "e", "f", "g", "h"];
    let after_a = |steps: &mut [Step]| {
        for step in &mut steps[1..4] {
            step.depends_on = vec![wf_model::StepIx(0)];
        }
    };
    let mut run = Killed::new(fan(&ids, OnStepFailure::Stop, after_a));
    for id in ["d", "e", "f", "g"] {
        assert_eq!(said(&run, id), ["staged"], "{id}");
    }
    let effects = run.feed(ended(attempt("a", 1), WELL));
    assert_eq!(stages(&effects), ["b1", "b2", "b3"]);
    assert_eq!(said(&run, "h"), Vec::<&str>::new());
}

#[test]
fn what_becomes_ready_and_cannot_be_staged_does_not_wait_either() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut run = Killed::new(fan(&ids, OnStepFailure::Stop, |steps| {
        steps[1].depends_on = vec![wf_model::StepIx(0)];
        steps[1].queue_timeout = Some(Duration::from_secs(9));
    }));
    let effects = run.feed(ended(attempt("a", 1), WELL));
    // Those who count may have let d begin when a ended.
    assert_eq!(words(&effects), ["wake", "unstage", "unstage", "unstage", "unstage"]);
    let effects = run.feed(began(attempt("d", 1)));
    assert_eq!(words(&effects), Vec::<String>::new(), "they are asked once");
    for id in ["e", "f", "g"] {
        run.feed(unstaged(attempt(id, 1)));
    }
    assert_eq!(said(&run, "b"), Vec::<&str>::new());
    let effects = run.feed(ended(attempt("c", 1), WELL));
    assert_eq!(words(&effects), ["start"]);
    assert_eq!(said(&run, "b"), ["started"]);
    run.feed(ended(attempt("b", 1), WELL));
    assert_eq!(said(&run, "e"), ["staged", "unstaged", "started"]);
}

#[test]
fn whoever_saw_the_end_need_not_have_seen_the_beginning() {
    let mut run = Killed::new(fan(&["a", "b", "c"], OnStepFailure::Stop, |_| {}));
    run.feed(ended(attempt("a", 1), WELL));
    run.feed(ended(attempt("c", 1), WELL));
    run.feed(began(attempt("c", 1)));
    assert_eq!(said(&run, "c"), ["staged", "started", "ended"]);
}

#[test]
fn what_there_is_more_to_see_of_is_not_staged_and_begins_alone() {
    let mut run = Killed::new(fan(&["a", "b", "c", "d"], OnStepFailure::Stop, |steps| {
        steps[3].queue_timeout = Some(Duration::from_secs(9));
    }));
    assert_eq!(said(&run, "c"), ["staged"]);
    let effects = run.feed(ended(attempt("b", 1), WELL));
    assert!(said(&run, "d").is_empty(), "{effects:?}");
    // c may be under way beside a: those who count do not know of what comes after d's work.
    run.feed(ended(attempt("a", 1), WELL));
    assert!(said(&run, "d").is_empty());
    let effects = run.feed(began(attempt("c", 1)));
    assert_eq!(words(&effects), ["start"]);
    assert_eq!(said(&run, "d"), ["started"]);
}

#[test]
fn after_a_failure_what_is_staged_is_taken_back_and_skipped() {
    let mut run = Killed::new(fan(&["a", "b", "c", "d"], OnStepFailure::Stop, |_| {}));
    let effects = run.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    assert_eq!(words(&effects), ["unstage", "unstage"]);
    let effects = run.feed(unstaged(attempt("c", 1)));
    assert_eq!(words(&effects), Vec::<String>::new());
    let reason = "not started: `a` failed".to_owned();
    assert_eq!(end_of(&run.events, "c"), Some((StepState::Skipped, reason)));
    // d began before anybody could take it back: it goes on, as whatever runs does.
    run.feed(began(attempt("d", 1)));
    run.feed(ended(attempt("b", 1), WELL));
    assert_eq!(run.machine.outcome(), None);
    run.feed(ended(attempt("d", 1), WELL));
    let end = end_of(&run.events, "d").expect("it ended");
    assert_eq!(end.0, StepState::Succeeded);
    assert!(run.machine.outcome().is_some());
}

#[test]
fn where_the_run_goes_on_after_a_failure_what_was_refused_waits_for_its_turn_again() {
    let mut run = Killed::new(fan(&["a", "b", "c"], OnStepFailure::Continue, |_| {}));
    run.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    let effects = run.feed(unstaged(attempt("c", 1)));
    assert_eq!(words(&effects), ["start"]);
    assert_eq!(said(&run, "c"), ["staged", "unstaged", "started"]);
}

#[test]
fn what_is_staged_is_killed_like_the_rest_and_need_not_have_begun() {
    let mut run = Killed::new(fan(&["a", "b", "c"], OnStepFailure::Stop, |_| {}));
    let effects = run.cancel();
    assert_eq!(words(&effects), ["kill", "kill", "kill"]);
    run.feed(unstaged(attempt("c", 1)));
    let end = end_of(&run.events, "c").expect("it ended");
    assert_eq!(end.0, StepState::Cancelled);
    assert_eq!(said(&run, "c"), ["staged", "unstaged"]);
}

#[test]
fn who_goes_on_with_a_run_finds_out_what_began_and_stages_nothing_beside_it() {
    let ids = ["a", "b", "c", "d", "e", "f", "g"];
    let mut run = Killed::new(fan(&ids, OnStepFailure::Stop, |_| {}));
    let effects = run.resume();
    assert_eq!(words(&effects), ["watch", "watch", "stage", "stage", "stage", "stage"]);
    let known = |effect: &Effect| matches!(effect, Effect::Stage { since: Some(_), .. });
    assert_eq!(effects.iter().filter(|effect| known(effect)).count(), 4);
    // c had begun and ended; d had not begun.
    run.feed(ended(attempt("c", 1), WELL));
    run.feed(unstaged(attempt("d", 1)));
    assert_eq!(said(&run, "c"), ["staged", "started", "ended"]);
    assert_eq!(said(&run, "d"), ["staged", "unstaged"]);
    for id in ["e", "f"] {
        run.feed(unstaged(attempt(id, 1)));
    }
    run.feed(ended(attempt("a", 1), WELL));
    assert_eq!(said(&run, "d"), ["staged", "unstaged", "started"]);
    assert_eq!(said(&run, "e"), ["staged", "unstaged"], "b is of another");
    let effects = run.feed(ended(attempt("b", 1), WELL));
    assert_eq!(words(&effects), ["start", "stage", "stage"]);
}

#[test]
fn only_first_attempts_are_staged() {
    let mut run = Killed::new(fan(&["a", "b", "c"], OnStepFailure::Stop, |steps| {
        super::found::retried(&mut steps[0]);
    }));
    run.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    run.feed(unstaged(attempt("c", 1)));
    assert_eq!(said(&run, "c"), ["staged", "unstaged", "started"]);
    run.now = 60_000;
    let effects = run.feed(super::found::woke(wf_core::machine::TimerKind::Retry(attempt("a", 2))));
    assert_eq!(words(&effects), Vec::<String>::new(), "it waits for room");
}
