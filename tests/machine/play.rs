//! Small runs played by hand.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use wf_base::{source::Span, time::Moment};
use wf_core::machine::{
    Artifact, Attempt, AttemptEnd, AttemptUsage, CachedResult, CheckRuling, Effect, Event, EventKind,
    InputKind, Machine, MachineInput, MachineTurn, StaleFile, WorkExit,
};
use wf_model::{JsonObject, OnStepFailure, Plan, PlanPolicy, Step, StepIx, expr::Expr};

use super::world::{plan_with, run_id, step, verdict};

/// A run played by hand: every effect is answered in order, work ends as `exits` says.
pub struct Play {
    pub machine: Machine,
    pub now: i64,
    pub exits: BTreeMap<&'static str, Vec<WorkExit>>,
    pub outputs: BTreeMap<&'static str, Value>,
    pub usage: BTreeMap<&'static str, AttemptUsage>,
    pub refute: Vec<&'static str>,
    pub cached: Option<JsonObject>,
    pub cancel_at: Option<&'static str>,
    /// What evidence every checked attempt has.
    pub seen: Vec<Artifact>,
    /// What of it has changed by the end.
    pub stale: Vec<StaleFile>,
    pub told: Vec<String>,
    /// What became known.
    pub events: Vec<Event>,
}

pub fn expr(text: &str) -> Expr {
    Expr::parse(text, Span::new(0, text.len())).unwrap()
}

pub fn policy(on_failure: OnStepFailure) -> PlanPolicy {
    PlanPolicy { max_parallel: 8, on_failure, grace: Duration::ZERO }
}

