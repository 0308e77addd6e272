//! Planners: which plans have one, and what it answers.

use std::time::Duration;

use serde_json::{Map, Value, json};
use wf::machine::{Happening, PlannerSaid};
use wf::model::{OnStuck, Planner, Replan};

use super::dice::Dice;
use super::world::World;

/// The planner of a plan, if it has one.
pub fn of_plan(dice: &mut Dice, replan: Option<&Replan>) -> (Option<Planner>, OnStuck) {
    if replan.is_none() || dice.one_in(3) {
        return (None, OnStuck::Abandon);
    }
    let planner = Planner {
        exec: vec!["planner".into()],
        timeout: Duration::from_secs(60),
    };
    (Some(planner), OnStuck::ConsultPlanner)
}

/// What a planner prints about some steps: ways that may be used, some that may not, and trash.
fn answer(dice: &mut Dice, round: u32, steps: &[String]) -> PlannerSaid {
    if dice.one_in(8) {
        return PlannerSaid::Nothing("it ended with exit code 1".into());
    }
    if dice.one_in(8) {
        return PlannerSaid::Text("I would rather not".into());
    }
    let mut ways = Map::new();
    for step in steps {
        let tool = *dice.pick(&["a:x", "b:x", "c:x", "c:y", "d:x"]);
        let mut way = json!({
            "id": format!("made{round}"),
            "tool": tool,
            "exec": ["true", format!("{step} {round}")],
        });
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
    PlannerSaid::Text(json!({ "steps": ways, "reason": "why not" }).to_string())
}

impl World {
    /// What comes of asking the planner of a run: a matter of the fates.
    pub fn planned(&self, at: usize, (round, steps): (u32, &[String]), stop: bool) -> Happening {
        let mut dice = Dice::of(
            self.fates.0.wrapping_add(at as u64),
            &format!("planner {round}"),
        );
        let said = if stop {
            PlannerSaid::Nothing("it ended with cancelled".into())
        } else {
            answer(&mut dice, round, steps)
        };
        Happening::Planned { round, said }
    }
}
