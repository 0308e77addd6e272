//! Evidence: that it is taken, looked at once more, and what follows if it is stale.

use serde_json::json;
use wf_base::digest::Sha256Digest;
use wf_core::machine::{
    Artifact, Baseline, CheckRuling, Effect, EventKind, InputKind, ReusedResult, StaleFile, Standing, TaskId,
    WorkExit,
};
use wf_model::{JsonObject, OnStepFailure, Step, StepRepetition};

use super::{
    killed::{Killed, attempt, single, words},
    play::{Play, play, policy, steps},
    world::{check, ended, name, plan_with, run_id, verdict},
};

fn file() -> Artifact {
    Artifact { path: "out.txt".into(), digest: Sha256Digest::of_bytes(b"out"), size: 3, released_by: None }
}

fn stale(step: &str, item: Option<u32>) -> StaleFile {
    let task_id = TaskId { item, ..TaskId::of_step(&name(step)) };
    let path = "out.txt".into();
    StaleFile { task_id, path }
}

fn checked(step: &mut Step) {
    step.verify = vec![check("good")];
}

fn judged(step: &str, number: u32, ruling: CheckRuling) -> InputKind {
    InputKind::Judged {
        phase: wf_model::CheckPhase::Verify,
        attempt: Some(attempt(step, number)),
        verdicts: vec![verdict(ruling)],
        seen: vec![file()],
    }
}

fn names(run: &Killed) -> Vec<String> {
    let name = |event: &wf_core::machine::Event| {
        let text = serde_json::to_value(&event.fact).unwrap();
        text["event"].as_str().unwrap().to_owned()
    };
    run.events.iter().map(name).collect()
}

/// Two steps that are checked, of which the first is done, and a third without checks.
fn begun() -> Killed {
    let mut steps = steps(&["a", "b < a", "c < b"]);
    steps.iter_mut().take(2).for_each(checked);
    let mut run = Killed::new(plan_with(steps, 3, policy(OnStepFailure::Stop), Vec::new()));
    run.feed(ended(attempt("a", 1), WorkExit::Completed));
    run.feed(judged("a", 1, CheckRuling::Pass));
    run
}

/// The same, with all of it done.
fn confirming() -> (Killed, Vec<Effect>) {
    let mut run = begun();
    run.feed(ended(attempt("b", 1), WorkExit::Completed));
    run.feed(judged("b", 1, CheckRuling::Pass));
    let effects = run.feed(ended(attempt("c", 1), WorkExit::Completed));
    (run, effects)
}

fn over(run: &Killed) -> Option<(Standing, u32, u32, Vec<StaleFile>)> {
    run.events.iter().find_map(|event| match &event.fact {
        EventKind::RunEnded { standing, counts, stale, .. } => {
            Some((*standing, counts.verified, counts.reported, stale.clone()))
        }
        _ => None,
    })
}

