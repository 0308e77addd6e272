//! What the next attempt is told of the one that failed.

use wf_base::digest::Sha256Digest;
use wf_core::machine::{
    AttemptEnd, AttemptFeedback, CachedResult, CheckRuling, CheckVerdict, Effect, EventKind, FailedCheck,
    InputKind, StepItem, TaskId, TimerKind, WorkExit,
};
use wf_model::{FailureClass, JsonObject, RetryPolicy, Step, StepCache, StepRepetition};

use super::{
    killed::{Killed, attempt, single},
    world::{check, ended, name, run_id},
};

fn tried(step: &mut Step) {
    step.verify = vec![check("good"), check("sound"), check("true")];
    step.retry = RetryPolicy {
        max: 5,
        on: vec![FailureClass::Logical, FailureClass::Environmental, FailureClass::Interrupted],
        ..RetryPolicy::default()
    }
    .into();
}

/// A verdict: `+good`, `-sound`, or `?true` for what could not be judged.
fn verdict(text: &str) -> CheckVerdict {
    let (ruling, failure_class) = match &text[..1] {
        "+" => (CheckRuling::Pass, None),
        "-" => (CheckRuling::Fail, Some(FailureClass::Logical)),
        _ => (CheckRuling::Error, Some(FailureClass::Environmental)),
    };
    let told = |text: &str| {
        if ruling == CheckRuling::Pass { String::new() } else { text.into() }
    };
    CheckVerdict {
        name: name(&text[1..]),
        ruling,
        expected: told("exit code 0"),
        found: told("exit code 1"),
        evidence: "it said so".into(),
        failure_class,
        ..super::world::verdict(ruling)
    }
}

fn judged(number: u32, verdicts: &str) -> InputKind {
    InputKind::Judged {
        phase: wf_model::CheckPhase::Verify,
        attempt: Some(attempt("a", number)),
        verdicts: verdicts.split(' ').map(verdict).collect(),
        seen: Vec::new(),
    }
}

fn done(number: u32) -> InputKind {
    ended(attempt("a", number), WorkExit::Code { code: 0 })
}

fn again(number: u32) -> InputKind {
    InputKind::Woke { timer: TimerKind::Retry(attempt("a", number)) }
}

/// What the work that is asked for is told.
fn told(effects: &[Effect]) -> Option<AttemptFeedback> {
    effects.iter().find_map(|effect| match effect {
        Effect::Start { correction, .. } | Effect::Watch { correction, .. } => {
            Some(correction.as_deref().cloned())
        }
        _ => None,
    })?
}

fn criteria(correction: &AttemptFeedback) -> Vec<&str> {
    let failed = correction.failed.iter();
    failed.map(|unmet| unmet.criterion.as_str()).collect()
}

fn gaps(correction: &AttemptFeedback) -> Vec<String> {
    let gaps = correction.gaps.iter();
    gaps.map(|gap| format!("{}:{gap}", gap.attempt)).collect()
}

#[test]
fn an_attempt_is_told_what_the_one_before_failed_and_how_far_all_were_from_done() {
    let mut run = Killed::new(single(tried));
    run.feed(done(1));
    run.feed(judged(1, "-good +sound -true"));
    let second = told(&run.feed(again(2))).unwrap();
    assert_eq!(second.task_id, attempt("a", 1).task_id);
    assert_eq!((second.attempt, second.failure_class), (1, Some(FailureClass::Logical)));
    assert_eq!(
        second.what_was_wrong,
        "check `good`: expected exit code 0, found exit code 1; \
         check `true`: expected exit code 0, found exit code 1"
    );
    assert_eq!(second.what_to_do, "make `good` pass: expected exit code 0, found exit code 1; then `true`");
    let unmet = FailedCheck {
        phase: wf_model::CheckPhase::Verify,
        criterion: name("good"),
        failure_class: Some(FailureClass::Logical),
        expected: "exit code 0".into(),
        found: "exit code 1".into(),
        evidence: "it said so".into(),
    };
    assert_eq!(second.failed[0], unmet);
    assert_eq!(criteria(&second), ["good", "true"]);
    assert_eq!(gaps(&second), ["1:2/3"]);
    run.feed(done(2));
    run.feed(judged(2, "+good +sound ?true"));
    let third = told(&run.feed(again(3))).unwrap();
    assert_eq!((third.attempt, third.failure_class), (2, Some(FailureClass::Environmental)));
    assert_eq!(criteria(&third), ["true"]);
    assert_eq!(gaps(&third), ["1:2/3", "2:1/3"]);
    assert_eq!(
        third.what_to_do,
        "keep the approach: make sure that everything `true` needs is available (expected exit \
         code 0, found exit code 1)"
    );
}

