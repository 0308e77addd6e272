//! Rules that a simulation found broken, each with the smallest run that shows it.

use std::time::Duration;

use serde_json::json;
use wf_base::time::Moment;
use wf_core::{
    gate::{GateAction, GateOutcome},
    machine::{
        ApprovalOutcome, AttemptEnd, CachedResult, CheckRuling, CheckVerdict, Effect, EventKind, GatePoint,
        InputKind, RequestDecision, Standing, StepState, TaskId, TimerKind, WorkExit,
    },
};
use wf_model::{
    Check, CheckPhase, FailureClass, JsonObject, OnStepFailure, Plan, PlanParts, PlanPolicy, RetryPolicy,
    Step, StepCache, StepRepetition, StepWork, WaitCondition, expr::Template,
};

use super::{
    answers::{guard, guarded},
    killed::{Killed, attempt, end_of, single, words},
    play::{policy, steps},
    world::{check, ended, name, plan_with, verdict},
};

const SECOND: Duration = Duration::from_secs(1);

fn place(step: &str) -> TaskId {
    TaskId::of_step(&name(step))
}

fn locked(step: &str) -> InputKind {
    InputKind::Locked { task_id: place(step) }
}

pub fn woke(timer: TimerKind) -> InputKind {
    InputKind::Woke { timer }
}

pub fn retried(step: &mut Step) {
    step.retry = RetryPolicy { max: 3, backoff: 5 * SECOND, ..RetryPolicy::default() }.into();
}

fn plan(lines: &[&str], on_failure: OnStepFailure, change: impl FnOnce(&mut Vec<Step>)) -> Killed {
    let mut steps = steps(lines);
    change(&mut steps);
    let main = steps.len();
    Killed::new(plan_with(steps, main, policy(on_failure), Vec::new()))
}

#[test]
fn the_times_of_events_do_not_go_back() {
    let mut killed = plan(&["a", "b < a"], OnStepFailure::Stop, |_| {});
    killed.now = 9000;
    killed.feed(ended(attempt("a", 1), WorkExit::Completed));
    killed.now = 4000;
    killed.resume();
    killed.feed(ended(attempt("b", 1), WorkExit::Completed));
    let times: Vec<i64> = killed.events.iter().map(|event| event.at.millis()).collect();
    assert!(times.is_sorted(), "{times:?}");
}

#[test]
fn a_wait_that_is_looked_at_late_has_still_timed_out() {
    let mut killed = Killed::new(single(|step| {
        step.work = StepWork::Wait(WaitCondition::For(10 * SECOND));
        step.timeout = Some(5 * SECOND);
    }));
    killed.now = 60_000;
    let effects = killed.resume();
    let Effect::Wake { timer, at } = &effects[0] else { panic!("{effects:?}") };
    assert_eq!(at.millis(), 5000);
    killed.feed(woke(timer.clone()));
    assert_eq!(end_of(&killed.events, "a"), Some((StepState::Failed, "timed out after 5.0s".into())));
}

#[test]
fn a_timer_that_goes_off_early_changes_nothing() {
    let mut steps = steps(&["wait", "queue"]);
    steps[0].work = StepWork::Wait(WaitCondition::For(10 * SECOND));
    steps[1].concurrency = Some("lock".into());
    steps[1].queue_timeout = Some(SECOND);
    let id = wf_base::name::PlanId::parse("p").unwrap();
    let parts =
        PlanParts { timeout: Some(20 * SECOND), ..PlanParts::new(id, steps, 2, policy(OnStepFailure::Stop)) };
    let mut killed = Killed::new(Plan::new(parts).unwrap());
    killed.now = 999;
    let before = killed.events.len();
    for timer in [TimerKind::Run, TimerKind::Queue(place("queue")), TimerKind::Wait(attempt("wait", 1))] {
        killed.feed(woke(timer));
    }
    assert_eq!(killed.events.len(), before);
}

#[test]
fn the_limit_on_a_wait_for_a_turn_counts_from_when_it_began() {
    let mut killed = Killed::new(single(|step| {
        step.concurrency = Some("lock".into());
        step.queue_timeout = Some(5 * SECOND);
    }));
    killed.now = 3000;
    let wake = Effect::Wake { timer: TimerKind::Queue(place("a")), at: Moment::from_millis(5000) };
    assert_eq!(killed.resume().first(), Some(&wake));
}

