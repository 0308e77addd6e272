//! Evidence: that it is taken, looked at once more, and what follows if it is stale.

use wf::digest::Digest;
use wf::machine::{
    Artifact, Baseline, Effect, Exit, Fact, Happening, Kept, Place, Ruling, Stale, Standing,
};
use wf::model::{Fan, Object, OnFailure, Step};

use super::killed::{Killed, attempt, single, words};
use super::play::{Play, play, policy, steps};
use super::world::{check, ended, name, plan_with, run_id, verdict};

fn file() -> Artifact {
    Artifact {
        path: "out.txt".into(),
        digest: Digest::of(b"out"),
        size: 3,
    }
}

fn stale(step: &str, item: Option<u32>) -> Stale {
    let place = Place {
        item,
        ..Place::of(&name(step))
    };
    let path = "out.txt".into();
    Stale { place, path }
}

fn checked(step: &mut Step) {
    step.verify = vec![check("good")];
}

fn judged(step: &str, number: u32, ruling: Ruling) -> Happening {
    Happening::Judged {
        phase: wf::model::CheckPhase::Verify,
        attempt: Some(attempt(step, number)),
        verdicts: vec![verdict(ruling)],
        seen: vec![file()],
    }
}

fn names(run: &Killed) -> Vec<String> {
    let name = |event: &wf::machine::Event| {
        let text = serde_json::to_value(&event.fact).unwrap();
        text["event"].as_str().unwrap().to_owned()
    };
    run.events.iter().map(name).collect()
}

/// Two steps that are checked, of which the first is done, and a third without checks.
fn begun() -> Killed {
    let mut steps = steps(&["a", "b < a", "c < b"]);
    steps.iter_mut().take(2).for_each(checked);
    let mut run = Killed::new(plan_with(steps, 3, policy(OnFailure::Stop), Vec::new()));
    run.feed(ended(attempt("a", 1), Exit::Done));
    run.feed(judged("a", 1, Ruling::Pass));
    run
}

/// The same, with all of it done.
fn confirming() -> (Killed, Vec<Effect>) {
    let mut run = begun();
    run.feed(ended(attempt("b", 1), Exit::Done));
    run.feed(judged("b", 1, Ruling::Pass));
    let effects = run.feed(ended(attempt("c", 1), Exit::Done));
    (run, effects)
}

fn over(run: &Killed) -> Option<(Standing, u32, u32, Vec<Stale>)> {
    run.events.iter().find_map(|event| match &event.fact {
        Fact::RunEnded {
            standing,
            tally,
            stale,
            ..
        } => Some((*standing, tally.verified, tally.reported, stale.clone())),
        _ => None,
    })
}

