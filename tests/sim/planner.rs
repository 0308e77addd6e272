//! Planners: which plans have one, and what it answers.

use std::time::Duration;

use serde_json::{Map, Value, json};
use wf_core::{
    agent::authoring::CalibrationEntry,
    machine::{AttemptUsage, InputKind, PlanReply, PlanRequest, PlannerCalls, PlannerReply},
};
use wf_model::{Money, OnStuck, Plan, PlanParts, Planner, PlannerSource, StepWork};

use super::{dice::Dice, engine::Job, world::World};

/// A plan that has a planner, if it is to have one.
pub fn of_plan(dice: &mut Dice, parts: PlanParts) -> PlanParts {
    if parts.replan.is_none() || dice.one_in(3) {
        return parts;
    }
    let planner =
        Planner { source: PlannerSource::Exec(vec!["planner".into()]), timeout: Duration::from_mins(1) };
    PlanParts { planner: Some(planner), on_stuck: OnStuck::ConsultPlanner, ..parts }
}

/// The question to a planner as something that comes back.
pub fn job(request: &PlanRequest) -> Job {
    let steps = request.steps.iter();
    let name = |step: &Value| step["step"].as_str().map(str::to_owned);
    let steps = steps.filter_map(name).collect();
    Job::Plan { round: request.round.round, again: request.rejected.is_some(), steps }
}

/// What a planner prints about some steps: ways that may be used, some that may not, and trash.
fn answer(dice: &mut Dice, plan: &Plan, round: u32, steps: &[String]) -> PlannerReply {
    if dice.one_in(8) {
        return PlannerReply::Nothing("it failed: exit code 1".into());
    }
    if dice.one_in(8) {
        return PlannerReply::Text("I would rather not".into());
    }
    let mut ways = Map::new();
    for step in steps {
        let tool = *dice.pick(&["a:x", "b:x", "c:x", "c:y", "d:x"]);
        let mut way = json!({ "id": format!("made{round}") });
        match plan.find(step).map(|ix| &plan.step(ix).work) {
            Some(StepWork::Agent(_)) => {
                way["agent"] = json!({ "guidance": format!("{step} {round}") });
                way["tool"] = tool.into();
            }
            Some(StepWork::Uses(_)) => way["timeout"] = format!("{round}s").into(),
            Some(StepWork::Generated(_)) => way["plan"] = format!("{step} {round}").into(),
            _ => {
                way["exec"] = json!(["true", format!("{step} {round}")]);
                way["tool"] = tool.into();
            }
        }
        if dice.one_in(3) {
            way["target"] = Value::from(*dice.pick(&["here", "there", "elsewhere"]));
        }
        if dice.one_in(20) {
            way["allow"] = json!({ "net": true });
        }
        if !dice.one_in(4) || ways.is_empty() {
            ways.insert(step.clone(), way);
        }
    }
    PlannerReply::Text(json!({ "steps": ways, "reason": "why not" }).to_string())
}

impl World {
    /// What comes of asking the planner of a run: a matter of the fates.
    pub fn planned(&self, at: usize, (round, again): (u32, bool), steps: &[String], stop: bool) -> InputKind {
        let time = if again { ", again" } else { "" };
        let mut dice = Dice::of(self.fates.0.wrapping_add(at as u64), &format!("planner {round}{time}"));
        let said = if stop {
            PlannerReply::Nothing("it failed: cancelled".into())
        } else {
            answer(&mut dice, &self.runs[at].plan, round, steps)
        };
        let tokens = if dice.one_in(3) { u64::from(dice.up_to(50)) } else { 0 };
        let usage = AttemptUsage { attempts: 0, tokens, cost: Money::of_micros(tokens) };
        let forbids = |tool: &&str| CalibrationEntry {
            tool: (*tool).into(),
            target: None,
            reason: "it never worked".into(),
        };
        let mut problems = Vec::new();
        if let PlannerReply::Text(text) = &said
            && let Some((step, _)) = wf_core::machine::proposed_plans(text).first()
            && dice.one_in(4)
        {
            problems.push(format!("step `{step}`: it may write `src`"));
        }
        let must_not = ["a:x", "c:y"].iter().filter(|_| dice.one_in(3)).map(forbids).collect();
        InputKind::Planned(PlanReply {
            round,
            again,
            said,
            must_not,
            problems,
            calls: PlannerCalls { usage, asked: Vec::new() },
        })
    }
}