/// A step that waits for a person first, and then for its lock, for five seconds at most.
fn approved_after(wait: i64) -> (Killed, Vec<Effect>) {
    let mut killed = Killed::new(single(|step| {
        guarded(step);
        step.concurrency = Some("lock".into());
        step.queue_timeout = Some(5 * SECOND);
    }));
    let results = vec![guard(GateAction::RequireApproval, "look at it")];
    killed.feed(InputKind::Gated {
        task_id: Some(place("a")),
        point: GatePoint::Enter,
        gated: GateOutcome { results, ..GateOutcome::default() },
        tool_call: None,
        arguments: None,
        exchange: None,
    });
    killed.now = 5000;
    assert_eq!(words(&killed.feed(woke(TimerKind::Queue(place("a"))))), [""; 0]);
    killed.now = wait;
    let given = ApprovalOutcome {
        decision: RequestDecision::Approved,
        by: Vec::new(),
        tokens: Vec::new(),
        reason: String::new(),
        answer: None,
    };
    let effects = killed.feed(InputKind::Answered { number: 1, given });
    (killed, effects)
}

fn queue_timers(effects: &[Effect]) -> Vec<i64> {
    let at = |effect: &Effect| match effect {
        Effect::Wake { timer: TimerKind::Queue(_), at } => Some(at.millis()),
        _ => None,
    };
    effects.iter().filter_map(at).collect()
}

#[test]
fn the_limit_on_a_wait_for_a_turn_counts_anew_once_a_person_has_approved() {
    let (mut killed, effects) = approved_after(9000);
    assert_eq!(queue_timers(&effects), [14_000], "{effects:?}");
    assert!(words(&effects).contains(&"lock".to_owned()), "{effects:?}");
    killed.now = 13_999;
    killed.feed(woke(TimerKind::Queue(place("a"))));
    assert_eq!(end_of(&killed.events, "a"), None);
    killed.now = 14_000;
    killed.feed(woke(TimerKind::Queue(place("a"))));
    let late = (StepState::Failed, "waited longer than 5s in the queue".into());
    assert_eq!(end_of(&killed.events, "a"), Some(late));
}

#[test]
fn the_time_of_a_person_does_not_count_after_a_resume_either() {
    let (mut killed, _) = approved_after(9000);
    killed.now = 10_000;
    assert_eq!(queue_timers(&killed.resume()), [14_000]);
    killed.feed(woke(TimerKind::Queue(place("a"))));
    assert_eq!(end_of(&killed.events, "a"), None);
}

#[test]
fn a_wait_for_files_after_gates_is_bounded_after_a_resume() {
    let mut killed = Killed::new(single(|step| {
        guarded(step);
        step.writes = vec![Template::literal("out.txt")];
        step.queue_timeout = Some(5 * SECOND);
    }));
    killed.now = 1000;
    killed.feed(InputKind::Gated {
        task_id: Some(place("a")),
        point: GatePoint::Enter,
        gated: GateOutcome::default(),
        tool_call: None,
        arguments: None,
        exchange: None,
    });
    killed.now = 2000;
    assert_eq!(queue_timers(&killed.resume()), [6000]);
}

#[test]
fn whoever_looks_after_an_attempt_knows_when_it_began() {
    let mut killed = Killed::new(single(|step| {
        step.work = StepWork::Wait(WaitCondition::File(Template::literal("flag")));
    }));
    killed.now = 3000;
    let watched = killed.resume();
    let began = |effect: &Effect| matches!(effect, Effect::Watch { since, .. } if since.millis() == 0);
    assert!(began(&watched[0]), "{watched:?}");
}

#[test]
fn a_place_says_once_that_it_waits_for_its_lock() {
    let mut killed = Killed::new(single(|step| step.concurrency = Some("lock".into())));
    let said = killed.events.clone();
    assert_eq!(words(&killed.resume()), ["lock"]);
    assert_eq!(killed.events, said);
}

