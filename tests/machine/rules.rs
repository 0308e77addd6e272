//! The written rules, one by one, over small plans.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wf::expr::Expr;
use wf::machine::{
    Attempt, Cached, Effect, Ended, Exit, Fact, Happening, Input, Kept, Machine, Ruling, Standing,
    Turn,
};
use wf::model::{
    Cache, Class, Fan, Object, OnError, OnFailure, Plan, Policy, Retry, Step, StepIx, Wait, Work,
};
use wf::source::Span;
use wf::time::Moment;

use super::world::{check, plan_with, run_id, step, verdict};

/// A run played by hand: every effect is answered in order, work ends as `exits` says.
struct Play {
    machine: Machine,
    now: i64,
    exits: BTreeMap<&'static str, Vec<Exit>>,
    outputs: BTreeMap<&'static str, Value>,
    refute: Vec<&'static str>,
    cached: Option<Object>,
    cancel_at: Option<&'static str>,
    told: Vec<String>,
}

fn expr(text: &str) -> Expr {
    Expr::parse(text, Span::new(0, text.len())).unwrap()
}

fn policy(on_failure: OnFailure) -> Policy {
    Policy {
        max_parallel: 8,
        on_failure,
        grace: Duration::ZERO,
    }
}

/// Steps from `name` or `name < needs needs`; `| finally` begins the last part.
fn steps(lines: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines {
        let (name, needs) = line.split_once(" < ").unwrap_or((line, ""));
        let find = |need: &str| {
            steps
                .iter()
                .position(|step| step.id.as_str() == need)
                .unwrap()
        };
        let needs = needs
            .split_whitespace()
            .map(|n| StepIx(u32::try_from(find(n)).unwrap()));
        let needs = needs.collect();
        steps.push(step(name, needs));
    }
    steps
}

impl Play {
    fn new(plan: Arc<Plan>) -> Self {
        let params = json!({ "region": "eu" }).as_object().cloned().unwrap();
        Self {
            machine: Machine::new(plan, run_id(), params),
            now: 0,
            exits: BTreeMap::new(),
            outputs: BTreeMap::new(),
            refute: Vec::new(),
            cached: None,
            cancel_at: None,
            told: Vec::new(),
        }
    }

    fn fails(mut self, step: &'static str, times: usize) -> Self {
        self.exits.insert(step, vec![Exit::Code { code: 1 }; times]);
        self
    }

    fn gives(mut self, step: &'static str, outputs: Value) -> Self {
        self.outputs.insert(step, outputs);
        self
    }

    /// Plays to the end and says what became known, a line each.
    fn told(mut self) -> Vec<String> {
        let mut open = self.feed(Happening::Begin { kept: Vec::new() });
        self.run(&mut open);
        self.told
    }

    fn run(&mut self, open: &mut Vec<Effect>) {
        while self.machine.outcome().is_none() {
            let next = open
                .iter()
                .position(|e| !matches!(e, Effect::Wake { .. }))
                .unwrap_or_else(|| {
                    let soonest = open
                        .iter()
                        .enumerate()
                        .min_by_key(|(_, effect)| match effect {
                            Effect::Wake { at, .. } => at.millis(),
                            _ => i64::MAX,
                        });
                    soonest.expect("something is open").0
                });
            let effect = open.remove(next);
            let more = self.answer(effect);
            open.extend(more);
        }
    }

    fn answer(&mut self, effect: Effect) -> Vec<Effect> {
        let what = match effect {
            Effect::Start { attempt, .. }
                if self.cancel_at == Some(attempt.place.step.as_str()) =>
            {
                self.cancel_at = None;
                let mut more = self.feed(Happening::Cancel {
                    why: "told to".into(),
                });
                more.push(Effect::Start {
                    attempt,
                    item_value: None,
                    reads: Object::new(),
                });
                return more
                    .into_iter()
                    .map(|effect| match effect {
                        Effect::Start { attempt, .. } => Effect::Kill {
                            attempt: Some(attempt),
                            force: true,
                        },
                        Effect::Kill { .. } => Effect::Finish {
                            outputs: Object::new(),
                        },
                        other => other,
                    })
                    .collect();
            }
            Effect::Start { attempt, .. } => self.ended(attempt),
            Effect::Kill {
                attempt: Some(attempt),
                ..
            } => super::world::ended(attempt, Exit::Cancelled),
            Effect::Check { attempt, .. } => {
                let step = attempt.as_ref().map_or("plan", |a| a.place.step.as_str());
                let lies =
                    self.refute.contains(&step) && attempt.as_ref().is_none_or(|a| a.attempt < 2);
                let ruling = if lies { Ruling::Fail } else { Ruling::Pass };
                Happening::Judged {
                    attempt,
                    verdicts: vec![verdict(ruling)],
                }
            }
            Effect::Wake { timer, at } => {
                self.now = self.now.max(at.millis());
                Happening::Woke { timer }
            }
            Effect::Lock { place, .. } => Happening::Locked { place },
            Effect::Lookup { place, .. } => {
                let found = self.cached.clone().map(|outputs| Cached {
                    key: wf::digest::Digest::of(b"key"),
                    from: run_id(),
                    outputs,
                    artifacts: Vec::new(),
                });
                Happening::Looked { place, found }
            }
            _ => return Vec::new(),
        };
        self.feed(what)
    }

