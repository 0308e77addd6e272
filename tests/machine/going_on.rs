//! What a resume asks for: locks, ends and times that were under way.

use std::time::Duration;

use serde_json::json;
use wf_core::machine::{Effect, InputKind, RunOutcome, TimerKind, WorkExit};
use wf_model::{OnStepFailure, PlanPolicy, StepRepetition, StepWork, WaitCondition, expr::Template};

use super::{
    killed::{Killed, single, words},
    play::{output, play, policy, steps},
    world::{check, ended, plan_with},
};

#[test]
fn what_was_told_to_end_is_told_again() {
    for (force, what) in [(false, 1), (true, 2)] {
        let mut killed = Killed::new(single(|_| {}));
        (0..what).for_each(|_| drop(killed.cancel()));
        let effects = killed.resume();
        assert_eq!(words(&effects), ["watch", "kill"]);
        assert!(matches!(effects[1], Effect::Kill { force: told, .. } if told == force));
        assert_eq!(killed.machine.requested_cancel(), Some(force));
    }
    let mut untold = Killed::new(single(|_| {}));
    assert_eq!(words(&untold.resume()), ["watch"]);
    assert_eq!(untold.machine.requested_cancel(), None);
}

#[test]
fn checks_of_a_plan_that_was_told_to_end_are_ended_too() {
    let steps = steps(&["a"]);
    let verify = vec![check("good")];
    let mut killed = Killed::new(plan_with(steps, 1, policy(OnStepFailure::Stop), verify));
    let attempt = wf_core::machine::Attempt {
        task_id: wf_core::machine::TaskId::of_step(&super::world::name("a")),
        attempt: 1,
    };
    assert_eq!(words(&killed.feed(ended(attempt, WorkExit::Completed))), ["check"]);
    assert_eq!(words(&killed.resume()), ["check"]);
    assert_eq!(words(&killed.cancel()), ["kill"]);
    assert_eq!(words(&killed.resume()), ["check", "kill"]);
}

/// A wait for a file, under a lock.
fn locked() -> Killed {
    let mut killed = Killed::new(single(|step| {
        step.work = StepWork::Wait(WaitCondition::File(Template::literal("flag")));
        step.concurrency = Some("lock".into());
    }));
    let task_id = wf_core::machine::TaskId::of_step(&super::world::name("a"));
    let started = killed.feed(InputKind::Locked { task_id });
    assert_eq!(words(&started), ["start"]);
    killed
}

#[test]
fn what_goes_on_holds_its_lock_again_first() {
    let mut killed = locked();
    let effects = killed.resume();
    assert_eq!(words(&effects), ["lock"]);
    let Effect::Lock { task_id, .. } = &effects[0] else { unreachable!() };
    let locked = InputKind::Locked { task_id: task_id.clone() };
    assert_eq!(words(&killed.feed(locked)), ["watch"]);
    let attempt = wf_core::machine::Attempt { task_id: task_id.clone(), attempt: 1 };
    let over = killed.feed(ended(attempt, WorkExit::Completed));
    assert_eq!(words(&over), ["unlock", "finish"]);
}

/// Tasks start in their order, though one of them asks for its file first.
#[test]
fn what_asks_for_a_file_keeps_its_room_until_it_has_to_wait() {
    let mut steps = steps(&["a", "b"]);
    steps[0].writes = vec![Template::literal("out")];
    let policy = PlanPolicy { max_parallel: 1, ..policy(OnStepFailure::Stop) };
    let plan = plan_with(steps, 2, policy, Vec::new());
    let [a, b] = ["a", "b"].map(|step| wf_core::machine::TaskId::of_step(&super::world::name(step)));
    let end = |task_id: &wf_core::machine::TaskId| {
        let attempt = wf_core::machine::Attempt { task_id: task_id.clone(), attempt: 1 };
        ended(attempt, WorkExit::Completed)
    };
    let mut free = Killed::new(plan.clone());
    assert_eq!(words(&free.feed(InputKind::Locked { task_id: a.clone() })), ["start"]);
    assert_eq!(words(&free.feed(end(&a))), ["unlock", "start"]);
    let mut held = Killed::new(plan);
    let started = held.feed(InputKind::LockHeld { task_id: a.clone() });
    assert!(matches!(&started[..], [Effect::Start { attempt, .. }] if attempt.task_id == b), "{started:?}");
    assert_eq!(words(&held.feed(InputKind::Locked { task_id: a.clone() })), [""; 0]);
    assert_eq!(words(&held.feed(end(&b))), ["start"]);
    assert_eq!(words(&held.resume()), ["lock"]);
}

#[test]
fn a_task_that_is_refused_its_lock_fails_and_one_that_is_replaced_ends_its_run() {
    for (is_replaced, outcome) in [(false, RunOutcome::Failed), (true, RunOutcome::Cancelled)] {
        let mut killed = Killed::new(single(|step| step.concurrency = Some("lock".into())));
        let task_id = wf_core::machine::TaskId::of_step(&super::world::name("a"));
        let refused = InputKind::LockRefused { task_id, reason: "it is busy".into(), is_replaced };
        assert_eq!(words(&killed.feed(refused.clone())), ["unlock", "finish"]);
        assert_eq!(killed.machine.outcome(), Some(outcome));
        assert_eq!(words(&killed.feed(refused)), [""; 0], "it is over");
    }
    let mut holds = locked();
    let task_id = wf_core::machine::TaskId::of_step(&super::world::name("a"));
    let late = InputKind::LockRefused { task_id, reason: "it is busy".into(), is_replaced: true };
    assert_eq!(words(&holds.feed(late)), [""; 0], "it has the lock");
}

