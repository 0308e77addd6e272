//! What a budget lets begin, rule by rule.

use std::{sync::Arc, time::Duration};

use wf_base::{name::PlanId, time::Moment};
use wf_core::machine::{AttemptUsage, CheckRuling, Effect, InputKind, TimerKind};
use wf_model::{
    Money, OnStepFailure, Plan, PlanParts, RetryPolicy, RunBudget, Step, StepWork, WaitCondition,
};

use super::{
    play::{Play, policy, steps},
    world::{check, verdict},
};

fn budgeted(lines: &[&str], budget: RunBudget, change: impl FnOnce(&mut Vec<Step>)) -> Play {
    let mut steps = steps(lines);
    change(&mut steps);
    let last = |step: &Step| step.id.as_str().starts_with("last");
    let main = steps.iter().position(last).unwrap_or(steps.len());
    let id = PlanId::parse("p").unwrap();
    let parts = PlanParts {
        budget: Some(budget),
        ..PlanParts::new(id, steps, main, policy(OnStepFailure::Continue))
    };
    Play::new(Plan::new(parts).unwrap())
}

fn attempts(most: u32, reserve_ppm: u32) -> RunBudget {
    RunBudget { max_attempts: Some(most), reserve_ppm, ..RunBudget::default() }
}

fn retry(max: u32) -> Arc<RetryPolicy> {
    Arc::new(RetryPolicy { max, ..RetryPolicy::default() })
}

fn naps(steps: &mut [Step], seconds: u64) {
    for step in steps {
        step.work = StepWork::Wait(WaitCondition::For(Duration::from_secs(seconds)));
    }
}

#[test]
fn retries_are_attempts_and_the_limit_itself_is_spent() {
    let play = budgeted(&["a", "b"], attempts(4, 500_000), |steps| {
        steps[0].retry = retry(9);
    });
    let told = play.fails("a", 9).told();
    assert_eq!(
        told,
        [
            "a#2 at 0",
            "b succeeded reported",
            "a#3 at 0",
            "95 %: 4 of 4 attempts",
            "spent: 4 of 4 attempts",
            "a failed unchecked: exit code 1",
            "run failed unchecked: budget exhausted: 4 of 4 attempts",
        ]
    );
}

#[test]
fn the_reserve_is_for_finally_steps_alone() {
    let lines = ["a", "b < a", "c < b", "last_1", "last_2 < last_1"];
    let told = budgeted(&lines, attempts(10, 100_000), |_| {}).told();
    assert_eq!(told.last().unwrap(), "run succeeded reported");
    // Each of them has an attempt, even where the share would be less.
    let told = budgeted(&lines, attempts(4, 0), |_| {}).told();
    assert_eq!(
        told,
        [
            "a succeeded reported",
            "b succeeded reported",
            "spent: 2 of 4 attempts",
            "c skipped unchecked: not started: budget exhausted: 2 of 4 attempts; the rest is \
             reserved for `finally` steps",
            "last_1 succeeded reported",
            "95 %: 4 of 4 attempts",
            "last_2 succeeded reported",
            "run failed unchecked: budget exhausted: 2 of 4 attempts; the rest is reserved for \
             `finally` steps"
        ]
    );
}

#[test]
fn tokens_and_money_count_however_the_attempt_ended() {
    let budget = RunBudget {
        max_cost: Some(Money::of_micros(1_000_000)),
        reserve_ppm: 100_000,
        ..RunBudget::default()
    };
    let mut play = budgeted(&["a", "b < a"], budget, |steps| {
        steps[0].retry = retry(9);
    });
    let cost = Money::of_micros(450_000);
    play.usage.insert("a", AttemptUsage { cost, ..AttemptUsage::default() });
    let told = play.fails("a", 9).told();
    assert_eq!(
        told,
        [
            "a#2 at 0",
            "spent: $0.90 of $1.00",
            "a failed unchecked: exit code 1",
            "90 %: $0.90 of $1.00",
            "b skipped unchecked: dependency `a` failed",
            "run failed unchecked: budget exhausted: $0.90 of $1.00; the rest is reserved for \
             checks and `finally` steps"
        ]
    );
}

