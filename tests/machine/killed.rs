//! Runs that are played by hand, and killed.

use std::sync::Arc;

use wf_base::time::Moment;
use wf_core::machine::{
    Attempt, Effect, Event, InputKind, Machine, MachineInput, MachineTurn, StepState, TaskId,
};
use wf_model::{JsonObject, OnStepFailure, Plan, Step};

use super::{
    play::{as_carried, policy, steps},
    world::{name, plan_with, run_id},
};

/// A run that is played by hand, and killed.
pub struct Killed {
    pub plan: Arc<Plan>,
    pub machine: Machine,
    pub events: Vec<Event>,
    pub now: i64,
}

impl Killed {
    pub fn new(plan: Arc<Plan>) -> Self {
        let mut killed = Self {
            machine: Machine::new(plan.clone(), run_id(), JsonObject::new()),
            plan,
            events: Vec::new(),
            now: 0,
        };
        killed.feed(InputKind::Begin {
            kept: Vec::new(),
            left: Vec::new(),
            baseline: None,
            dropped: Vec::new(),
            approved: None,
            advice: Vec::new(),
            intent: None,
        });
        killed
    }

    pub fn feed(&mut self, what: InputKind) -> Vec<Effect> {
        let at = Moment::from_millis(self.now);
        let turn = self.machine.turn(MachineInput { at, kind: what });
        self.take(turn)
    }

    fn take(&mut self, turn: MachineTurn) -> Vec<Effect> {
        let turn = as_carried(turn);
        self.events.extend(turn.events);
        turn.effects
    }

    pub fn cancel(&mut self) -> Vec<Effect> {
        self.feed(InputKind::Cancel { reason: "so".into() })
    }

    pub fn resume(&mut self) -> Vec<Effect> {
        self.machine = Machine::new(self.plan.clone(), run_id(), JsonObject::new());
        let events = &self.events;
        for event in events {
            self.machine.replay(event).unwrap();
        }
        let turn = self.machine.resume(Moment::from_millis(self.now));
        self.take(turn)
    }

    /// Loses the host of an agent.
    pub fn resume_agent(&mut self, attempt: &Attempt) -> Vec<Effect> {
        let turn = self.machine.resume_agent(attempt, Moment::from_millis(self.now));
        self.take(turn)
    }
}

pub fn single(change: impl FnOnce(&mut Step)) -> Arc<Plan> {
    let mut steps = steps(&["a"]);
    change(&mut steps[0]);
    plan_with(steps, 1, policy(OnStepFailure::Stop), Vec::new())
}

/// The names of effects, a word each.
pub fn words(effects: &[Effect]) -> Vec<String> {
    let word = |effect: &Effect| {
        let text = serde_json::to_value(effect).unwrap();
        text["effect"].as_str().unwrap().to_owned()
    };
    effects.iter().map(word).collect()
}

/// An attempt of a step that is not repeated.
pub fn attempt(step: &str, attempt: u32) -> Attempt {
    let task_id = TaskId::of_step(&name(step));
    Attempt { task_id, attempt }
}

/// How the last place of a step ended that is in a list of events.
pub fn end_of(events: &[Event], step: &str) -> Option<(StepState, String)> {
    events.iter().rev().find_map(|event| match &event.fact {
        wf_core::machine::EventKind::StepEnded { task_id, state, reason, .. }
            if task_id.step.as_str() == step =>
        {
            Some((*state, reason.clone()))
        }
        _ => None,
    })
}