#[test]
fn what_is_to_end_does_not_wait_for_its_lock() {
    let mut killed = locked();
    killed.resume();
    assert_eq!(words(&killed.cancel()), ["unlock", "watch", "kill"]);
    let mut told_before = locked();
    told_before.cancel();
    assert_eq!(words(&told_before.resume()), ["watch", "kill"]);
}

#[test]
fn a_wait_for_a_turn_is_still_bounded() {
    let limit = Some(Duration::from_secs(5));
    let queue = |effects: &[Effect]| {
        let timer = |effect: &&Effect| matches!(effect, Effect::Wake { timer: TimerKind::Queue(_), at } if at.millis() == 5000);
        effects.iter().filter(timer).count()
    };
    let mut waits = Killed::new(single(|step| {
        step.concurrency = Some("lock".into());
        step.queue_timeout = limit;
    }));
    assert_eq!(queue(&waits.resume()), 1);
    let mut items = Killed::new(single(|step| {
        step.fan = StepRepetition::List(vec![json!(1), json!(2), json!(3)]);
        step.max_parallel = Some(1);
        step.queue_timeout = limit;
    }));
    assert_eq!(queue(&items.resume()), 2);
}

#[test]
fn an_item_that_ends_before_its_turn_gives_nobody_else_a_turn() {
    let mut steps = steps(&["each"]);
    steps[0].fan = StepRepetition::List(vec![json!(1), json!(2), json!(3)]);
    steps[0].max_parallel = Some(1);
    steps[0].queue_timeout = Some(Duration::from_secs(5));
    let policy = PlanPolicy { max_parallel: 8, ..policy(OnStepFailure::Continue) };
    let mut killed = Killed::new(plan_with(steps, 1, policy, Vec::new()));
    for item in 1..3 {
        let place = wf_core::machine::TaskId { step: super::world::name("each"), item: Some(item) };
        let effects = killed.feed(InputKind::Woke { timer: TimerKind::Queue(place) });
        assert_eq!(words(&effects), [""; 0], "item {item}");
    }
}

#[test]
fn work_that_was_cancelled_though_nobody_asked_has_failed() {
    let mut play = play(&["a", "b < a"], OnStepFailure::Stop, |_| {});
    play.exits.insert("a", vec![WorkExit::Cancelled]);
    let told = play.told();
    assert_eq!(told[0], "a failed unchecked: cancelled");
    assert_eq!(told.last().unwrap(), "run failed unchecked: step `a` failed");
}

#[test]
fn an_item_that_failed_gives_no_outputs() {
    let mut play = play(&["each"], OnStepFailure::Continue, |steps| {
        steps[0].fan = StepRepetition::List(vec![json!(1), json!(2)]);
        steps[0].outputs = vec![output("rows")];
        steps[0].verify = vec![check("good")];
    })
    .gives("each", json!({ "rows": 3 }));
    play.refute = vec!["each"];
    let told = play.told();
    assert!(told[2].contains("{\"rows\":[null,null]}"), "{told:?}");
}

#[test]
fn a_timer_that_goes_off_early_or_late_changes_nothing() {
    let mut rests = Killed::new(single(|step| {
        std::sync::Arc::make_mut(&mut step.retry).max = 1;
        std::sync::Arc::make_mut(&mut step.retry).on = vec![wf_model::FailureClass::Logical];
        std::sync::Arc::make_mut(&mut step.retry).backoff = Duration::from_secs(5);
    }));
    let attempt = |attempt| wf_core::machine::Attempt {
        task_id: wf_core::machine::TaskId::of_step(&super::world::name("a")),
        attempt,
    };
    rests.feed(ended(attempt(1), WorkExit::Code { code: 1 }));
    let timer = TimerKind::Retry(attempt(2));
    assert_eq!(words(&rests.feed(InputKind::Woke { timer })), [""; 0]);

    let steps = steps(&["a", "last"]);
    let mut tidies = Killed::new(plan_with(steps, 1, policy(OnStepFailure::Stop), Vec::new()));
    tidies.feed(ended(attempt(1), WorkExit::Completed));
    let before = tidies.events.len();
    tidies.feed(InputKind::Woke { timer: TimerKind::Run });
    assert_eq!(tidies.events.len(), before, "finally steps have no limit");
}

#[test]
fn who_insists_on_the_end_gets_no_further_finally_step() {
    let steps = steps(&["a", "last_a", "last_b"]);
    let mut killed = Killed::new(plan_with(steps, 1, policy(OnStepFailure::Stop), Vec::new()));
    let task_id = wf_core::machine::TaskId::of_step(&super::world::name("a"));
    killed.feed(ended(wf_core::machine::Attempt { task_id, attempt: 1 }, WorkExit::Completed));
    assert_eq!(words(&killed.cancel()), [""; 0]);
    let before = killed.events.len();
    assert_eq!(words(&killed.cancel()), ["kill"]);
    let told = format!("{:?}", &killed.events[before..]);
    assert!(told.contains("last_b") && told.contains("Cancelled"), "{told}");
}