#[test]
fn work_under_a_lock_is_looked_after_once_the_lock_is_held_again() {
    let mut killed = Killed::new(single(|step| step.concurrency = Some("lock".into())));
    killed.feed(locked("a"));
    assert_eq!(words(&killed.resume()), ["lock"]);
    let late = ended(attempt("a", 1), WorkExit::Completed);
    assert_eq!(words(&killed.feed(late)), [""; 0], "nobody asked yet");
    assert_eq!(words(&killed.feed(locked("a"))), ["watch"]);
}

#[test]
fn an_attempt_that_people_have_not_let_begin_asks_for_no_lock() {
    let mut run = Killed::new(single(|step| {
        step.concurrency = Some("lock".into());
        guarded(step);
        step.verify = vec![Check { phase: CheckPhase::Test, ..check("good") }];
        step.loops.max = 1;
    }));
    let gated = |point, action| InputKind::Gated {
        task_id: Some(place("a")),
        point,
        gated: GateOutcome {
            results: vec![guard(action, "")],
            rewritten: JsonObject::new(),
            ..GateOutcome::default()
        },
        tool_call: None,
        arguments: None,
        exchange: None,
    };
    run.feed(gated(GatePoint::Enter, GateAction::Continue));
    run.feed(locked("a"));
    run.feed(ended(attempt("a", 1), WorkExit::Completed));
    let verdicts = vec![CheckVerdict { phase: CheckPhase::Test, ..verdict(CheckRuling::Fail) }];
    let attempts = Some(attempt("a", 1));
    run.feed(InputKind::Judged { attempt: attempts, phase: CheckPhase::Test, verdicts, seen: Vec::new() });
    run.feed(InputKind::Woke { timer: TimerKind::Retry(attempt("a", 2)) });
    let effects = run.feed(gated(GatePoint::Again, GateAction::RequireApproval));
    assert!(words(&effects).contains(&"ask".into()), "{effects:?}");
    // It has left a result, and takes its lock again only when it may begin.
    let effects = run.resume();
    assert!(!words(&effects).contains(&"lock".into()), "{effects:?}");
}

/// Two runs that each have room for one, resumed with work under one lock and a wait for another:
/// whoever waits for room holds no lock then, so that nobody waits in a circle.
#[test]
fn nobody_takes_a_lock_while_work_that_has_room_wants_its_own_back() {
    let mut steps = steps(&["a", "b"]);
    steps[0].concurrency = Some("left".into());
    steps[1].concurrency = Some("right".into());
    let policy = PlanPolicy { max_parallel: 1, ..policy(OnStepFailure::Stop) };
    let mut killed = Killed::new(plan_with(steps, 2, policy, Vec::new()));
    killed.feed(locked("a"));
    let asked = killed.resume();
    assert_eq!(words(&asked), ["lock"]);
    assert!(matches!(&asked[0], Effect::Lock { locks, .. } if locks.lock.as_deref() == Some("left")));
    assert_eq!(words(&killed.feed(locked("a"))), ["watch"]);
    let over = killed.feed(ended(attempt("a", 1), WorkExit::Completed));
    assert_eq!(words(&over), ["unlock", "lock"]);
}

#[test]
fn a_failure_keeps_a_place_from_beginning_that_is_looked_for_in_the_cache() {
    let mut killed = plan(&["a", "b"], OnStepFailure::Stop, |steps| {
        steps[1].cache = Some(Box::new(StepCache { inputs: Vec::new(), outputs: Vec::new() }));
    });
    killed.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    let (state, reason) = end_of(&killed.events, "b").unwrap();
    assert_eq!((state, reason.as_str()), (StepState::Skipped, "not started: `a` failed"));
    let task_id = place("b");
    assert_eq!(words(&killed.feed(InputKind::Looked { task_id, found: None })), [""; 0]);
}

