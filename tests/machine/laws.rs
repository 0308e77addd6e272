//! The laws of the core, over random plans and worlds.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use wf_base::time::Moment;
use wf_core::machine::{
    Attempt, Event, EventKind, InputKind, Machine, MachineInput, RunOutcome, StepState, TaskId,
};
use wf_model::{JsonObject, OnStepError, OnStepFailure, Plan, StepRepetition, StepWork};

use super::world::{Dice, Fate, World, any_plan, ended, ends, fate, run_id};

const BEGIN: InputKind = InputKind::Begin {
    kept: Vec::new(),
    left: Vec::new(),
    baseline: None,
    dropped: Vec::new(),
    approved: None,
    advice: Vec::new(),
    intent: None,
};

fn policies() -> impl Strategy<Value = OnStepFailure> {
    prop_oneof![Just(OnStepFailure::Stop), Just(OnStepFailure::Cancel), Just(OnStepFailure::Continue)]
}

/// How every place must end when a failure touches only its dependants, said without events,
/// inputs or states.
fn expected(plan: &Plan, seed: u64) -> BTreeMap<TaskId, StepState> {
    let mut ends = BTreeMap::new();
    for step in plan.steps() {
        let bad = |end: &StepState, ix: &wf_model::StepIx| {
            let allowed_to_fail =
                plan.step(*ix).on_error == OnStepError::Continue && *end == StepState::Failed;
            *end != StepState::Succeeded && !allowed_to_fail
        };
        let place = TaskId::of_step(&step.id);
        let blocked = step.depends_on.iter().any(|ix| bad(&ends[&TaskId::of_step(&plan.step(*ix).id)], ix));
        let works = |task_id: &TaskId| {
            matches!(step.work, StepWork::Wait(_))
                || (1..=step.retry.max + 1).any(|attempt| {
                    match fate(seed, &Attempt { task_id: task_id.clone(), attempt }) {
                        Fate::Works => true,
                        Fate::Lies => step.verify.is_empty(),
                        Fate::Breaks => false,
                    }
                })
        };
        let end = |well| {
            if well { StepState::Succeeded } else { StepState::Failed }
        };
        let state = match &step.fan {
            _ if blocked => StepState::Skipped,
            StepRepetition::List(items) => {
                let mut all = true;
                for item in 0..u32::try_from(items.len()).unwrap() {
                    let place = TaskId { step: step.id.clone(), item: Some(item) };
                    all &= works(&place);
                    ends.insert(place.clone(), end(works(&place)));
                }
                end(all)
            }
            _ => end(works(&place)),
        };
        ends.insert(place, state);
    }
    ends
}

/// A wait with checks that lie is judged like any other work.
fn plain(plan: &Plan) -> bool {
    plan.steps().iter().all(|step| !matches!(step.work, StepWork::Wait(_)) || step.verify.is_empty())
}