    fn ended(&mut self, attempt: Attempt) -> Happening {
        let step = attempt.place.step.as_str();
        let planned = self
            .exits
            .get_mut(step)
            .and_then(|exits| (!exits.is_empty()).then(|| exits.remove(0)));
        let outputs = self
            .outputs
            .get(step)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        Happening::Ended(Ended {
            exit: planned.unwrap_or(Exit::Code { code: 0 }),
            attempt,
            outputs,
            artifacts: Vec::new(),
            standing: None,
        })
    }

    fn feed(&mut self, what: Happening) -> Vec<Effect> {
        let Turn { events, effects } = self.machine.turn(Input {
            at: Moment::from_millis(self.now),
            what,
        });
        for event in events {
            let line = match event.fact {
                Fact::StepEnded {
                    place,
                    state,
                    standing,
                    why,
                    tolerated,
                    outputs,
                    cached,
                    ..
                } => {
                    let mut line = format!("{place} {} {}", state.as_str(), standing.as_str());
                    if tolerated {
                        line.push_str(" tolerated");
                    }
                    if cached.is_some() {
                        line.push_str(" cached");
                    }
                    if !outputs.is_empty() {
                        line.push_str(&format!(" {}", Value::Object(outputs)));
                    }
                    if !why.is_empty() {
                        line.push_str(&format!(": {why}"));
                    }
                    line
                }
                Fact::RetryScheduled { attempt, due, .. } => {
                    format!("{attempt} at {}", due.millis())
                }
                Fact::RunEnded {
                    outcome,
                    why,
                    standing,
                    outputs,
                    ..
                } => {
                    let mut line = format!("run {} {}", outcome.as_str(), standing.as_str());
                    if !outputs.is_empty() {
                        line.push_str(&format!(" {}", Value::Object(outputs)));
                    }
                    if !why.is_empty() {
                        line.push_str(&format!(": {why}"));
                    }
                    line
                }
                _ => continue,
            };
            self.told.push(line);
        }
        effects
    }
}

fn play(lines: &[&str], on_failure: OnFailure, change: impl FnOnce(&mut Vec<Step>)) -> Play {
    let mut steps = steps(lines);
    change(&mut steps);
    let main = steps
        .iter()
        .position(|step| step.id.as_str().starts_with("last"))
        .unwrap_or(steps.len());
    Play::new(plan_with(steps, main, policy(on_failure), Vec::new()))
}

