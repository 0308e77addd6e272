//! A run that is drained and resumed goes on with the event that would have been next.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use wf_base::time::Moment;
use wf_core::machine::{Effect, EventKind, InputKind, Machine};
use wf_model::{
    FailureClass, OnStepFailure, Plan, PlanPolicy, RetryPolicy, StepRepetition, StepWork, WaitCondition,
};

use super::{
    play::{policy, steps},
    world::{Dice, World, check, plan_with, run_id},
};

/// Steps one after the other: with checks, retries, items, a wait, and one that always follows.
fn chain() -> Arc<Plan> {
    let mut steps = steps(&["a", "b < a", "c < b", "d < c", "e < d", "last"]);
    steps[1].verify = vec![check("good")];
    let retry = RetryPolicy {
        max: 2,
        on: vec![FailureClass::Logical, FailureClass::Environmental],
        backoff: Duration::from_secs(5),
        ..RetryPolicy::default()
    };
    steps[1].retry = retry.into();
    steps[2].fan = StepRepetition::List(vec![json!(0), json!(1), json!(2)]);
    steps[3].work = StepWork::Wait(WaitCondition::For(Duration::from_secs(3)));
    steps[4].concurrency = Some("lock".into());
    let policy = PlanPolicy { max_parallel: 1, ..policy(OnStepFailure::Stop) };
    plan_with(steps, 5, policy, vec![check("whole")])
}

fn begin(plan: &Arc<Plan>, seed: u64) -> (World, Machine) {
    let mut machine = Machine::new(Arc::clone(plan), run_id(), serde_json::Map::new());
    let mut world = World::new(seed);
    let begin = InputKind::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        dropped: Vec::new(),
        baseline: None,
        approved: None,
        advice: Vec::new(),
        intent: None,
    };
    world.feed(&mut machine, begin);
    (world, machine)
}

fn facts(world: &World) -> Vec<&EventKind> {
    world.events.iter().map(|event| &event.fact).collect()
}

/// Ends what is under way: a timer or a lock lets further work begin, and is not waited for.
fn end_work(world: &mut World, machine: &mut Machine, dice: &mut Dice) {
    world.open.retain(|effect| !matches!(effect, Effect::Wake { .. } | Effect::Lock { .. }));
    while world.answer(machine, dice) {
        world.open.retain(|effect| !matches!(effect, Effect::Wake { .. } | Effect::Lock { .. }));
    }
}

#[test]
fn a_drained_run_goes_on_as_if_nothing_had_been() {
    let plan = chain();
    for seed in 0..40 {
        let mut dice = Dice(seed);
        let (mut whole, mut machine) = begin(&plan, seed);
        let mut answers = 0;
        while machine.outcome().is_none() {
            assert!(whole.answer(&mut machine, &mut dice), "seed {seed}");
            answers += 1;
        }
        for cut in 0..answers {
            let mut dice = Dice(seed);
            let (mut world, mut machine) = begin(&plan, seed);
            (0..cut).for_each(|_| assert!(world.answer(&mut machine, &mut dice)));
            machine.drain();
            let before = world.events.len();
            end_work(&mut world, &mut machine, &mut dice);
            let begun = |event: &wf_core::machine::Event| matches!(event.fact, EventKind::AttemptStarted(_));
            assert!(!world.events[before..].iter().any(begun), "seed {seed}, cut {cut}");

            let mut next = Machine::new(Arc::clone(&plan), run_id(), serde_json::Map::new());
            world.events.iter().for_each(|event| next.replay(event).unwrap());
            (world.open, world.holder) = (Vec::new(), None);
            let turn = next.resume(Moment::from_millis(world.now));
            world.take(turn);
            world.drive(&mut next, &mut dice);
            assert_eq!(facts(&world), facts(&whole), "seed {seed}, cut {cut}");
        }
    }
}

#[test]
fn a_drained_run_that_is_cancelled_goes_to_its_end() {
    let plan = chain();
    let (mut world, mut machine) = begin(&plan, 1);
    machine.drain();
    world.feed(&mut machine, InputKind::Cancel { reason: "no more".into() });
    world.drive(&mut machine, &mut Dice(1));
    let last = |fact: &&EventKind| matches!(fact, EventKind::AttemptStarted(one) if one.task_id.step.as_str() == "last");
    assert!(facts(&world).iter().any(last));
}
