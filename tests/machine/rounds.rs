//! What the controller makes of a round, rule by rule.

use std::{sync::Arc, time::Duration};

use wf_base::name::PlanId;
use wf_core::machine::{EventKind, Round, RunOutcome, WorkExit};
use wf_model::{
    Alternative, Check, FailureClass, OnStepError, OnStepFailure, Plan, PlanParts, ReplanSettings, RunBudget,
    Step, StepWork, WaitCondition,
};

use super::{
    play::{Play, expr, policy, steps},
    world::{check, name},
};

/// Lets a step be done with other tools, on other targets.
pub(super) fn ways(step: &mut Step, all: &[(&str, &str)]) {
    let word = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut all = all.iter().map(|(tool, target)| Step {
        tool: word(tool),
        target: word(target),
        alternatives: Vec::new(),
        ..step.clone()
    });
    let mut made = all.next().unwrap();
    made.alternatives = (1..)
        .zip(all)
        .map(|(at, way)| Alternative { id: name(&format!("w{at}")), replaces: false, step: Arc::new(way) })
        .collect();
    *step = made;
}

/// Numbers with which only the failures decide: no time passes, and nothing is accepted but all.
pub(super) fn exact() -> ReplanSettings {
    ReplanSettings { strict: true, ..ReplanSettings::default() }
}

pub(super) struct Set {
    replan: ReplanSettings,
    budget: Option<RunBudget>,
    verify: Vec<Check>,
}

impl Set {
    pub(super) fn of(replan: ReplanSettings) -> Self {
        Self { replan, budget: None, verify: Vec::new() }
    }
}

pub(super) fn play(lines: &[&str], set: Set, change: impl FnOnce(&mut Vec<Step>)) -> Play {
    let mut steps = steps(lines);
    change(&mut steps);
    let last = |step: &Step| step.id.as_str().starts_with("last");
    let main = steps.iter().position(last).unwrap_or(steps.len());
    let id = PlanId::parse("p").unwrap();
    let parts = PlanParts {
        replan: Some(set.replan),
        budget: set.budget,
        verify: set.verify,
        ..PlanParts::new(id, steps, main, policy(OnStepFailure::Continue))
    };
    Play::new(Plan::new(parts).unwrap())
}

/// A failure of the world.
fn away() -> WorkExit {
    WorkExit::Error { reason: "no connection".into(), failure_class: FailureClass::Environmental }
}

/// A result that is wrong.
pub(super) fn wrong() -> WorkExit {
    WorkExit::Code { code: 1 }
}

/// The rounds of a play.
pub(super) fn rounds(mut play: Play) -> (Vec<Round>, Play) {
    play.plays();
    let all = play.events.iter().filter_map(|event| match &event.fact {
        EventKind::RoundCompleted(round) => Some((**round).clone()),
        _ => None,
    });
    (all.collect(), play)
}

/// A round in a line: `change_path 1/2 a=w1 | a b`, with what runs again behind the bar.
pub(super) fn lines(rounds: &[Round]) -> Vec<String> {
    let line = |round: &Round| {
        let met = round.checks;
        let directive = round.solved.directive.as_str();
        let mut text = format!("{directive} {}/{}", met.passed, met.total);
        for change in &round.changes {
            let to = change.to.as_ref().map_or("as written", |id| id.as_str());
            text += &format!(" {}={to}", change.step);
        }
        let again: Vec<&str> = round.reopened.iter().map(wf_base::name::Name::as_str).collect();
        if !again.is_empty() {
            text += &format!(" | {}", again.join(" "));
        }
        if let Some(stop_reason) = &round.stop_reason {
            text += &format!(": {stop_reason}");
        }
        text
    };
    rounds.iter().map(line).collect()
}

fn ruled(play: &Play) -> usize {
    let own = |fact: &&EventKind| matches!(fact, EventKind::CheckCompleted { attempt: None, .. });
    play.events.iter().map(|event| &event.fact).filter(own).count()
}

#[test]
fn a_failed_step_closes_the_gate_before_the_plans_own_criteria() {
    let set = Set { verify: vec![check("whole")], ..Set::of(exact()) };
    let mut play = play(&["a", "b < a"], set, |steps| {
        ways(&mut steps[0], &[("t", "x"), ("t", "y")]);
    });
    play.exits.insert("a", vec![away()]);
    let (rounds, play) = rounds(play);
    assert_eq!(lines(&rounds), ["change_path 0/2 a=w1 | a b", "accept 3/3"]);
    assert_eq!(rounds[0].failed_check.as_deref(), Some("a: the work"));
    assert_eq!(ruled(&play), 1, "asked in the second round alone");
    assert_eq!(play.machine.outcome(), Some(RunOutcome::Succeeded));
}