#[test]
fn dependants_of_a_failed_step_are_skipped_and_the_rest_goes_on() {
    let told = play(&["a", "b < a", "c < b", "d"], OnFailure::Continue, |_| {})
        .fails("a", 1)
        .told();
    assert_eq!(
        told,
        [
            "a failed unchecked: exit code 1",
            "b skipped unchecked: its dependency `a` failed",
            "c skipped unchecked: its dependency `b` was skipped",
            "d succeeded reported",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn stop_lets_what_runs_end_and_begins_nothing() {
    let told = play(&["a", "b", "c < b"], OnFailure::Stop, |_| {})
        .fails("a", 1)
        .told();
    assert_eq!(
        told,
        [
            "a failed unchecked: exit code 1",
            "c skipped unchecked: not started: `a` had failed",
            "b succeeded reported",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn a_false_condition_skips_and_always_works_transitively() {
    let told = play(
        &["a", "b < a", "c < b", "d < c"],
        OnFailure::Stop,
        |steps| {
            steps[0].when = Some(expr("params.region == 'us'"));
            steps[2].when = Some(expr("always()"));
        },
    )
    .told();
    assert_eq!(
        told,
        [
            "a skipped unchecked: its condition is false: params.region == 'us'",
            "b skipped unchecked: its dependency `a` was skipped",
            "c succeeded reported",
            "d succeeded reported",
            "run succeeded reported",
        ]
    );
}

#[test]
fn a_step_that_asks_for_a_failure_survives_the_stop() {
    let told = play(
        &["a", "repair < a", "other < a", "last"],
        OnFailure::Stop,
        |steps| {
            steps[1].when = Some(expr("failed('a')"));
            steps[3].when = Some(expr("failed()"));
        },
    )
    .fails("a", 1)
    .told();
    assert_eq!(
        told,
        [
            "a failed unchecked: exit code 1",
            "other skipped unchecked: not started: `a` had failed",
            "repair succeeded reported",
            "last succeeded reported",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn a_tolerated_failure_is_shown_and_stops_nothing() {
    let told = play(&["a", "b < a"], OnFailure::Stop, |steps| {
        steps[0].on_error = OnError::Continue
    })
    .fails("a", 1)
    .told();
    assert_eq!(
        told,
        [
            "a failed unchecked tolerated: exit code 1",
            "b succeeded reported",
            "run succeeded reported",
        ]
    );
}

#[test]
fn only_checks_verify_and_a_refuted_claim_is_tried_again() {
    let mut play = play(&["a"], OnFailure::Stop, |steps| {
        steps[0].verify = vec![check("good")];
        steps[0].retry = Retry {
            max: 1,
            backoff: Duration::from_secs(2),
            ..Retry::default()
        };
    });
    play.refute = vec!["a"];
    assert_eq!(
        play.told(),
        [
            "a#2 at 2000",
            "a succeeded verified",
            "run succeeded verified"
        ]
    );
}

#[test]
fn retries_wait_longer_each_time_and_only_for_their_classes() {
    let mut start = play(&["a"], OnFailure::Stop, |steps| {
        let on = vec![Class::Environmental];
        steps[0].retry = Retry {
            max: 5,
            backoff: Duration::from_secs(1),
            on,
            ..Retry::default()
        };
    });
    let (signal, wrong) = (Exit::Signal { signal: 9 }, Exit::Code { code: 1 });
    start.exits.insert(
        "a",
        vec![
            signal.clone(),
            Exit::TimedOut,
            Exit::Code { code: 127 },
            wrong,
        ],
    );
    assert_eq!(
        start.told(),
        [
            "a#2 at 1000",
            "a#3 at 3000",
            "a#4 at 7000",
            "a failed unchecked: exit code 1",
            "run failed unchecked: step `a` failed",
        ]
    );
}

#[test]
fn a_list_known_only_at_run_time_fans_out_and_gathers_in_order() {
    let told = play(
        &["list", "each < list", "sum < each"],
        OnFailure::Stop,
        |steps| {
            steps[1].fan = Fan::Each(expr("steps.list.outputs.files"));
            steps[1].outputs = vec![output("rows")];
            steps[0].outputs = vec![list("files")];
        },
    )
    .gives("list", json!({ "files": ["x", "y"] }))
    .gives("each", json!({ "rows": 3 }))
    .told();
    assert_eq!(
        told,
        [
            "list succeeded reported",
            "each[0] succeeded reported",
            "each[1] succeeded reported",
            "each succeeded reported {\"rows\":[3,3]}",
            "sum succeeded reported",
            "run succeeded reported",
        ]
    );
}

#[test]
fn an_empty_list_succeeds_and_no_list_fails() {
    let plan = |value: Value| {
        play(&["list", "each < list"], OnFailure::Stop, |steps| {
            steps[0].outputs = vec![any("files")];
            steps[1].fan = Fan::Each(expr("steps.list.outputs.files"));
        })
        .gives("list", json!({ "files": value }))
        .told()
    };
    assert_eq!(plan(json!([]))[1], "each succeeded reported");
    assert_eq!(
        plan(json!(7))[1],
        "each failed unchecked: `for_each: steps.list.outputs.files` gives 7, not a list"
    );
}

#[test]
fn failed_items_fail_their_step_by_name() {
    let told = play(&["each"], OnFailure::Continue, |steps| {
        steps[0].fan = Fan::List(vec![json!("x"), json!("y"), json!("y")]);
    })
    .fails("each", 2)
    .told();
    assert_eq!(
        told[3],
        "each failed unchecked: 2 of 3 items failed, first `x`"
    );
}

#[test]
fn an_output_that_is_missing_or_wrong_fails_the_attempt() {
    let plan = |given: Value| {
        play(&["a"], OnFailure::Stop, |steps| {
            steps[0].outputs = vec![output("rows")]
        })
        .gives("a", given)
        .told()
        .remove(0)
    };
    assert_eq!(plan(json!({ "rows": 1 })), "a succeeded reported");
    assert_eq!(
        plan(json!({})),
        "a failed unchecked: output `rows` was not given"
    );
    assert!(plan(json!({ "rows": "many" })).starts_with("a failed unchecked: output `rows`: "));
}

#[test]
fn cancelling_ends_what_runs_and_still_cleans_up() {
    let mut play = play(&["a", "b < a", "last"], OnFailure::Stop, |_| {});
    play.cancel_at = Some("a");
    assert_eq!(
        play.told(),
        [
            "b cancelled unchecked: told to",
            "a cancelled unchecked: told to",
            "last succeeded reported",
            "run cancelled unchecked: told to",
        ]
    );
}

#[test]
fn finally_steps_run_one_after_the_other_and_their_failure_shows() {
    let told = play(&["a", "last_a", "last_b"], OnFailure::Stop, |_| {})
        .fails("last_a", 1)
        .told();
    assert_eq!(
        told,
        [
            "a succeeded reported",
            "last_a failed unchecked: exit code 1",
            "last_b succeeded reported",
            "run failed unchecked: step `last_a` failed",
        ]
    );
}

#[test]
fn a_plan_is_refuted_by_its_own_criteria() {
    let plan = plan_with(
        steps(&["a"]),
        1,
        policy(OnFailure::Stop),
        vec![check("good")],
    );
    let mut play = Play::new(plan);
    play.refute = vec!["plan"];
    assert_eq!(
        play.told().last().unwrap(),
        "run failed refuted: the plan's criteria do not hold: good"
    );
}

#[test]
fn a_cached_result_is_checked_again_and_replaced_if_refuted() {
    let plan = || {
        let mut play = play(&["a"], OnFailure::Stop, |steps| {
            steps[0].cache = Some(Cache {
                inputs: vec![],
                outputs: vec![],
            });
            steps[0].verify = vec![check("good")];
        });
        play.cached = Some(Object::new());
        play
    };
    assert_eq!(plan().told()[0], "a succeeded verified cached");
    let mut refuted = plan();
    refuted.refute = vec!["a"];
    // The check refutes attempt 0, which is the cached one, and attempt 1, which is real.
    assert!(refuted.told()[0].starts_with("a failed refuted"));
}

#[test]
fn waits_take_no_room_and_end_on_time() {
    let mut steps = steps(&["w1", "w2", "w3"]);
    for (at, step) in steps.iter_mut().enumerate() {
        step.work = Work::Wait(Wait::For(Duration::from_secs(at as u64 + 1)));
    }
    steps[2].timeout = Some(Duration::from_millis(500));
    let policy = Policy {
        max_parallel: 1,
        on_failure: OnFailure::Continue,
        grace: Duration::ZERO,
    };
    let told = Play::new(plan_with(steps, 3, policy, Vec::new())).told();
    assert_eq!(
        told,
        [
            "w3 failed unchecked: timed out",
            "w1 succeeded reported",
            "w2 succeeded reported",
            "run failed unchecked: step `w3` failed",
        ]
    );
}

#[test]
fn a_place_that_waits_too_long_for_its_turn_fails() {
    let mut steps = steps(&["a", "b"]);
    steps[1].queue_timeout = Some(Duration::from_secs(5));
    let policy = Policy {
        max_parallel: 1,
        on_failure: OnFailure::Continue,
        grace: Duration::ZERO,
    };
    let mut play = Play::new(plan_with(steps, 2, policy, Vec::new()));
    let mut open = play.feed(Happening::Begin { kept: Vec::new() });
    let wake = open
        .iter()
        .position(|e| matches!(e, Effect::Wake { .. }))
        .unwrap();
    let more = {
        let effect = open.remove(wake);
        play.answer(effect)
    };
    open.extend(more);
    play.run(&mut open);
    assert_eq!(
        play.told[0],
        "b failed unchecked: waited longer than 5s for its turn"
    );
}

#[test]
fn kept_results_are_not_made_again() {
    let plan = plan_with(
        steps(&["a", "b < a"]),
        2,
        policy(OnFailure::Stop),
        Vec::new(),
    );
    let mut play = Play::new(plan);
    let kept = Kept {
        step: super::world::name("a"),
        outputs: Object::new(),
        standing: Standing::Verified,
        from: run_id(),
    };
    let mut open = play.feed(Happening::Begin { kept: vec![kept] });
    assert!(
        matches!(&open[..], [Effect::Start { attempt, .. }] if attempt.place.step.as_str() == "b")
    );
    play.run(&mut open);
    assert_eq!(
        play.told,
        ["b succeeded reported", "run succeeded reported"]
    );
}

fn output(name: &str) -> wf::model::Output {
    schema(name, json!({ "type": "integer" }))
}

fn list(name: &str) -> wf::model::Output {
    schema(name, json!({ "type": "array" }))
}

fn any(name: &str) -> wf::model::Output {
    schema(name, json!({}))
}

fn schema(name: &str, text: Value) -> wf::model::Output {
    wf::model::Output {
        name: super::world::name(name),
        schema: wf::model::Schema::new(text).unwrap(),
    }
}