#[test]
fn time_that_is_over_ends_what_runs_and_no_finally_step() {
    let budget = RunBudget { max_wall_time_ms: Some(10_000), ..RunBudget::default() };
    let play = budgeted(&["a", "b < a", "last"], budget, |steps| naps(steps, 7));
    let told = play.told();
    assert_eq!(
        told,
        [
            "a succeeded reported",
            "80 %: 8s of 10s",
            "90 %: 9s of 10s",
            "95 %: 9s500ms of 10s",
            "spent: 10s of 10s, at once",
            "b cancelled unchecked: budget exhausted: 10s of 10s",
            "last succeeded reported",
            "run failed unchecked: budget exhausted: 10s of 10s"
        ]
    );
}

#[test]
fn progress_extends_the_time_by_quarters_up_to_twice() {
    let lines = ["a", "b < a", "c < b", "d < c", "e < d", "f < e"];
    let budget = RunBudget { max_wall_time_ms: Some(8_000), progress: true, ..RunBudget::default() };
    let told = budgeted(&lines, budget.clone(), |steps| naps(steps, 2)).told();
    assert_eq!(
        told,
        [
            "a succeeded reported",
            "b succeeded reported",
            "c succeeded reported",
            "80 %: 6s400ms of 8s",
            "90 %: 7s200ms of 8s",
            "95 %: 7s600ms of 8s",
            "d succeeded reported",
            "extended to 10000",
            "extended to 12000",
            "e succeeded reported",
            "extended to 14000",
            "f succeeded reported",
            "run succeeded reported"
        ]
    );
    let many: Vec<String> = (1..12).map(|at| format!("s{at} < s{}", at - 1)).collect();
    let many: Vec<&str> = ["s0"].into_iter().chain(many.iter().map(String::as_str)).collect();
    let told = budgeted(&many, budget.clone(), |steps| naps(steps, 2)).told();
    let most = told.iter().rfind(|line| line.starts_with("extended"));
    assert_eq!(most.unwrap(), "extended to 16000");
    assert!(told.contains(&"spent: 16s of 16s, at once".into()), "{told:?}");
    // Nothing came further within the last quarter.
    let told = budgeted(&lines[..2], budget.clone(), |steps| naps(steps, 5)).told();
    assert!(told.contains(&"spent: 8s of 8s, at once".into()), "{told:?}");
    let still = RunBudget { progress: false, ..budget };
    let told = budgeted(&lines, still, |steps| naps(steps, 2)).told();
    assert!(told.iter().all(|line| !line.starts_with("extended")), "{told:?}");
    assert!(told.last().unwrap().starts_with("run failed"), "{told:?}");
}

#[test]
fn a_gap_that_shrank_is_progress_and_no_other() {
    let budget = RunBudget { max_wall_time_ms: Some(60_000), progress: true, ..RunBudget::default() };
    let mut play = budgeted(&["a"], budget, |steps| {
        steps[0].retry = retry(9);
        steps[0].verify = vec![check("good"), check("whole")];
    });
    let mut effects = play.feed(InputKind::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    let rulings = [
        ([CheckRuling::Fail, CheckRuling::Fail], None),
        ([CheckRuling::Fail, CheckRuling::Fail], None),
        ([CheckRuling::Fail, CheckRuling::Pass], Some(3_000)),
        ([CheckRuling::Fail, CheckRuling::Pass], Some(3_000)),
        ([CheckRuling::Fail, CheckRuling::Fail], Some(3_000)),
    ];
    for (at, (rulings, progress)) in rulings.into_iter().enumerate() {
        play.now = 1_000 * (i64::try_from(at).unwrap() + 1);
        let woken = effects.iter().find_map(|effect| match effect {
            Effect::Wake { timer: timer @ TimerKind::Retry(_), .. } => Some(timer.clone()),
            _ => None,
        });
        if let Some(timer) = woken {
            effects = play.feed(InputKind::Woke { timer });
        }
        let attempt = effects.iter().find_map(|effect| match effect {
            Effect::Start { attempt, .. } => Some(attempt.clone()),
            _ => None,
        });
        let attempt = attempt.expect("an attempt begins");
        let ended = play.ended(attempt.clone());
        play.feed(ended);
        effects = play.feed(InputKind::Judged {
            attempt: Some(attempt),
            phase: wf_model::CheckPhase::Verify,
            verdicts: rulings.map(verdict).to_vec(),
            seen: Vec::new(),
        });
        let progressed = play.machine.ledger().progress.map(Moment::millis);
        assert_eq!(progressed, progress, "attempt {}", at + 1);
    }
}
