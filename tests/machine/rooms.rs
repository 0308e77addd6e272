//! What a round comes to follows from its plan and its verdicts, and from nothing else.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use wf_base::name::PlanId;
use wf_core::machine::{DeselectedStep, EventKind, InputKind, Round, RunOutcome, WorkExit};
use wf_model::{
    Alternative, Check, FailureClass, OnStepFailure, Plan, PlanParts, PlanPolicy, ReplanSettings, Step,
    StepRepetition, StepWork, WaitCondition,
};

use super::{
    play::{Play, expr, steps},
    world::{check, name},
};

const POLICIES: [OnStepFailure; 3] = [OnStepFailure::Stop, OnStepFailure::Cancel, OnStepFailure::Continue];

/// Lets a step be done with so many other tools.
fn ways(step: &mut Step, many: usize) {
    let written = step.clone();
    step.alternatives = (1..=many)
        .map(|at| Alternative {
            id: name(&format!("w{at}")),
            replaces: false,
            step: Arc::new(Step { tool: Some(format!("t{at}")), ..written.clone() }),
        })
        .collect();
}

struct Set {
    room: u32,
    on_failure: OnStepFailure,
    strict: bool,
    verify: Vec<Check>,
}

impl Default for Set {
    fn default() -> Self {
        Self { room: 8, on_failure: OnStepFailure::Stop, strict: true, verify: Vec::new() }
    }
}

fn play(lines: &[&str], set: Set, change: impl FnOnce(&mut Vec<Step>)) -> Play {
    let mut steps = steps(lines);
    change(&mut steps);
    let main = steps.len();
    let policy = PlanPolicy { max_parallel: set.room, on_failure: set.on_failure, grace: Duration::ZERO };
    let replan = ReplanSettings { strict: set.strict, ..ReplanSettings::default() };
    let id = PlanId::parse("p").unwrap();
    let parts =
        PlanParts { replan: Some(replan), verify: set.verify, ..PlanParts::new(id, steps, main, policy) };
    Play::new(Plan::new(parts).unwrap())
}

fn closed(play: &Play) -> Vec<Round> {
    let facts = play.events.iter().map(|event| &event.fact);
    facts
        .filter_map(|fact| match fact {
            EventKind::RoundCompleted(round) => Some((**round).clone()),
            _ => None,
        })
        .collect()
}

/// The rounds of a play: what each ordered, and how many criteria held.
fn rounds(play: &Play) -> Vec<String> {
    let line = |round: &Round| {
        let (met, of) = (round.checks.passed, round.checks.total);
        format!("{} {met}/{of}", round.solved.directive.as_str())
    };
    closed(play).iter().map(line).collect()
}

fn played(mut play: Play) -> Vec<String> {
    play.plays();
    rounds(&play)
}

fn wrong(times: usize) -> Vec<WorkExit> {
    vec![WorkExit::Code { code: 1 }; times]
}

#[test]
fn a_round_ends_when_all_that_can_run_has_run() {
    for (strict, expected) in [(false, vec!["success 3/4"]), (true, vec!["break_symmetry 3/4", "accept 4/4"])]
    {
        for room in [1, 2, 3, 4, 8] {
            for on_failure in POLICIES {
                let set = Set { room, on_failure, strict, ..Set::default() };
                let change = |steps: &mut Vec<Step>| ways(&mut steps[0], 1);
                let mut play = play(&["a", "b", "c", "d"], set, change);
                play.exits.insert("a", wrong(1));
                play.plays();
                assert_eq!(rounds(&play), expected, "{room} {on_failure:?}");
                let stopped = |fact: &EventKind| matches!(fact, EventKind::RunDraining { .. });
                assert!(!play.events.iter().any(|event| stopped(&event.fact)));
                assert_eq!(play.machine.outcome(), Some(RunOutcome::Succeeded));
            }
        }
    }
}

#[test]
fn what_cannot_run_because_of_a_failure_counts_with_all_its_criteria() {
    let change = |steps: &mut Vec<Step>| {
        ways(&mut steps[0], 1);
        steps[1].fan = StepRepetition::List(vec![json!(1), json!(2), json!(3)]);
        steps[1].verify = vec![check("good"), check("sound")];
    };
    let mut play = play(&["a", "b < a", "c"], Set::default(), change);
    play.exits.insert("a", wrong(9));
    // Three items of two criteria each, of which none was looked at; and `c` holds.
    assert_eq!(played(play)[0], "break_symmetry 1/8");
}

