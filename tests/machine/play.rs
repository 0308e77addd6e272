//! Small runs played by hand.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wf::expr::Expr;
use wf::machine::{
    Artifact, Attempt, Cached, Effect, Ended, Event, Exit, Fact, Happening, Input, Machine, Ruling,
    Stale, Turn, Usage,
};
use wf::model::{Object, OnFailure, Plan, Policy, Step, StepIx};
use wf::source::Span;
use wf::time::Moment;

use super::world::{plan_with, run_id, step, verdict};

/// A run played by hand: every effect is answered in order, work ends as `exits` says.
pub struct Play {
    pub machine: Machine,
    pub now: i64,
    pub exits: BTreeMap<&'static str, Vec<Exit>>,
    pub outputs: BTreeMap<&'static str, Value>,
    pub usage: BTreeMap<&'static str, Usage>,
    pub refute: Vec<&'static str>,
    pub cached: Option<Object>,
    pub cancel_at: Option<&'static str>,
    /// What evidence every checked attempt has.
    pub seen: Vec<Artifact>,
    /// What of it has changed by the end.
    pub stale: Vec<Stale>,
    pub told: Vec<String>,
    /// What became known.
    pub events: Vec<Event>,
}

pub fn expr(text: &str) -> Expr {
    Expr::parse(text, Span::new(0, text.len())).unwrap()
}

pub fn policy(on_failure: OnFailure) -> Policy {
    Policy {
        max_parallel: 8,
        on_failure,
        grace: Duration::ZERO,
    }
}

/// Steps from `name` or `name < needs needs`; `| finally` begins the last part.
pub fn steps(lines: &[&str]) -> Vec<Step> {
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
    pub fn new(plan: Arc<Plan>) -> Self {
        let params = json!({ "region": "eu" }).as_object().cloned().unwrap();
        Self {
            machine: Machine::new(plan, run_id(), params),
            now: 0,
            exits: BTreeMap::new(),
            outputs: BTreeMap::new(),
            usage: BTreeMap::new(),
            refute: Vec::new(),
            cached: None,
            cancel_at: None,
            seen: Vec::new(),
            stale: Vec::new(),
            told: Vec::new(),
            events: Vec::new(),
        }
    }

    pub fn fails(mut self, step: &'static str, times: usize) -> Self {
        self.exits.insert(step, vec![Exit::Code { code: 1 }; times]);
        self
    }

    pub fn gives(mut self, step: &'static str, outputs: Value) -> Self {
        self.outputs.insert(step, outputs);
        self
    }

    /// Plays to the end and says what became known, a line each.
    pub fn told(mut self) -> Vec<String> {
        self.plays();
        self.told
    }

    /// Plays to the end.
    pub fn plays(&mut self) {
        let mut open = self.feed(Happening::Begin {
            kept: Vec::new(),
            left: Vec::new(),
            baseline: None,
            dropped: Vec::new(),
            approved: None,
            advice: Vec::new(),
            intent: None,
        });
        self.run(&mut open);
    }

    pub fn run(&mut self, open: &mut Vec<Effect>) {
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

    pub fn answer(&mut self, effect: Effect) -> Vec<Effect> {
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
                    correction: None,
                    tool_args: None,
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
            Effect::Start { attempt, .. } | Effect::Stage { attempt, .. } => self.ended(attempt),
            Effect::Unstage { attempt } => Happening::Unstaged { attempt },
            Effect::Kill {
                attempt: Some(attempt),
                ..
            } => super::world::ended(attempt, Exit::Cancelled),
            Effect::Check { attempt, phase, .. } => {
                let verdicts = vec![verdict(self.ruling(attempt.as_ref()))];
                Happening::Judged {
                    attempt,
                    phase,
                    verdicts,
                    seen: self.seen.clone(),
                }
            }
            Effect::Wake { timer, at } => {
                self.now = self.now.max(at.millis());
                Happening::Woke { timer }
            }
            Effect::Lock { place, .. } => Happening::Locked { place },
            Effect::Lookup { place, .. } => {
                let found = self.found();
                Happening::Looked { place, found }
            }
            Effect::Confirm { .. } => Happening::Confirmed {
                stale: self.stale.clone(),
            },
            _ => return Vec::new(),
        };
        self.feed(what)
    }

    fn ruling(&self, attempt: Option<&Attempt>) -> Ruling {
        let step = attempt.map_or("plan", |a| a.place.step.as_str());
        let lies = self.refute.contains(&step) && attempt.is_none_or(|a| a.attempt < 2);
        if lies { Ruling::Fail } else { Ruling::Pass }
    }

    fn found(&self) -> Option<Cached> {
        self.cached.clone().map(|outputs| Cached {
            key: wf::digest::Digest::of(b"key"),
            from: run_id(),
            outputs,
            artifacts: Vec::new(),
        })
    }

    pub fn ended(&mut self, attempt: Attempt) -> Happening {
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
        let usage = self.usage.get(step).copied().unwrap_or_default();
        Happening::Ended(Ended {
            exit: planned.unwrap_or(Exit::Code { code: 0 }),
            attempt,
            outputs,
            artifacts: Vec::new(),
            standing: None,
            class: None,
            seen: Vec::new(),
            usage,
            service: false,
        })
    }

    pub fn feed(&mut self, what: Happening) -> Vec<Effect> {
        let Turn { events, effects } = self.machine.turn(Input {
            at: Moment::from_millis(self.now),
            what,
        });
        self.events.extend(events.iter().cloned());
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
                        line += &format!(" {}", Value::Object(outputs));
                    }
                    if !why.is_empty() {
                        line += &format!(": {why}");
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
                        line += &format!(" {}", Value::Object(outputs));
                    }
                    if !why.is_empty() {
                        line += &format!(": {why}");
                    }
                    line
                }
                other => match of_budget(&other) {
                    Some(line) => line,
                    None => continue,
                },
            };
            self.told.push(line);
        }
        effects
    }
}

/// What is told of a budget.
fn of_budget(fact: &Fact) -> Option<String> {
    Some(match fact {
        Fact::BudgetNoticed { spent, percent } => format!("{percent} %: {spent}"),
        Fact::BudgetExtended { limit } => format!("extended to {limit}"),
        Fact::BudgetSpent {
            spent,
            at_once: false,
        } => format!("spent: {spent}"),
        Fact::BudgetSpent { spent, .. } => format!("spent: {spent}, at once"),
        _ => return None,
    })
}

pub fn play(lines: &[&str], on_failure: OnFailure, change: impl FnOnce(&mut Vec<Step>)) -> Play {
    let mut steps = steps(lines);
    change(&mut steps);
    let main = steps
        .iter()
        .position(|step| step.id.as_str().starts_with("last"))
        .unwrap_or(steps.len());
    Play::new(plan_with(steps, main, policy(on_failure), Vec::new()))
}

pub fn output(name: &str) -> wf::model::Output {
    schema(name, json!({ "type": "integer" }))
}

pub fn list(name: &str) -> wf::model::Output {
    schema(name, json!({ "type": "array" }))
}

pub fn any(name: &str) -> wf::model::Output {
    schema(name, json!({}))
}

pub fn schema(name: &str, text: Value) -> wf::model::Output {
    wf::model::Output {
        name: super::world::name(name),
        schema: wf::model::Schema::new(text).unwrap(),
    }
}