fn started(plan: &std::sync::Arc<Plan>, world: &mut World) -> Machine {
    let mut machine = Machine::new(plan.clone(), run_id(), JsonObject::new());
    world.feed(&mut machine, BEGIN);
    machine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_run_does_what_its_plan_says(seed in any::<u64>()) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, OnStepFailure::Continue);
        prop_assume!(plain(&plan));
        let mut world = World::new(seed);
        let mut machine = started(&plan, &mut world);
        let outcome = world.drive(&mut machine, &mut dice);
        let expected = expected(&plan, seed);
        prop_assert_eq!(world.ends(), expected.clone());
        let fails = |step: &&wf_model::Step| {
            expected[&TaskId::of_step(&step.id)] == StepState::Failed && step.on_error == OnStepError::Fail
        };
        let failed = plan.steps().iter().any(|step| fails(&step));
        prop_assert_eq!(outcome == RunOutcome::Failed, failed);
    }

    #[test]
    fn any_cut_recovers_and_repeats_nothing(seed in any::<u64>(), policy in policies(), cut in any::<prop::sample::Index>()) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, policy);
        let mut world = World::new(seed);
        let mut machine = started(&plan, &mut world);
        world.drive(&mut machine, &mut dice);
        let length = world.cuts[cut.index(world.cuts.len())];
        let kept = world.events[..length].to_vec();
        let (events, _) = recover(&plan, seed, kept, &mut dice);
        let attempts: Vec<&Attempt> = events.iter().filter_map(|event| match &event.fact {
            EventKind::AttemptStarted(attempt) => Some(attempt),
            _ => None,
        }).collect();
        let distinct: BTreeSet<&Attempt> = attempts.iter().copied().collect();
        prop_assert_eq!(attempts.len(), distinct.len(), "an attempt began twice");
        ends(&events);
        lawful(&plan, &events)?;
    }

    #[test]
    fn a_cut_with_nothing_in_flight_changes_no_end(seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, OnStepFailure::Continue);
        let mut world = World::new(seed);
        let mut machine = started(&plan, &mut world);
        world.drive(&mut machine, &mut dice);
        let length = world.cuts[cut.index(world.cuts.len())];
        // Nothing in flight at the cut: the rest must go as it went.
        let mut works = BTreeSet::new();
        for event in &world.events[..length] {
            match &event.fact {
                EventKind::AttemptStarted(attempt) => drop(works.insert(attempt)),
                EventKind::AttemptEnded { attempt, .. } => drop(works.remove(attempt)),
                _ => {}
            }
        }
        let waits = |attempt: &&Attempt| {
            let ix = plan.find(attempt.task_id.step.as_str()).unwrap();
            matches!(plan.step(ix).work, StepWork::Wait(_))
        };
        prop_assume!(works.iter().all(waits));
        let (events, _) = recover(&plan, seed, world.events[..length].to_vec(), &mut dice);
        prop_assert_eq!(ends(&events), world.ends());
    }

    #[test]
    fn every_run_keeps_the_rules(seed in any::<u64>(), policy in policies(), cancel in prop::option::of(0_usize..40)) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, policy);
        let mut world = World::new(seed);
        let mut machine = started(&plan, &mut world);
        for turn in 0..10_000 {
            if cancel.is_some_and(|at| turn == at || turn == 2 * at + 3) {
                world.feed(&mut machine, InputKind::Cancel { reason: "told to".into() });
            }
            if machine.outcome().is_some() {
                break;
            }
            prop_assert!(world.answer(&mut machine, &mut dice), "stuck: {:?}", machine.state());
        }
        prop_assert!(machine.outcome().is_some(), "does not end");
        lawful(&plan, &world.events)?;
    }

    #[test]
    fn what_answers_nothing_changes_nothing(seed in any::<u64>(), policy in policies(), stale in 1_u32..4) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, policy);
        let mut world = World::new(seed);
        let mut machine = started(&plan, &mut world);
        while machine.outcome().is_none() {
            let step = &plan.steps()[dice.below(plan.steps().len())];
            let task_id = TaskId { step: step.id.clone(), item: dice.one_in(2).then_some(1) };
            let attempt = Attempt { task_id, attempt: stale };
            let asked = world.open.iter().any(|effect| format!("{effect:?}").contains(&format!("{attempt:?}")));
            if !asked {
                let before = (machine.state().clone(), machine.in_flight().clone());
                let exit = wf_core::machine::WorkExit::Completed;
                let at = Moment::from_millis(world.now);
                let turn = machine.turn(MachineInput { at, kind: ended(attempt, exit) });
                prop_assert_eq!(turn, wf_core::machine::MachineTurn::default());
                prop_assert_eq!((machine.state(), machine.in_flight()), (&before.0, &before.1));
            }
            prop_assert!(world.answer(&mut machine, &mut dice), "stop_reason");
        }
    }

    #[test]
    fn state_and_effects_can_be_written_down(seed in any::<u64>(), policy in policies()) {
        let mut dice = Dice(seed);
        let plan = any_plan(&mut dice, policy);
        let mut world = World::new(seed);
        let mut machine = started(&plan, &mut world);
        while machine.outcome().is_none() {
            let text = serde_json::to_string(machine.state()).unwrap();
            let back = Machine::from_state(plan.clone(), serde_json::from_str(&text).unwrap()).unwrap();
            prop_assert_eq!(back.state(), machine.state());
            let open: Vec<wf_core::machine::Effect> =
                serde_json::from_str(&serde_json::to_string(&world.open).unwrap()).unwrap();
            prop_assert_eq!(&open, &world.open);
            prop_assert!(world.answer(&mut machine, &mut dice), "stop_reason");
        }
        let events: Vec<Event> =
            serde_json::from_str(&serde_json::to_string(&world.events).unwrap()).unwrap();
        prop_assert_eq!(events, world.events);
    }
}