#[test]
fn the_workspace_as_it_was_is_recorded_first() {
    let mut run = Killed::new(single(|_| {}));
    assert_eq!(names(&run)[..2], ["run_started", "attempt_started"]);
    run.machine = wf::machine::Machine::new(run.plan.clone(), run_id(), Object::new());
    run.events.clear();
    let (kept, left) = (Vec::new(), Vec::new());
    let baseline = Some(Baseline {
        manifest: Digest::of(b"the files"),
        entries: 1,
    });
    run.feed(Happening::Begin {
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
    let places = vec![Place::of(&name("a")), Place::of(&name("b"))];
    assert_eq!(effects, [Effect::Confirm { places }]);
    let names = names(&run);
    let taken = names.iter().position(|name| name == "evidence_taken");
    assert_eq!(names[taken.unwrap() + 1], "criterion_judged");
    assert_eq!(names.last().unwrap(), "phase_entered");
    assert_eq!(run.machine.outcome(), None);
    run.feed(Happening::Confirmed { stale: Vec::new() });
    assert_eq!(over(&run), Some((Standing::Reported, 2, 1, Vec::new())));
}

#[test]
fn stale_evidence_takes_the_standing_back_and_not_the_outcome() {
    let (mut run, _) = confirming();
    let found = vec![stale("a", None)];
    let effects = run.feed(Happening::Confirmed {
        stale: found.clone(),
    });
    assert_eq!(words(&effects), ["finish"]);
    assert_eq!(over(&run), Some((Standing::Reported, 1, 2, found)));
    assert_eq!(run.machine.outcome(), Some(wf::machine::Outcome::Succeeded));
}

#[test]
fn what_is_told_early_twice_or_of_nobody_changes_nothing() {
    let mut run = begun();
    let before = run.events.len();
    for stale in [stale("b", None), stale("nobody", None), stale("a", Some(0))] {
        run.feed(Happening::Stale(stale));
    }
    run.feed(Happening::Confirmed {
        stale: vec![stale("a", None)],
    });
    assert_eq!(run.events.len(), before);
    run.feed(Happening::Stale(stale("a", None)));
    run.feed(Happening::Stale(stale("a", None)));
    assert_eq!(run.events.len(), before + 1);
    // What is stale already is not looked at again.
    run.feed(ended(attempt("b", 1), Exit::Done));
    run.feed(judged("b", 1, Ruling::Pass));
    let effects = run.feed(ended(attempt("c", 1), Exit::Done));
    let places = vec![Place::of(&name("b"))];
    assert_eq!(effects, [Effect::Confirm { places }]);
    run.feed(Happening::Confirmed {
        stale: vec![stale("a", None), stale("c", None), stale("b", None)],
    });
    let all = vec![stale("a", None), stale("b", None)];
    assert_eq!(over(&run), Some((Standing::Reported, 0, 3, all)));
}

#[test]
fn a_run_without_evidence_ends_at_once() {
    let mut run = Killed::new(single(checked));
    run.feed(ended(attempt("a", 1), Exit::Done));
    let effects = run.feed(Happening::Judged {
        phase: wf::model::CheckPhase::Verify,
        attempt: Some(attempt("a", 1)),
        verdicts: vec![verdict(Ruling::Pass)],
        seen: Vec::new(),
    });
    assert_eq!(words(&effects), ["finish"]);
    let mut refuted = Killed::new(single(checked));
    refuted.feed(ended(attempt("a", 1), Exit::Done));
    let effects = refuted.feed(judged("a", 1, Ruling::Fail));
    assert_eq!(words(&effects), ["finish"]);
}

#[test]
fn a_resume_asks_again() {
    let (mut run, asked) = confirming();
    assert_eq!(run.resume(), asked);
    run.feed(Happening::Stale(stale("a", None)));
    let places = vec![Place::of(&name("b"))];
    assert_eq!(run.resume(), [Effect::Confirm { places }]);
    run.feed(Happening::Confirmed { stale: Vec::new() });
    assert_eq!(run.resume(), []);
}

#[test]
fn who_insists_on_the_end_does_not_wait() {
    let (mut run, _) = confirming();
    assert_eq!(run.cancel(), []);
    assert_eq!(words(&run.cancel()), ["finish"]);
    let before = run.events.len();
    run.feed(Happening::Confirmed {
        stale: vec![stale("a", None)],
    });
    run.feed(Happening::Stale(stale("a", None)));
    assert_eq!(run.events.len(), before);
    // Told before, it does not even ask.
    let mut run = begun();
    run.cancel();
    run.cancel();
    run.feed(ended(attempt("b", 1), Exit::Cancelled));
    let last = names(&run);
    assert_eq!(last.last().unwrap(), "run_ended");
    assert!(!last.contains(&"phase_entered".to_owned()));
}

#[test]
fn a_run_that_is_cancelled_looks_at_what_it_proved() {
    let mut run = begun();
    run.cancel();
    let effects = run.feed(ended(attempt("b", 1), Exit::Cancelled));
    assert_eq!(words(&effects), ["confirm"]);
    run.feed(Happening::Confirmed {
        stale: vec![stale("a", None)],
    });
    let all = vec![stale("a", None)];
    assert_eq!(over(&run), Some((Standing::Unchecked, 0, 1, all)));
}

#[test]
fn items_fall_back_and_their_step_with_them() {
    let repeated = |steps: &mut Vec<Step>| {
        checked(&mut steps[0]);
        steps[0].fan = Fan::List(vec!["x".into(), "y".into()]);
    };
    let mut told = play(&["a", "b < a"], OnFailure::Stop, repeated);
    told.seen = vec![file()];
    told.stale = vec![stale("a", Some(1)), stale("a", None), stale("a", Some(7))];
    let told = told.told();
    assert_eq!(told[2], "a succeeded verified");
    assert_eq!(told.last().unwrap(), "run succeeded reported");
    // Known before the last item ends, it is in the end of the step.
    let mut play = play(&["a"], OnFailure::Stop, repeated);
    play.seen = vec![file()];
    let mut open = play.feed(Happening::Begin {
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
    play.feed(Happening::Stale(stale("a", Some(0))));
    play.run(&mut open);
    assert_eq!(
        play.told[2..],
        ["a succeeded reported", "run succeeded reported"]
    );
}

#[test]
fn criteria_of_the_plan_prove_nothing_that_changed_since() {
    let build = |found: Vec<Stale>| {
        let mut steps = steps(&["a", "last"]);
        checked(&mut steps[0]);
        let plan = plan_with(steps, 1, policy(OnFailure::Stop), vec![check("whole")]);
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
    let plan = single(checked);
    let mut play = Play::new(plan);
    let kept = vec![Kept {
        step: name("a"),
        item: None,
        outputs: Object::new(),
        standing: Standing::Verified,
        from: run_id(),
    }];
    let left = Vec::new();
    // It has no evidence in this run, so nothing asks for it.
    let open = play.feed(Happening::Begin {
        kept,
        left,
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    assert_eq!(words(&open), ["finish"]);
    assert_eq!(play.told, ["run succeeded verified"]);
}

#[test]
fn the_order_is_criteria_then_finally_then_evidence_then_the_end() {
    let mut steps = steps(&["a", "last"]);
    checked(&mut steps[0]);
    let plan = plan_with(steps, 1, policy(OnFailure::Stop), vec![check("whole")]);
    let mut run = Killed::new(plan);
    run.feed(ended(attempt("a", 1), Exit::Done));
    run.feed(judged("a", 1, Ruling::Pass));
    run.feed(Happening::Judged {
        phase: wf::model::CheckPhase::Verify,
        attempt: None,
        verdicts: vec![verdict(Ruling::Pass)],
        seen: vec![file()],
    });
    let effects = run.feed(ended(attempt("last", 1), Exit::Done));
    assert_eq!(words(&effects), ["confirm"]);
    let phases = run.events.iter().filter_map(|event| match &event.fact {
        Fact::PhaseEntered { phase } => Some(serde_json::to_value(phase).unwrap()),
        _ => None,
    });
    let phases: Vec<_> = phases.collect();
    assert_eq!(phases, ["verify", "finally", "confirm"]);
    let taken = names(&run);
    let taken = taken.iter().filter(|name| *name == "evidence_taken");
    assert_eq!(taken.count(), 1);
}