#[test]
fn what_is_skipped_by_rule_does_not_count_whatever_ended_first() {
    for nap in [0, 9] {
        let change = |steps: &mut Vec<Step>| {
            steps[0].work = StepWork::Wait(WaitCondition::For(Duration::from_secs(nap)));
            steps[1].when = Some(expr("params.region == 'us'").into());
            ways(&mut steps[2], 1);
            if nap == 0 {
                steps[1].depends_on.clear();
            }
        };
        let lines = ["nap", "left < nap", "a", "both < a left", "after < both"];
        let mut play = play(&lines, Set::default(), change);
        play.exits.insert("a", wrong(1));
        assert_eq!(played(play), ["break_symmetry 1/2", "accept 2/2"], "{nap}");
    }
}

#[test]
fn the_plans_own_criteria_count_from_when_the_gate_opens() {
    let set = Set { verify: vec![check("good")], ..Set::default() };
    let mut play = play(&["a"], set, |steps| ways(&mut steps[0], 3));
    let well = WorkExit::Code { code: 0 };
    let bad = WorkExit::Code { code: 1 };
    play.exits.insert("a", vec![bad.clone(), well, bad]);
    play.refute = vec!["plan"];
    let told = played(play);
    // Not asked; asked, and refuted; asked before, and behind a failed step again.
    assert_eq!(told[0], "break_symmetry 0/1");
    assert!(told[1].ends_with(" 1/2"), "{told:?}");
    assert!(told[2].ends_with(" 0/2"), "{told:?}");
}

#[test]
fn what_is_accepted_although_the_plans_own_criteria_were_not_asked_says_so() {
    for (verify, expected) in [(vec![check("good")], true), (Vec::new(), false)] {
        let set = Set { strict: false, verify, ..Set::default() };
        let mut play = play(&["a", "b", "c", "d"], set, |_| {});
        play.exits.insert("a", wrong(1));
        play.plays();
        let last = closed(&play).remove(0);
        assert_eq!(last.solved.directive.as_str(), "success");
        assert_eq!(last.rationale.contains("were not run"), expected, "{last:?}");
    }
}

#[test]
fn items_that_are_left_out_by_choice_do_not_count() {
    for (fails, expected) in [(0, vec!["accept 2/2"]), (1, vec!["break_symmetry 1/2", "accept 2/2"])] {
        let mut play = play(&["a", "b"], Set::default(), |steps| {
            steps[0].fan = StepRepetition::List(vec![json!(1), json!(2), json!(3)]);
            ways(&mut steps[0], 1);
        });
        play.exits.insert("a", wrong(fails));
        let left = vec![DeselectedStep { step: name("a"), except_items: vec!["2".into()] }];
        let mut open = play.feed(InputKind::Begin {
            kept: Vec::new(),
            dropped: Vec::new(),
            left,
            baseline: None,
            approved: None,
            advice: Vec::new(),
            intent: None,
        });
        play.run(&mut open);
        assert_eq!(rounds(&play), expected);
    }
}

#[test]
fn an_environmental_failure_among_others_is_no_reason_to_stop() {
    let mut told = Vec::new();
    for room in [1, 2, 8] {
        let set = Set { room, on_failure: OnStepFailure::Cancel, ..Set::default() };
        let mut play = play(&["a", "b", "c < b", "d"], set, |steps| {
            ways(&mut steps[0], 2);
            ways(&mut steps[1], 2);
        });
        let away =
            WorkExit::Error { reason: "no connection".into(), failure_class: FailureClass::Environmental };
        play.exits.insert("a", vec![away.clone(), away]);
        play.exits.insert("b", wrong(1));
        play.plays();
        told.push(closed(&play));
    }
    assert!(told.iter().all(|rounds| *rounds == told[0]), "{told:#?}");
    assert_eq!(told[0][0].solved.loss.d.to_string(), "0.75");
}
