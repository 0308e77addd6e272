//! Runs that begin with results of another, or with steps left out; and counts that end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use wf::machine::{
    Attempt, Effect, Event, Exit, Fact, Happening, Input, Kept, Left, Machine, Outcome, Place,
    Standing, StepState,
};
use wf::model::{Class, Fan, Object, OnFailure, Plan, Retry};
use wf::time::Moment;

use super::play::{Play, policy, steps};
use super::world::{Dice, World, any_plan, ended, name, plan_with, run_id};

fn kept(step: &str, item: Option<&str>) -> Kept {
    Kept {
        step: name(step),
        item: item.map(str::to_owned),
        outputs: Object::new(),
        standing: Standing::Verified,
        from: run_id(),
    }
}

fn left(step: &str, but: &[&str]) -> Left {
    Left {
        step: name(step),
        but: but.iter().map(|key| (*key).to_owned()).collect(),
    }
}

fn told(plan: Arc<Plan>, kept: Vec<Kept>, left: Vec<Left>) -> Vec<String> {
    let mut play = Play::new(plan);
    let mut open = play.feed(Happening::Begin {
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
    let plan = plan_with(
        steps(&["a", "b < a", "c < b", "d < a"]),
        4,
        policy(OnFailure::Stop),
        Vec::new(),
    );
    let told = told(plan, vec![kept("c", None)], vec![left("a", &[])]);
    assert_eq!(
        told,
        [
            "a skipped unchecked: not chosen",
            "b skipped unchecked: its dependency `a` was skipped",
            "d skipped unchecked: its dependency `a` was skipped",
            "run succeeded reported",
        ]
    );
}

#[test]
fn of_a_repeated_step_items_can_be_left_out() {
    let mut steps = steps(&["each", "after < each"]);
    steps[0].fan = Fan::List(vec![json!("x"), json!("y"), json!("z")]);
    let plan = plan_with(steps, 2, policy(OnFailure::Stop), Vec::new());
    let told = told(
        plan,
        vec![kept("each", Some("x"))],
        vec![left("each", &["z"])],
    );
    assert_eq!(
        told,
        [
            "each[0] succeeded verified: kept from run 07070707",
            "each[1] skipped unchecked: not chosen",
            "each[2] succeeded reported",
            "each skipped unchecked: 1 of 3 items were not chosen",
            "after skipped unchecked: its dependency `each` was skipped",
            "run succeeded reported",
        ]
    );
}

#[test]
fn finally_steps_are_kept_or_left_out_each_by_itself() {
    let plan = || {
        let steps = steps(&["a", "x", "y", "z"]);
        plan_with(steps, 1, policy(OnFailure::Stop), Vec::new())
    };
    let first = told(
        plan(),
        vec![kept("a", None), kept("x", None), kept("z", None)],
        Vec::new(),
    );
    assert_eq!(first, ["y succeeded reported", "run succeeded reported"]);
    let second = told(
        plan(),
        vec![kept("a", None), kept("y", None)],
        vec![left("x", &[])],
    );
    assert_eq!(
        second,
        [
            "x skipped unchecked: not chosen",
            "z succeeded reported",
            "run succeeded reported"
        ]
    );
    let all = ["a", "x", "y", "z"].map(|step| kept(step, None));
    assert_eq!(
        told(plan(), all.to_vec(), Vec::new()),
        ["run succeeded verified"]
    );
}

#[test]
fn what_is_kept_twice_or_nowhere_counts_once() {
    let plan = plan_with(steps(&["a"]), 1, policy(OnFailure::Stop), Vec::new());
    let twice = vec![kept("a", None), kept("a", None), kept("gone", None)];
    assert_eq!(
        told(plan, twice, vec![left("a", &[]), left("gone", &[])]),
        ["run succeeded verified"]
    );
}

/// Replays a run whose only step is at some attempt, and lets that attempt fail.
fn fail_at(attempt: u32, retry: Retry, idempotent: bool, exit: Exit) -> (Vec<Event>, Vec<Effect>) {
    let mut steps = steps(&["a"]);
    (steps[0].retry, steps[0].idempotent) = (retry.into(), idempotent);
    let plan = plan_with(steps, 1, policy(OnFailure::Stop), Vec::new());
    let mut machine = Machine::new(plan, run_id(), Object::new());
    let at = Moment::from_millis(i64::MAX - 10);
    let begin = Happening::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    };
    machine.turn(Input { at, what: begin });
    let attempt = Attempt {
        place: Place::of(&name("a")),
        attempt,
    };
    let fact = Fact::AttemptStarted(attempt.clone());
    machine.replay(&Event { at, fact }).unwrap();
    let what = ended(attempt, exit);
    let turn = machine.turn(Input { at, what });
    (turn.events, turn.effects)
}

#[test]
fn the_number_of_attempts_has_an_end() {
    let retry = Retry {
        max: u32::MAX,
        backoff: Duration::MAX,
        max_delay: Duration::MAX,
        factor: f64::MAX,
        jitter: 1.0,
        on: vec![Class::Logical],
    };
    for attempt in [1_000_000_000, u32::MAX - 1] {
        let (events, effects) = fail_at(attempt, retry.clone(), false, Exit::Code { code: 1 });
        let next = attempt + 1;
        let scheduled = |event: &Event| matches!(&event.fact, Fact::RetryScheduled { attempt, due, .. } if attempt.attempt == next && due.millis() == i64::MAX);
        assert!(events.iter().any(scheduled), "{events:?}");
        assert!(matches!(&effects[..], [Effect::Wake { .. }]), "{effects:?}");
    }
    for (idempotent, exit) in [(false, Exit::Code { code: 1 }), (true, Exit::Interrupted)] {
        let (events, _) = fail_at(u32::MAX, retry.clone(), idempotent, exit);
        let failed = |event: &Event| matches!(&event.fact, Fact::StepEnded { state, .. } if *state == StepState::Failed);
        assert!(events.iter().any(failed), "{events:?}");
    }
}

/// A random beginning: whole steps kept, in part kept, and left out.
fn beginning(plan: &Plan, dice: &mut Dice) -> (Vec<Kept>, Vec<Left>) {
    let (mut keeps, mut leaves) = (Vec::new(), Vec::new());
    for step in plan.steps() {
        let id = step.id.as_str();
        match (dice.below(5), &step.fan) {
            (0, _) => keeps.push(kept(id, None)),
            (1, Fan::Once) => leaves.push(left(id, &[])),
            (1, _) => leaves.push(left(id, &["1"])),
            (2, Fan::List(_)) => keeps.push(kept(id, Some("0"))),
            _ => {}
        }
    }
    (keeps, leaves)
}

/// The places that a beginning keeps from running.
fn quiet(kept: &[Kept], left: &[Left]) -> BTreeSet<(String, Option<u32>)> {
    let item = |kept: &Kept| kept.item.as_ref().map(|key| key.parse().unwrap());
    let kept = kept.iter().map(|kept| (kept.step.to_string(), item(kept)));
    let whole = left.iter().filter(|left| left.but.is_empty());
    kept.chain(whole.map(|left| (left.step.to_string(), None)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_kept_or_left_out_never_runs(seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, OnFailure::Continue);
        let (kept, left) = beginning(&plan, &mut dice);
        let quiet = quiet(&kept, &left);
        let but: BTreeSet<String> = left.iter().filter(|left| !left.but.is_empty())
            .map(|left| left.step.to_string()).collect();
        let mut world = World::new(seed);
        let mut machine = Machine::new(plan.clone(), run_id(), Object::new());
        world.feed(&mut machine, Happening::Begin { kept, left, dropped: Vec::new(), baseline: None, approved: None, advice: Vec::new(), intent: None });
        let outcome = world.drive(&mut machine, &mut dice);
        check(&plan, &world.events, (&quiet, &but))?;

        // The outcome follows from the run's own events alone.
        let mut replayed = Machine::new(plan.clone(), run_id(), Object::new());
        world.events.iter().for_each(|event| replayed.replay(event).unwrap());
        prop_assert_eq!(replayed.outcome(), Some(outcome));

        // So does what a resume does after any cut.
        let length = world.cuts[cut.index(world.cuts.len())];
        let mut resumed = Machine::new(plan.clone(), run_id(), Object::new());
        let mut again = World::new(seed);
        for event in &world.events[..length] {
            resumed.replay(event).unwrap();
            again.now = event.at.millis();
        }
        again.events = world.events[..length].to_vec();
        let turn = resumed.resume(Moment::from_millis(again.now));
        again.take(turn);
        again.drive(&mut resumed, &mut dice);
        check(&plan, &again.events, (&quiet, &but))?;
    }
}

type Quiet<'a> = (&'a BTreeSet<(String, Option<u32>)>, &'a BTreeSet<String>);

fn check(plan: &Plan, events: &[Event], (quiet, but): Quiet<'_>) -> Result<(), TestCaseError> {
    let mut over = BTreeSet::new();
    let mut failed = false;
    for event in events {
        match &event.fact {
            Fact::AttemptStarted(Attempt { place, .. }) => {
                let step = place.step.to_string();
                let whole = quiet.contains(&(step.clone(), None));
                prop_assert!(
                    !whole && !quiet.contains(&(step.clone(), place.item)),
                    "{place} ran"
                );
                let chosen = place.item == Some(1) || !but.contains(&step);
                prop_assert!(chosen, "{place} ran, which was not chosen");
            }
            Fact::StepKept { step, .. } => {
                prop_assert!(over.insert(Place::of(step)), "{step} ended twice");
            }
            Fact::StepEnded {
                place,
                state,
                tolerated,
                ..
            } => {
                prop_assert!(over.insert(place.clone()), "{place} ended twice");
                let bad = *state == StepState::Failed && !tolerated;
                failed |= bad && place.item.is_none();
            }
            Fact::RunEnded { outcome, tally, .. } => {
                prop_assert_eq!(*outcome == Outcome::Failed, failed);
                let all = [tally.verified, tally.reported, tally.failed, tally.skipped];
                let sum = all.iter().sum::<u32>() + tally.cancelled + tally.tolerated;
                prop_assert_eq!(sum as usize, plan.steps().len());
            }
            _ => {}
        }
    }
    for step in plan.steps() {
        prop_assert!(
            over.contains(&Place::of(&step.id)),
            "{} did not end",
            step.id
        );
    }
    Ok(())
}