#[test]
fn what_failed_by_its_approach_blocks_tools_and_what_failed_by_the_world_targets() {
    let three: [(&str, &str); 3] = [("net:t", "x"), ("net:t", "y"), ("disk:u", "y")];
    let path = || {
        play(&["a"], Set::of(exact()), |steps| {
            ways(&mut steps[0], &three);
        })
    };
    let mut world = path();
    world.exits.insert("a", vec![away(), wrong()]);
    let (all, _) = rounds(world);
    assert_eq!(lines(&all), ["change_path 0/1 a=w1 | a", "change_approach 0/1 a=w2 | a", "accept 1/1"]);
    assert_eq!(all[0].blocked_targets, ["x"]);
    assert!(all[0].blocked_tools.is_empty());
    assert_eq!(
        (&all[1].blocked_targets, &all[1].blocked_tools),
        (&all[0].blocked_targets, &vec!["net:t".into()])
    );
    assert_eq!(all[2].previous, Some(all[1].solved.directive));
    let mut approach = path();
    approach.exits.insert("a", vec![wrong()]);
    let (all, _) = rounds(approach);
    assert_eq!(lines(&all), ["break_symmetry 0/1 a=w2 | a", "accept 1/1"]);
    assert!(all[0].blocked_targets.is_empty());
    // A blocked tool is blocked for every step.
    let mut both = play(&["a", "b < a"], Set::of(exact()), |steps| {
        ways(&mut steps[0], &[("t", ""), ("u", "")]);
        ways(&mut steps[1], &[("s", ""), ("t", ""), ("v", "")]);
    });
    both.exits.insert("a", vec![wrong()]);
    both.exits.insert("b", vec![wrong()]);
    let (all, _) = rounds(both);
    assert_eq!(all[1].changes[0].tool, "v", "{:#?}", all[1]);
}

#[test]
fn a_run_ends_once_so_much_of_the_budget_is_used() {
    let four: [(&str, &str); 4] = [("a", ""), ("b", ""), ("c", ""), ("d", "")];
    let failing = |replan: ReplanSettings, budget: Option<RunBudget>| {
        let set = Set { budget, ..Set::of(replan) };
        let mut play = play(&["a"], set, |steps| ways(&mut steps[0], &four));
        play.exits.insert("a", vec![wrong(); 9]);
        let (rounds, play) = rounds(play);
        assert_eq!(play.machine.outcome(), Some(RunOutcome::Abandoned));
        lines(&rounds)
    };
    // One of three rounds weighs 0.2 of Ω.
    let theta = |theta| ReplanSettings { theta, ..exact() };
    assert_eq!(failing(theta(0.2), None).last().unwrap(), "abandon 0/1");
    assert_eq!(failing(theta(0.2), None).len(), 2);
    assert_eq!(failing(theta(0.21), None).len(), 3);
    let all = failing(exact(), None);
    assert_eq!(all.len(), 4);
    assert!(all[3].ends_with("3 of 3 re-planning rounds are used"), "{all:?}");
    let two = ReplanSettings { max_replans: 9, ..exact() };
    let budget = RunBudget { max_rounds: Some(1), ..RunBudget::default() };
    let all = failing(two.clone(), Some(budget));
    assert_eq!(all.len(), 2);
    assert!(all[1].ends_with(": the budget allows no further round"), "{all:?}");
    let all = failing(two, None);
    assert!(all[3].ends_with(": no alternative is left"), "{all:?}");
    let none = ReplanSettings { max_replans: 0, ..exact() };
    assert_eq!(failing(none, None).len(), 1);
}

#[test]
fn time_alone_does_not_end_a_run_and_counts_with_the_rounds() {
    let slow = |seconds: u64, theta: f64| {
        let replan = ReplanSettings { time_budget: Duration::from_secs(10), theta, ..exact() };
        let mut play = play(&["nap", "a < nap"], Set::of(replan), |steps| {
            steps[0].work = StepWork::Wait(WaitCondition::For(Duration::from_secs(seconds)));
            ways(&mut steps[1], &[("t", ""), ("u", "")]);
        });
        play.exits.insert("a", vec![wrong()]);
        rounds(play).0
    };
    assert_eq!(lines(&slow(99, 0.5))[1], "accept 2/2");
    assert_eq!(lines(&slow(10, 0.4)), ["abandon 1/2"]);
    assert_eq!(lines(&slow(9, 0.4))[1], "accept 2/2");
}