#[test]
fn a_failure_keeps_a_place_from_beginning_whose_cached_result_is_refuted() {
    let mut killed = plan(&["a", "b"], OnStepFailure::Stop, |steps| {
        steps[1].cache = Some(Box::new(StepCache { inputs: Vec::new(), outputs: Vec::new() }));
        steps[1].verify = vec![check("good")];
    });
    let key = wf_base::digest::Sha256Digest::of_bytes(b"key");
    let from = super::world::run_id();
    let found = Some(CachedResult {
        cache_key: key,
        reused_from: from,
        outputs: JsonObject::new(),
        artifacts: Vec::new(),
    });
    killed.feed(InputKind::Looked { task_id: place("b"), found });
    killed.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    let verdicts = vec![verdict(CheckRuling::Fail)];
    killed.feed(InputKind::Judged {
        phase: wf_model::CheckPhase::Verify,
        attempt: Some(attempt("b", 0)),
        verdicts,
        seen: Vec::new(),
    });
    assert_eq!(end_of(&killed.events, "b").unwrap().0, StepState::Skipped);
}

#[test]
fn what_was_tried_goes_on_after_a_failure_that_stops_though_it_waits_for_room() {
    let mut steps = steps(&["a", "b", "c"]);
    retried(&mut steps[0]);
    let policy = PlanPolicy { max_parallel: 2, ..policy(OnStepFailure::Stop) };
    let mut killed = Killed::new(plan_with(steps, 3, policy, Vec::new()));
    killed.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    killed.now = 6000;
    killed.feed(woke(TimerKind::Retry(attempt("a", 2))));
    let effects = killed.feed(ended(attempt("b", 1), WorkExit::Code { code: 1 }));
    assert_eq!(words(&effects), ["start"]);
    assert!(matches!(&effects[0], Effect::Start { attempt: a, .. } if *a == attempt("a", 2)));
}

#[test]
fn what_was_tried_is_cancelled_by_a_failure_and_not_skipped() {
    let mut killed = plan(&["a", "b"], OnStepFailure::Cancel, |steps| {
        retried(&mut steps[0]);
    });
    killed.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    killed.feed(ended(attempt("b", 1), WorkExit::Code { code: 1 }));
    let end = end_of(&killed.events, "a").unwrap();
    assert_eq!(end, (StepState::Cancelled, "`b` failed".into()));
}

#[test]
fn a_repeated_step_that_a_failure_cancels_says_which() {
    let mut killed = plan(&["a", "b"], OnStepFailure::Cancel, |steps| {
        steps[0].fan = StepRepetition::List(vec![json!(1)]);
        steps[0].work = StepWork::Wait(WaitCondition::For(SECOND));
    });
    killed.feed(ended(attempt("b", 1), WorkExit::Code { code: 1 }));
    let end = end_of(&killed.events, "a").unwrap();
    assert_eq!(end, (StepState::Cancelled, "`b` failed".into()));
}

#[test]
fn a_nested_run_verifies_no_step_whose_own_checks_did_not_run() {
    let inner = plan_with(steps(&["inner"]), 1, policy(OnStepFailure::Stop), Vec::new());
    let uses = wf_model::NestedPlan { plan: inner, path: "inner.md".into(), with: Vec::new() };
    let mut killed = Killed::new(single(|step| {
        step.work = StepWork::Uses(Box::new(uses));
        step.verify = vec![check("good")];
    }));
    killed.cancel();
    let standing = Some(Standing::Verified);
    killed.feed(InputKind::Ended(AttemptEnd {
        standing,
        ..AttemptEnd::new(attempt("a", 1), WorkExit::Completed)
    }));
    let believed = killed.events.iter().find_map(|event| match &event.fact {
        EventKind::StepEnded { standing, .. } => Some(*standing),
        _ => None,
    });
    assert_eq!(believed, Some(Standing::Reported));
}

#[test]
fn only_the_timer_of_the_next_attempt_lets_it_begin() {
    let mut killed = Killed::new(single(|step| {
        retried(step);
        std::sync::Arc::make_mut(&mut step.retry).on = vec![FailureClass::Logical];
        step.work = StepWork::Exec(vec![Template::literal("false")]);
    }));
    killed.feed(ended(attempt("a", 1), WorkExit::Code { code: 1 }));
    killed.now = 5000;
    assert_eq!(words(&killed.feed(woke(TimerKind::Retry(attempt("a", 1))))), [""; 0]);
    assert_eq!(words(&killed.feed(woke(TimerKind::Retry(attempt("a", 2))))), ["start"]);
}