#[test]
fn an_attempt_whose_work_failed_was_not_judged() {
    let mut run = Killed::new(single(tried));
    run.feed(done(1));
    run.feed(judged(1, "-good +sound +true"));
    run.feed(again(2));
    run.feed(ended(attempt("a", 2), WorkExit::TimedOut));
    let third = told(&run.feed(again(3))).unwrap();
    assert_eq!((third.attempt, third.failure_class), (2, Some(FailureClass::Environmental)));
    assert!(third.failed.is_empty());
    assert_eq!(gaps(&third), ["1:1/3"]);
    assert_eq!(third.what_was_wrong, "timed out");
    assert_eq!(
        third.what_to_do,
        "keep the approach: make sure that everything it needs is available (timed out)"
    );
    run.feed(ended(attempt("a", 3), WorkExit::Code { code: 2 }));
    let fourth = told(&run.feed(again(4))).unwrap();
    assert_eq!(fourth.what_to_do, "make the work succeed (exit code 2); see its log");
    run.feed(ended(attempt("a", 4), WorkExit::Interrupted));
    let fifth = told(&run.feed(again(5))).unwrap();
    assert_eq!(fifth.failure_class, Some(FailureClass::Interrupted));
    assert_eq!(fifth.what_to_do, "repeat the work; parts of it may be done already");
}

#[test]
fn what_the_work_printed_may_say_whose_fault_it_was() {
    let mut run = Killed::new(single(tried));
    run.feed(InputKind::Ended(AttemptEnd {
        failure_class: Some(FailureClass::Environmental),
        ..AttemptEnd::new(attempt("a", 1), WorkExit::Code { code: 1 })
    }));
    let failure_class = run.events.iter().find_map(|event| match &event.fact {
        EventKind::AttemptEnded { failure_class, .. } => Some(*failure_class),
        _ => None,
    });
    assert_eq!(failure_class, Some(Some(FailureClass::Environmental)));
    let second = told(&run.feed(again(2))).unwrap();
    assert_eq!(second.failure_class, Some(FailureClass::Environmental));
}

#[test]
fn an_engine_that_takes_over_tells_the_same() {
    let mut run = Killed::new(single(tried));
    run.feed(done(1));
    run.feed(judged(1, "-good ?sound +true"));
    run.resume();
    let second = told(&run.feed(again(2)));
    assert!(second.is_some());
    assert_eq!(told(&run.resume()), second);
    run.feed(done(2));
    assert_eq!(told(&run.resume()), None);
    run.feed(judged(2, "+good +sound +true"));
    let state = serde_json::to_string(run.machine.state()).unwrap();
    assert!(state.contains("\"tries\":null"), "{state}");
}

#[test]
fn the_first_attempt_is_told_what_the_checks_said_of_a_cached_result() {
    let mut run = Killed::new(single(|step| {
        tried(step);
        step.cache = Some(Box::new(StepCache { inputs: Vec::new(), outputs: Vec::new() }));
    }));
    let found = Some(CachedResult {
        cache_key: Sha256Digest::of_bytes(b"key"),
        reused_from: run_id(),
        outputs: JsonObject::new(),
        artifacts: Vec::new(),
    });
    let task_id = TaskId::of_step(&name("a"));
    run.feed(InputKind::Looked { task_id, found });
    let first = told(&run.feed(judged(0, "-good +sound +true"))).unwrap();
    assert_eq!(first.attempt, 0);
    assert_eq!(
        first.what_was_wrong,
        "the cached result failed its checks: check `good`: expected exit code 0, found exit \
         code 1"
    );
    assert_eq!(told(&run.resume()), Some(first));
    run.feed(done(1));
    run.feed(judged(1, "+good -sound +true"));
    let second = told(&run.feed(again(2))).unwrap();
    assert_eq!(criteria(&second), ["sound"]);
    assert_eq!(gaps(&second), ["0:1/3", "1:1/3"]);
}

#[test]
fn every_item_is_told_its_own() {
    let mut run = Killed::new(single(|step| {
        tried(step);
        step.fan = StepRepetition::List(vec!["x".into(), "y".into()]);
    }));
    let mut of = |item: u32, verdicts: &str| {
        let mut attempt = attempt("a", 1);
        attempt.task_id.item = Some(item);
        run.feed(ended(attempt.clone(), WorkExit::Completed));
        run.feed(InputKind::Judged {
            phase: wf_model::CheckPhase::Verify,
            attempt: Some(attempt.clone()),
            verdicts: verdicts.split(' ').map(verdict).collect(),
            seen: Vec::new(),
        });
        attempt.attempt = 2;
        let timer = TimerKind::Retry(attempt);
        let effects = run.feed(InputKind::Woke { timer });
        let Some(Effect::Start { item_value, .. }) = effects.first() else { panic!("{effects:?}") };
        let key = item_value.as_ref().map(|StepItem { key, .. }| key.clone());
        let told = told(&effects).unwrap();
        (key.unwrap(), told.task_id.item, criteria(&told).join(" "))
    };
    assert_eq!(of(0, "-good +sound +true"), ("x".into(), Some(0), "good".into()));
    assert_eq!(of(1, "+good -sound -true"), ("y".into(), Some(1), "sound true".into()));
}

#[test]
fn many_failures_are_counted() {
    let mut run = Killed::new(single(tried));
    run.feed(done(1));
    run.feed(judged(1, "-a -b -c -d -e -f -g -h"));
    let second = told(&run.feed(again(2))).unwrap();
    assert!(second.what_to_do.ends_with("then `b`, `c`, `d`, `e`, `f` and 2 more"));
}