#[test]
fn two_rounds_that_are_worse_end_a_run() {
    let replan = ReplanSettings { lambda: 2.0, max_replans: 4, ..exact() };
    let mut play = play(&["a"], Set::of(replan), |steps| {
        ways(&mut steps[0], &[("a", ""), ("b", ""), ("c", ""), ("d", "")]);
    });
    play.exits.insert("a", vec![wrong(); 9]);
    let (rounds, play) = rounds(play);
    let worse: Vec<u32> = rounds.iter().map(|round| round.solved.worsening).collect();
    assert_eq!(worse, [0, 1, 2]);
    assert_eq!(lines(&rounds)[2], "abandon 0/1");
    assert_eq!(play.machine.outcome(), Some(RunOutcome::Abandoned));
}

#[test]
fn a_cancellation_ends_the_rounds_and_is_judged_by_none() {
    let mut play = play(&["a", "b < a", "last"], Set::of(exact()), |steps| {
        ways(&mut steps[0], &[("t", "x"), ("t", "y")]);
    });
    play.exits.insert("a", vec![away()]);
    play.cancel_at = Some("b");
    let (rounds, play) = rounds(play);
    assert_eq!(lines(&rounds), ["change_path 0/2 a=w1 | a b"]);
    assert_eq!(play.machine.outcome(), Some(RunOutcome::Cancelled));
    assert!(play.told.contains(&"last succeeded reported".to_owned()), "{:?}", play.told);
}

#[test]
fn what_is_skipped_by_rule_does_not_count_nor_what_hangs_on_it() {
    let mut play = play(&["a", "b", "c < b", "d < a"], Set::of(exact()), |steps| {
        steps[1].when = Some(expr("params.region == 'us'").into());
        ways(&mut steps[0], &[("t", "x"), ("t", "y")]);
    });
    play.exits.insert("a", vec![away()]);
    let (rounds, play) = rounds(play);
    // Of four steps, two count: `d` was not reached, `b` and `c` are left out on purpose.
    assert_eq!(lines(&rounds), ["change_path 0/2 a=w1 | a d", "accept 2/2"]);
    let skipped = play.told.iter().filter(|line| line.contains("skipped"));
    assert_eq!(skipped.count(), 3, "{:?}", play.told);
}

#[test]
fn a_tolerated_failure_does_not_count() {
    let mut play = play(&["a", "b < a"], Set::of(exact()), |steps| {
        steps[0].on_error = OnStepError::Continue;
        ways(&mut steps[0], &[("t", "x"), ("t", "y")]);
    });
    play.exits.insert("a", vec![wrong()]);
    let (rounds, play) = rounds(play);
    assert_eq!(lines(&rounds), ["accept 1/1"]);
    assert_eq!(play.machine.outcome(), Some(RunOutcome::Succeeded));
}

#[test]
fn a_plan_without_replan_has_no_rounds() {
    let mut steps = steps(&["a"]);
    ways(&mut steps[0], &[("t", "x"), ("t", "y")]);
    let parts = PlanParts::new(PlanId::parse("p").unwrap(), steps, 1, policy(OnStepFailure::Continue));
    let mut play = Play::new(Plan::new(parts).unwrap());
    play.exits.insert("a", vec![away()]);
    let (rounds, play) = rounds(play);
    assert!(rounds.is_empty());
    assert_eq!(play.machine.outcome(), Some(RunOutcome::Failed));
}

#[test]
fn an_item_that_ended_well_is_not_done_otherwise() {
    let mut play = play(&["a"], Set::of(exact()), |steps| {
        steps[0].fan = wf_model::StepRepetition::List(vec![1.into(), 2.into(), 3.into()]);
        ways(&mut steps[0], &[("t", "x"), ("t", "y")]);
    });
    play.exits.insert("a", vec![WorkExit::Code { code: 0 }, away()]);
    let (rounds, play) = rounds(play);
    assert_eq!(lines(&rounds), ["change_path 2/3 a=w1 | a", "accept 3/3"]);
    let started = |fact: &&EventKind| matches!(fact, EventKind::AttemptStarted(_));
    let facts = play.events.iter().map(|event| &event.fact);
    assert_eq!(facts.filter(started).count(), 4);
}

#[test]
fn the_change_that_was_ordered_is_recorded_with_the_one_that_was_made() {
    // Another target was asked for, and there is none: another tool is the next best.
    let mut play = play(&["a"], Set::of(exact()), |steps| {
        ways(&mut steps[0], &[("t", "x"), ("net:u", "y")]);
    });
    play.exits.insert("a", vec![away()]);
    let (rounds, _) = rounds(play);
    assert_eq!(rounds[0].solved.directive.as_str(), "change_path");
    assert_eq!(rounds[0].changes[0].kind.as_str(), "break_symmetry");
}