/// Replays events, resumes, and drives on to the end.
fn recover(
    plan: &std::sync::Arc<Plan>,
    seed: u64,
    events: Vec<Event>,
    dice: &mut Dice,
) -> (Vec<Event>, RunOutcome) {
    let mut machine = Machine::new(plan.clone(), run_id(), JsonObject::new());
    let mut world = World::new(seed);
    world.now = events.last().map_or(0, |event| event.at.millis());
    for event in &events {
        machine.replay(event).unwrap();
    }
    world.events = events;
    let turn = machine.resume(Moment::from_millis(world.now));
    world.take(turn);
    let outcome = world.drive(&mut machine, dice);
    (world.events, outcome)
}

/// The rules that every record of a finished run keeps.
fn lawful(plan: &Plan, events: &[Event]) -> Result<(), TestCaseError> {
    let mut live: BTreeSet<Attempt> = BTreeSet::new();
    let mut over: BTreeSet<TaskId> = BTreeSet::new();
    for (at, event) in events.iter().enumerate() {
        match &event.fact {
            EventKind::AttemptStarted(attempt) => {
                prop_assert!(!over.contains(&attempt.task_id), "{attempt} began after its end");
                let ix = plan.find(attempt.task_id.step.as_str()).unwrap();
                for needed in &plan.step(ix).depends_on {
                    let needed = TaskId::of_step(&plan.step(*needed).id);
                    prop_assert!(over.contains(&needed), "{attempt} began before {needed} ended");
                }
                live.insert(attempt.clone());
                let roomy = |a: &&Attempt| {
                    let ix = plan.find(a.task_id.step.as_str()).unwrap();
                    !matches!(plan.step(ix).work, StepWork::Wait(_))
                };
                let busy = live.iter().filter(roomy).count();
                prop_assert!(busy <= plan.parts().policy.max_parallel as usize, "too many at once");
            }
            EventKind::StepEnded { task_id, .. } => {
                live.retain(|attempt| attempt.task_id != *task_id);
                prop_assert!(over.insert(task_id.clone()), "{task_id} ended twice");
            }
            EventKind::RetryScheduled { attempt, .. } => live.retain(|a| a.task_id != attempt.task_id),
            EventKind::RunEnded { counts, .. } => {
                prop_assert_eq!(at + 1, events.len(), "something follows the end");
                let sum = counts.verified
                    + counts.reported
                    + counts.failed
                    + counts.allowed_to_fail
                    + counts.skipped
                    + counts.cancelled;
                prop_assert_eq!(sum as usize, plan.steps().len());
            }
            _ => {}
        }
    }
    for step in plan.steps() {
        prop_assert!(over.contains(&TaskId::of_step(&step.id)), "{} did not end", step.id);
    }
    prop_assert!(live.is_empty(), "still live: {live:?}");
    let ended = events.iter().filter(|e| matches!(e.fact, EventKind::RunEnded { .. })).count();
    prop_assert_eq!(ended, 1);
    Ok(())
}