#[test]
fn the_workspace_as_it_was_is_recorded_first() {
    let mut run = Killed::new(single(|_| {}));
    assert_eq!(names(&run)[..2], ["run_started", "attempt_started"]);
    run.machine = wf_core::machine::Machine::new(run.plan.clone(), run_id(), JsonObject::new());
    run.events.clear();
    let (kept, left) = (Vec::new(), Vec::new());
    let baseline =
        Some(Baseline { manifest: Sha256Digest::of_bytes(b"the files"), entries: 1, kept: Vec::new() });
    run.feed(InputKind::Begin {
        kept,
        left,
        baseline,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    assert_eq!(names(&run)[..2], ["run_started", "baseline_taken"]);
}

#[test]
fn evidence_is_recorded_before_the_verdicts_and_looked_at_before_the_end() {
    let (mut run, effects) = confirming();
    let places = vec![TaskId::of_step(&name("a")), TaskId::of_step(&name("b"))];
    assert_eq!(effects, [Effect::Confirm { places }]);
    let names = names(&run);
    let taken = names.iter().position(|name| name == "evidence_taken");
    assert_eq!(names[taken.unwrap() + 1], "check_completed");
    assert_eq!(names.last().unwrap(), "phase_started");
    assert_eq!(run.machine.outcome(), None);
    run.feed(InputKind::Confirmed { stale: Vec::new() });
    assert_eq!(over(&run), Some((Standing::Reported, 2, 1, Vec::new())));
}

#[test]
fn stale_evidence_takes_the_standing_back_and_not_the_outcome() {
    let (mut run, _) = confirming();
    let found = vec![stale("a", None)];
    let effects = run.feed(InputKind::Confirmed { stale: found.clone() });
    assert_eq!(words(&effects), ["finish"]);
    assert_eq!(over(&run), Some((Standing::Reported, 1, 2, found)));
    assert_eq!(run.machine.outcome(), Some(wf_core::machine::RunOutcome::Succeeded));
}

#[test]
fn what_is_told_early_twice_or_of_nobody_changes_nothing() {
    let mut run = begun();
    let before = run.events.len();
    for stale in [stale("b", None), stale("nobody", None), stale("a", Some(0))] {
        run.feed(InputKind::Stale(stale));
    }
    run.feed(InputKind::Confirmed { stale: vec![stale("a", None)] });
    assert_eq!(run.events.len(), before);
    run.feed(InputKind::Stale(stale("a", None)));
    run.feed(InputKind::Stale(stale("a", None)));
    assert_eq!(run.events.len(), before + 1);
    // What is stale already is not looked at again.
    run.feed(ended(attempt("b", 1), WorkExit::Completed));
    run.feed(judged("b", 1, CheckRuling::Pass));
    let effects = run.feed(ended(attempt("c", 1), WorkExit::Completed));
    let places = vec![TaskId::of_step(&name("b"))];
    assert_eq!(effects, [Effect::Confirm { places }]);
    run.feed(InputKind::Confirmed { stale: vec![stale("a", None), stale("c", None), stale("b", None)] });
    let all = vec![stale("a", None), stale("b", None)];
    assert_eq!(over(&run), Some((Standing::Reported, 0, 3, all)));
}

#[test]
fn a_run_without_evidence_ends_at_once() {
    let mut run = Killed::new(single(checked));
    run.feed(ended(attempt("a", 1), WorkExit::Completed));
    let effects = run.feed(InputKind::Judged {
        phase: wf_model::CheckPhase::Verify,
        attempt: Some(attempt("a", 1)),
        verdicts: vec![verdict(CheckRuling::Pass)],
        seen: Vec::new(),
    });
    assert_eq!(words(&effects), ["finish"]);
    let mut refuted = Killed::new(single(checked));
    refuted.feed(ended(attempt("a", 1), WorkExit::Completed));
    let effects = refuted.feed(judged("a", 1, CheckRuling::Fail));
    assert_eq!(words(&effects), ["finish"]);
}

#[test]
fn a_resume_asks_again() {
    let (mut run, asked) = confirming();
    assert_eq!(run.resume(), asked);
    run.feed(InputKind::Stale(stale("a", None)));
    let places = vec![TaskId::of_step(&name("b"))];
    assert_eq!(run.resume(), [Effect::Confirm { places }]);
    run.feed(InputKind::Confirmed { stale: Vec::new() });
    assert_eq!(run.resume(), []);
}

#[test]
fn who_insists_on_the_end_does_not_wait() {
    let (mut run, _) = confirming();
    assert_eq!(run.cancel(), []);
    assert_eq!(words(&run.cancel()), ["finish"]);
    let before = run.events.len();
    run.feed(InputKind::Confirmed { stale: vec![stale("a", None)] });
    run.feed(InputKind::Stale(stale("a", None)));
    assert_eq!(run.events.len(), before);
    // Told before, it does not even ask.
    let mut run = begun();
    run.cancel();
    run.cancel();
    run.feed(ended(attempt("b", 1), WorkExit::Cancelled));
    let last = names(&run);
    assert_eq!(last.last().unwrap(), "run_ended");
    assert!(!last.contains(&"phase_started".to_owned()));
}

#[test]
fn a_run_that_is_cancelled_looks_at_what_it_proved() {
    let mut run = begun();
    run.cancel();
    let effects = run.feed(ended(attempt("b", 1), WorkExit::Cancelled));
    assert_eq!(words(&effects), ["confirm"]);
    run.feed(InputKind::Confirmed { stale: vec![stale("a", None)] });
    let all = vec![stale("a", None)];
    assert_eq!(over(&run), Some((Standing::Unchecked, 0, 1, all)));
}

#[test]
fn items_fall_back_and_their_step_with_them() {
    let repeated = |steps: &mut Vec<Step>| {
        checked(&mut steps[0]);
        steps[0].fan = StepRepetition::List(vec!["x".into(), "y".into()]);
    };
    let mut told = play(&["a", "b < a"], OnStepFailure::Stop, repeated);
    told.seen = vec![file()];
    told.stale = vec![stale("a", Some(1)), stale("a", None), stale("a", Some(7))];
    let told = told.told();
    assert_eq!(told[2], "a succeeded verified");
    assert_eq!(told.last().unwrap(), "run succeeded reported");
    // Known before the last item ends, it is in the end of the step.
    let mut play = play(&["a"], OnStepFailure::Stop, repeated);
    play.seen = vec![file()];
    let mut open = play.feed(InputKind::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    while !play.told.iter().any(|line| line.starts_with("a[0]")) {
        let effect = open.remove(0);
        open.extend(play.answer(effect));
    }
    play.feed(InputKind::Stale(stale("a", Some(0))));
    play.run(&mut open);
    assert_eq!(play.told[2..], ["a succeeded reported", "run succeeded reported"]);
}

#[test]
fn criteria_of_the_plan_prove_nothing_that_changed_since() {
    let build = |found: Vec<StaleFile>| {
        let mut steps = steps(&["a", "last"]);
        checked(&mut steps[0]);
        let plan = plan_with(steps, 1, policy(OnStepFailure::Stop), vec![check("whole")]);
        let mut play = Play::new(plan);
        play.seen = vec![file()];
        play.stale = found;
        play.told()
    };
    assert_eq!(build(Vec::new()).last().unwrap(), "run succeeded verified");
    let told = build(vec![stale("a", None)]);
    assert_eq!(told.last().unwrap(), "run succeeded reported");
}

#[test]
fn what_was_kept_can_become_stale() {
    let begin = |item: Option<&str>, evidence: Vec<Artifact>| InputKind::Begin {
        kept: vec![ReusedResult {
            step: name("a"),
            item: item.map(str::to_owned),
            item_digest: None,
            outputs: JsonObject::new(),
            standing: Standing::Verified,
            from: run_id(),
            evidence,
        }],
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    };
    let told = |item: Option<&str>, evidence: Vec<Artifact>, found: Vec<StaleFile>| {
        let plan = single(|step| {
            checked(step);
            if item.is_some() {
                step.fan = StepRepetition::List(vec![json!("x")]);
            }
        });
        let mut play = Play::new(plan);
        play.stale = found;
        let mut open = play.feed(begin(item, evidence));
        let first = words(&open);
        play.run(&mut open);
        (first, play.told.last().cloned().unwrap())
    };
    for (item, place) in [(None, stale("a", None)), (Some("x"), stale("a", Some(0)))] {
        let fresh = told(item, vec![file()], Vec::new());
        assert_eq!(fresh, (vec!["confirm".into()], "run succeeded verified".into()));
        let changed = told(item, vec![file()], vec![place]);
        assert_eq!(changed, (vec!["confirm".into()], "run succeeded reported".into()));
        // Runs that began under an earlier version have no record of it, so nothing asks for it.
        let unknown = told(item, Vec::new(), Vec::new());
        assert_eq!(unknown, (vec!["finish".into()], "run succeeded verified".into()));
    }
}

#[test]
fn the_order_is_criteria_then_finally_then_evidence_then_the_end() {
    let mut steps = steps(&["a", "last"]);
    checked(&mut steps[0]);
    let plan = plan_with(steps, 1, policy(OnStepFailure::Stop), vec![check("whole")]);
    let mut run = Killed::new(plan);
    run.feed(ended(attempt("a", 1), WorkExit::Completed));
    run.feed(judged("a", 1, CheckRuling::Pass));
    run.feed(InputKind::Judged {
        phase: wf_model::CheckPhase::Verify,
        attempt: None,
        verdicts: vec![verdict(CheckRuling::Pass)],
        seen: vec![file()],
    });
    let effects = run.feed(ended(attempt("last", 1), WorkExit::Completed));
    assert_eq!(words(&effects), ["confirm"]);
    let phases = run.events.iter().filter_map(|event| match &event.fact {
        EventKind::PhaseStarted { phase } => Some(serde_json::to_value(phase).unwrap()),
        _ => None,
    });
    let phases: Vec<_> = phases.collect();
    assert_eq!(phases, ["verify", "finally", "confirm"]);
    let taken = names(&run);
    let taken = taken.iter().filter(|name| *name == "evidence_taken");
    assert_eq!(taken.count(), 1);
}
