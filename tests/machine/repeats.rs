//! Runs that begin with results of another, or with steps left out; and counts that end.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use proptest::prelude::*;
use serde_json::json;
use wf_base::time::Moment;
use wf_core::machine::{
    Attempt, AttemptEnd, DeselectedStep, Effect, Event, EventKind, InputKind, Machine, MachineInput,
    ReusedResult, RunOutcome, Standing, StepState, TaskId, WorkExit,
};
use wf_model::{
    FailureClass, JsonObject, OnStepFailure, Plan, RequiredOutput, RetryPolicy, StepRepetition, ValueSchema,
};

use super::{
    play::{Play, expr, policy, steps},
    world::{Dice, World, any_plan, name, plan_with, run_id},
};

fn kept(step: &str, item: Option<&str>) -> ReusedResult {
    ReusedResult {
        step: name(step),
        item: item.map(str::to_owned),
        item_digest: None,
        outputs: JsonObject::new(),
        standing: Standing::Verified,
        from: run_id(),
        evidence: Vec::new(),
    }
}

fn left(step: &str, except_items: &[&str]) -> DeselectedStep {
    DeselectedStep {
        step: name(step),
        except_items: except_items.iter().map(|key| (*key).to_owned()).collect(),
    }
}

fn told(plan: Arc<Plan>, kept: Vec<ReusedResult>, left: Vec<DeselectedStep>) -> Vec<String> {
    let mut play = Play::new(plan);
    let mut open = play.feed(InputKind::Begin {
        kept,
        left,
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    play.run(&mut open);
    play.told
}

#[test]
fn what_is_left_out_is_skipped_and_what_depends_on_it_may_be_kept() {
    let plan =
        plan_with(steps(&["a", "b < a", "c < b", "d < a"]), 4, policy(OnStepFailure::Stop), Vec::new());
    let told = told(plan, vec![kept("c", None)], vec![left("a", &[])]);
    assert_eq!(
        told,
        [
            "a skipped unchecked: not selected",
            "b skipped unchecked: dependency `a` was skipped",
            "d skipped unchecked: dependency `a` was skipped",
            "run succeeded reported",
        ]
    );
}

#[test]
fn of_a_repeated_step_items_can_be_left_out() {
    let mut steps = steps(&["each", "after < each"]);
    steps[0].fan = StepRepetition::List(vec![json!("x"), json!("y"), json!("z")]);
    let plan = plan_with(steps, 2, policy(OnStepFailure::Stop), Vec::new());
    let told = told(plan, vec![kept("each", Some("x"))], vec![left("each", &["z"])]);
    assert_eq!(
        told,
        [
            "each[0] succeeded verified: reused from run 07070707",
            "each[1] skipped unchecked: not selected",
            "each[2] succeeded reported",
            "each skipped unchecked: 1 of 3 items were not selected",
            "after skipped unchecked: dependency `each` was skipped",
            "run succeeded reported",
        ]
    );
}

#[test]
fn the_default_of_an_output_holds_where_a_step_or_an_item_ended_without_it() {
    let mut steps = steps(&["each", "one", "all", "after < each one all"]);
    let schema = ValueSchema::new(json!({"type": "integer", "default": 0})).unwrap();
    for step in &mut steps[..3] {
        step.outputs.push(RequiredOutput { name: name("rows"), schema: schema.clone() });
    }
    for repeated in [0, 2] {
        steps[repeated].fan = StepRepetition::List(vec![json!("x"), json!("y")]);
    }
    let reads = "always() and steps.each.outputs.rows == [7, 0] and steps.one.outputs.rows == 0 \
                 and steps.all.outputs.rows == []";
    steps[3].when = Some(expr(reads).into());
    let mut play = Play::new(plan_with(steps, 4, policy(OnStepFailure::Stop), Vec::new()));
    play.outputs.insert("each", json!({"rows": 7}));
    let left = vec![left("each", &["x"]), left("one", &[]), left("all", &[])];
    let mut open = play.feed(InputKind::Begin {
        kept: Vec::new(),
        left,
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    play.run(&mut open);
    assert!(play.told.iter().any(|line| line == "after succeeded reported"), "{:?}", play.told);
}

#[test]
fn finally_steps_are_kept_or_left_out_each_by_itself() {
    let plan = || {
        let steps = steps(&["a", "x", "y", "z"]);
        plan_with(steps, 1, policy(OnStepFailure::Stop), Vec::new())
    };
    let first = told(plan(), vec![kept("a", None), kept("x", None), kept("z", None)], Vec::new());
    assert_eq!(first, ["y succeeded reported", "run succeeded reported"]);
    let second = told(plan(), vec![kept("a", None), kept("y", None)], vec![left("x", &[])]);
    assert_eq!(
        second,
        ["x skipped unchecked: not selected", "z succeeded reported", "run succeeded reported"]
    );
    let all = ["a", "x", "y", "z"].map(|step| kept(step, None));
    assert_eq!(told(plan(), all.to_vec(), Vec::new()), ["run succeeded verified"]);
}

#[test]
fn what_is_kept_twice_or_nowhere_counts_once() {
    let plan = plan_with(steps(&["a"]), 1, policy(OnStepFailure::Stop), Vec::new());
    let twice = vec![kept("a", None), kept("a", None), kept("gone", None)];
    assert_eq!(told(plan, twice, vec![left("a", &[]), left("gone", &[])]), ["run succeeded verified"]);
}

/// Replays a run whose only step is at some attempt, and lets that attempt fail.
fn fail_at(attempt: u32, retry: RetryPolicy, idempotent: bool, exit: WorkExit) -> (Vec<Event>, Vec<Effect>) {
    let attempt = Attempt { task_id: TaskId::of_step(&name("a")), attempt };
    fail_with(AttemptEnd::new(attempt, exit), Moment::from_millis(i64::MAX - 10), retry, idempotent)
}

/// Replays a run whose only step is at some attempt, which ends.
fn fail_with(end: AttemptEnd, at: Moment, retry: RetryPolicy, idempotent: bool) -> (Vec<Event>, Vec<Effect>) {
    let mut steps = steps(&["a"]);
    (steps[0].retry, steps[0].idempotent) = (retry.into(), idempotent);
    let plan = plan_with(steps, 1, policy(OnStepFailure::Stop), Vec::new());
    let mut machine = Machine::new(plan, run_id(), JsonObject::new());
    let begin = InputKind::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    };
    machine.turn(MachineInput { at, kind: begin });
    let fact = EventKind::AttemptStarted(end.attempt.clone());
    machine.replay(&Event { at, fact }).unwrap();
    let turn = machine.turn(MachineInput { at, kind: InputKind::Ended(end) });
    (turn.events, turn.effects)
}

#[test]
fn a_retry_waits_as_long_as_the_server_asks_within_its_limit() {
    let retry = RetryPolicy { max: 1, backoff: Duration::from_secs(10), ..RetryPolicy::default() };
    let limited = "busy; waiting for 5m only, the `max_delay` of `retry`";
    for (asked, waited, told) in [
        (None, 10, "busy"),
        (Some(2), 10, "busy"),
        (Some(20), 20, "busy"),
        (Some(300), 300, "busy"),
        (Some(31_536_000), 300, limited),
    ] {
        let attempt = Attempt { task_id: TaskId::of_step(&name("a")), attempt: 1 };
        let failure_class = FailureClass::Environmental;
        let exit = WorkExit::Error { reason: "busy".into(), failure_class };
        let retry_after = asked.map(Duration::from_secs);
        let end = AttemptEnd { retry_after, ..AttemptEnd::new(attempt, exit) };
        let (events, _) = fail_with(end, Moment::from_millis(0), retry.clone(), false);
        let scheduled = events.iter().find_map(|event| match &event.fact {
            EventKind::RetryScheduled { due, reason, .. } => Some((due.millis(), reason.as_str())),
            _ => None,
        });
        assert_eq!(scheduled, Some((waited * 1_000, told)), "{asked:?}");
    }
}

#[test]
fn the_number_of_attempts_has_an_end() {
    let retry = RetryPolicy {
        max: u32::MAX,
        backoff: Duration::MAX,
        max_delay: Duration::MAX,
        factor: f64::MAX,
        jitter: 1.0,
        on: vec![FailureClass::Logical],
    };
    for attempt in [1_000_000_000, u32::MAX - 1] {
        let (events, effects) = fail_at(attempt, retry.clone(), false, WorkExit::Code { code: 1 });
        let next = attempt + 1;
        let scheduled = |event: &Event| matches!(&event.fact, EventKind::RetryScheduled { attempt, due, .. } if attempt.attempt == next && due.millis() == i64::MAX);
        assert!(events.iter().any(scheduled), "{events:?}");
        assert!(matches!(&effects[..], [Effect::Wake { .. }]), "{effects:?}");
    }
    for (idempotent, exit) in [(false, WorkExit::Code { code: 1 }), (true, WorkExit::Interrupted)] {
        let (events, _) = fail_at(u32::MAX, retry.clone(), idempotent, exit);
        let failed = |event: &Event| matches!(&event.fact, EventKind::StepEnded { state, .. } if *state == StepState::Failed);
        assert!(events.iter().any(failed), "{events:?}");
    }
}

/// A random beginning: whole steps kept, in part kept, and left out.
fn beginning(plan: &Plan, dice: &mut Dice) -> (Vec<ReusedResult>, Vec<DeselectedStep>) {
    let (mut keeps, mut leaves) = (Vec::new(), Vec::new());
    for step in plan.steps() {
        let id = step.id.as_str();
        match (dice.below(5), &step.fan) {
            (0, _) => keeps.push(kept(id, None)),
            (1, StepRepetition::Once) => leaves.push(left(id, &[])),
            (1, _) => leaves.push(left(id, &["1"])),
            (2, StepRepetition::List(_)) => keeps.push(kept(id, Some("0"))),
            _ => {}
        }
    }
    (keeps, leaves)
}

/// The places that a beginning keeps from running.
fn quiet(kept: &[ReusedResult], left: &[DeselectedStep]) -> BTreeSet<(String, Option<u32>)> {
    let item = |kept: &ReusedResult| kept.item.as_ref().map(|key| key.parse().unwrap());
    let kept = kept.iter().map(|kept| (kept.step.to_string(), item(kept)));
    let whole = left.iter().filter(|left| left.except_items.is_empty());
    kept.chain(whole.map(|left| (left.step.to_string(), None))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_kept_or_left_out_never_runs(seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, OnStepFailure::Continue);
        let (kept, left) = beginning(&plan, &mut dice);
        let quiet = quiet(&kept, &left);
        let except_items: BTreeSet<String> = left.iter().filter(|left| !left.except_items.is_empty())
            .map(|left| left.step.to_string()).collect();
        let mut world = World::new(seed);
        let mut machine = Machine::new(plan.clone(), run_id(), JsonObject::new());
        world.feed(&mut machine, InputKind::Begin { kept, left, dropped: Vec::new(), baseline: None, approved: None, advice: Vec::new(), intent: None });
        let outcome = world.drive(&mut machine, &mut dice);
        check(&plan, &world.events, (&quiet, &except_items))?;

        // The outcome follows from the run's own events alone.
        let mut replayed = Machine::new(plan.clone(), run_id(), JsonObject::new());
        world.events.iter().for_each(|event| replayed.replay(event).unwrap());
        prop_assert_eq!(replayed.outcome(), Some(outcome));

        // So does what a resume does after any cut.
        let length = world.cuts[cut.index(world.cuts.len())];
        let mut resumed = Machine::new(plan.clone(), run_id(), JsonObject::new());
        let mut again = World::new(seed);
        for event in &world.events[..length] {
            resumed.replay(event).unwrap();
            again.now = event.at.millis();
        }
        again.events = world.events[..length].to_vec();
        let turn = resumed.resume(Moment::from_millis(again.now));
        again.take(turn);
        again.drive(&mut resumed, &mut dice);
        check(&plan, &again.events, (&quiet, &except_items))?;
    }
}

type Quiet<'a> = (&'a BTreeSet<(String, Option<u32>)>, &'a BTreeSet<String>);

fn check(plan: &Plan, events: &[Event], (quiet, but): Quiet<'_>) -> Result<(), TestCaseError> {
    let mut over = BTreeSet::new();
    let mut failed = false;
    for event in events {
        match &event.fact {
            EventKind::AttemptStarted(Attempt { task_id, .. }) => {
                let step = task_id.step.to_string();
                let whole = quiet.contains(&(step.clone(), None));
                prop_assert!(!whole && !quiet.contains(&(step.clone(), task_id.item)), "{task_id} ran");
                let chosen = task_id.item == Some(1) || !but.contains(&step);
                prop_assert!(chosen, "{task_id} ran, which was not selected");
            }
            EventKind::StepReused { step, .. } => {
                prop_assert!(over.insert(TaskId::of_step(step)), "{step} ended twice");
            }
            EventKind::StepEnded { task_id, state, allowed_to_fail, .. } => {
                prop_assert!(over.insert(task_id.clone()), "{task_id} ended twice");
                let bad = *state == StepState::Failed && !allowed_to_fail;
                failed |= bad && task_id.item.is_none();
            }
            EventKind::RunEnded { outcome, counts, .. } => {
                prop_assert_eq!(*outcome == RunOutcome::Failed, failed);
                let all = [counts.verified, counts.reported, counts.failed, counts.skipped];
                let sum = all.iter().sum::<u32>() + counts.cancelled + counts.allowed_to_fail;
                prop_assert_eq!(sum as usize, plan.steps().len());
            }
            _ => {}
        }
    }
    for step in plan.steps() {
        prop_assert!(over.contains(&TaskId::of_step(&step.id)), "{} did not end", step.id);
    }
    Ok(())
}
