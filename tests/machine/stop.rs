//! A failure in a fan of independent steps.

use std::collections::BTreeSet;

use wf_core::machine::{Attempt, Effect, EventKind, StepState, WorkExit};
use wf_model::{OnStepFailure, PlanPolicy};

use super::{
    killed::{Killed, end_of},
    play::{policy, steps},
    world::{Dice, ended, plan_with},
};

/// Plays a fan to its end: the attempts under way end in any order, and one step fails.
fn play_fan(ids: &[&str], max_parallel: u32, seed: u64) -> Killed {
    let mut dice = Dice(seed);
    let policy = PlanPolicy { max_parallel, ..policy(OnStepFailure::Stop) };
    let mut run = Killed::new(plan_with(steps(ids), ids.len(), policy, Vec::new()));
    let failing = ids[dice.below(ids.len())];
    let started = |effects: Vec<Effect>| {
        effects.into_iter().filter_map(|effect| match effect {
            Effect::Start { attempt, .. } => Some(attempt),
            _ => None,
        })
    };
    let effects = run.resume();
    let watched = effects.into_iter().filter_map(|effect| match effect {
        Effect::Watch { attempt, .. } => Some(attempt),
        _ => None,
    });
    let mut under_way: Vec<Attempt> = watched.collect();
    let mut has_failed = false;
    while !under_way.is_empty() {
        assert!(under_way.len() <= max_parallel as usize, "seed {seed}");
        let attempt = under_way.swap_remove(dice.below(under_way.len()));
        let code = i32::from(attempt.task_id.step.as_str() == failing);
        let effects = run.feed(ended(attempt, WorkExit::Code { code }));
        // An attempt under way is let end, and none starts after the failure.
        let is_kill = |effect: &Effect| matches!(effect, Effect::Kill { .. });
        assert!(!effects.iter().any(is_kill), "seed {seed}");
        let next: Vec<Attempt> = started(effects).collect();
        has_failed |= code != 0;
        assert!(!has_failed || next.is_empty(), "seed {seed}: {next:?}");
        under_way.extend(next);
    }
    assert_eq!(end_of(&run.events, failing).map(|end| end.0), Some(StepState::Failed), "seed {seed}");
    run
}

#[test]
fn a_failure_ends_no_other_step_of_a_fan_but_as_succeeded_or_not_started() {
    let ids: Vec<String> = (0..300).map(|at| format!("s{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    for seed in 0..40 {
        let run = play_fan(&ids, 1 + u32::try_from(seed % 8).unwrap(), seed);
        assert!(run.machine.outcome().is_some(), "seed {seed}");
        let started = run.events.iter().filter_map(|event| match &event.fact {
            EventKind::AttemptStarted(attempt) => Some(attempt.task_id.step.as_str()),
            _ => None,
        });
        let started: BTreeSet<&str> = started.collect();
        let mut failed = 0;
        for id in &ids {
            let (state, reason) = end_of(&run.events, id).expect("it ended");
            match state {
                StepState::Failed => failed += 1,
                StepState::Succeeded => assert!(started.contains(id), "seed {seed}: {id}"),
                StepState::Skipped => assert!(!started.contains(id), "seed {seed}: {id}"),
                other => panic!("seed {seed}: {id} ended as {other:?}: {reason}"),
            }
        }
        assert_eq!(failed, 1, "seed {seed}");
    }
}