/// Steps from `name` or `name < needs needs`; `| finally` begins the last part.
pub fn steps(lines: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in lines {
        let (name, needs) = line.split_once(" < ").unwrap_or((line, ""));
        let find = |need: &str| steps.iter().position(|step| step.id.as_str() == need).unwrap();
        let needs = needs.split_whitespace().map(|n| StepIx(u32::try_from(find(n)).unwrap()));
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
        self.exits.insert(step, vec![WorkExit::Code { code: 1 }; times]);
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
        let mut open = self.feed(InputKind::Begin {
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
            let next = open.iter().position(|e| !matches!(e, Effect::Wake { .. })).unwrap_or_else(|| {
                let soonest = open.iter().enumerate().min_by_key(|(_, effect)| match effect {
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
            Effect::Start { attempt, .. } if self.cancel_at == Some(attempt.task_id.step.as_str()) => {
                self.cancel_at = None;
                let mut more = self.feed(InputKind::Cancel { reason: "told to".into() });
                more.push(Effect::Start {
                    attempt,
                    item_value: None,
                    reads: JsonObject::new(),
                    correction: None,
                    tool_args: None,
                });
                return more
                    .into_iter()
                    .map(|effect| match effect {
                        Effect::Start { attempt, .. } => Effect::Kill { attempt: Some(attempt), force: true },
                        Effect::Kill { .. } => Effect::Finish { outputs: JsonObject::new() },
                        other => other,
                    })
                    .collect();
            }
            Effect::Start { attempt, .. } => self.ended(attempt),
            Effect::Kill { attempt: Some(attempt), .. } => super::world::ended(attempt, WorkExit::Cancelled),
            Effect::Check { attempt, phase, .. } => {
                let verdicts = vec![verdict(self.ruling(attempt.as_ref()))];
                InputKind::Judged { attempt, phase, verdicts, seen: self.seen.clone() }
            }
            Effect::Wake { timer, at } => {
                self.now = self.now.max(at.millis());
                InputKind::Woke { timer }
            }
            Effect::Lock { task_id, .. } => InputKind::Locked { task_id },
            Effect::Lookup { task_id, .. } => {
                let found = self.found();
                InputKind::Looked { task_id, found }
            }
            Effect::Confirm { .. } => InputKind::Confirmed { stale: self.stale.clone() },
            _ => return Vec::new(),
        };
        self.feed(what)
    }

    fn ruling(&self, attempt: Option<&Attempt>) -> CheckRuling {
        let step = attempt.map_or("plan", |a| a.task_id.step.as_str());
        let lies = self.refute.contains(&step) && attempt.is_none_or(|a| a.attempt < 2);
        if lies { CheckRuling::Fail } else { CheckRuling::Pass }
    }

    fn found(&self) -> Option<CachedResult> {
        self.cached.clone().map(|outputs| CachedResult {
            cache_key: wf_base::digest::Sha256Digest::of_bytes(b"key"),
            reused_from: run_id(),
            outputs,
            artifacts: Vec::new(),
        })
    }

    pub fn ended(&mut self, attempt: Attempt) -> InputKind {
        let step = attempt.task_id.step.as_str();
        let planned = self.exits.get_mut(step).and_then(|exits| (!exits.is_empty()).then(|| exits.remove(0)));
        let outputs = self.outputs.get(step).and_then(Value::as_object).cloned().unwrap_or_default();
        let usage = self.usage.get(step).copied().unwrap_or_default();
        InputKind::Ended(AttemptEnd {
            outputs,
            usage,
            ..AttemptEnd::new(attempt, planned.unwrap_or(WorkExit::Code { code: 0 }))
        })
    }

    pub fn feed(&mut self, what: InputKind) -> Vec<Effect> {
        let MachineTurn { events, effects } =
            as_carried(self.machine.turn(MachineInput { at: Moment::from_millis(self.now), kind: what }));
        self.events.extend(events.iter().cloned());
        for event in events {
            let line = match event.fact {
                EventKind::StepEnded {
                    task_id,
                    state,
                    standing,
                    reason,
                    allowed_to_fail,
                    outputs,
                    cache_key: cached,
                    ..
                } => {
                    let mut line = format!("{task_id} {} {}", state.as_str(), standing.as_str());
                    if allowed_to_fail {
                        line.push_str(" tolerated");
                    }
                    if cached.is_some() {
                        line.push_str(" cached");
                    }
                    if !outputs.is_empty() {
                        line += &format!(" {}", Value::Object(outputs));
                    }
                    if !reason.is_empty() {
                        line += &format!(": {reason}");
                    }
                    line
                }
                EventKind::RetryScheduled { attempt, due, .. } => {
                    format!("{attempt} at {}", due.millis())
                }
                EventKind::RunEnded { outcome, reason, standing, outputs, .. } => {
                    let mut line = format!("run {} {}", outcome.as_str(), standing.as_str());
                    if !outputs.is_empty() {
                        line += &format!(" {}", Value::Object(outputs));
                    }
                    if !reason.is_empty() {
                        line += &format!(": {reason}");
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
fn of_budget(fact: &EventKind) -> Option<String> {
    Some(match fact {
        EventKind::BudgetThresholdReached { spent, percent } => format!("{percent} %: {spent}"),
        EventKind::BudgetExtended { limit_ms: limit } => format!("extended to {limit}"),
        EventKind::BudgetExhausted { spent, hard: false } => format!("spent: {spent}"),
        EventKind::BudgetExhausted { spent, .. } => format!("spent: {spent}, at once"),
        _ => return None,
    })
}

pub fn play(lines: &[&str], on_failure: OnStepFailure, change: impl FnOnce(&mut Vec<Step>)) -> Play {
    let mut steps = steps(lines);
    change(&mut steps);
    let main = steps.iter().position(|step| step.id.as_str().starts_with("last")).unwrap_or(steps.len());
    Play::new(plan_with(steps, main, policy(on_failure), Vec::new()))
}

pub fn output(name: &str) -> wf_model::RequiredOutput {
    schema(name, json!({ "type": "integer" }))
}

pub fn list(name: &str) -> wf_model::RequiredOutput {
    schema(name, json!({ "type": "array" }))
}

pub fn any(name: &str) -> wf_model::RequiredOutput {
    schema(name, json!({}))
}

pub fn schema(name: &str, text: Value) -> wf_model::RequiredOutput {
    wf_model::RequiredOutput {
        name: super::world::name(name),
        schema: wf_model::ValueSchema::new(text).unwrap(),
    }
}

/// Returns a turn as a driver on another host gets it.
pub fn as_carried(turn: MachineTurn) -> MachineTurn {
    let carried: Vec<Effect> = serde_json::from_value(serde_json::to_value(&turn.effects).unwrap()).unwrap();
    assert_eq!(carried, turn.effects);
    turn
}
