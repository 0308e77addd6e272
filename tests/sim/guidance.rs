//! The guidance of planners: which agents ask for it, and what comes of asking.

use serde_json::json;
use wf_core::machine::{Attempt, AttemptUsage, GuidanceReply, InputKind, PlannerReply};
use wf_model::{FailureClass, Money, OnStuck, RetryPolicy, Step, StepWork};

use super::{dice::Dice, world::World};

/// Lets some agents consult a planner, and fail often enough to do so. They are drawn apart.
pub fn of_steps(steps: &mut [Step], dice: &Dice) {
    let mut dice = Dice::of(dice.0, "guidance");
    for step in steps {
        if !matches!(step.work, StepWork::Agent(_)) || dice.one_in(3) {
            continue;
        }
        step.on_stuck = if dice.one_in(4) { OnStuck::Escalate } else { OnStuck::ConsultPlanner };
        if dice.one_in(2) {
            let on = vec![FailureClass::Logical, FailureClass::Environmental];
            let max = 1 + dice.up_to(3);
            step.retry = RetryPolicy { max, on, ..RetryPolicy::default() }.into();
        }
    }
}

/// What a planner says to an agent: guidance that may be used, some that may not, and trash.
fn answer(dice: &mut Dice) -> PlannerReply {
    match dice.below(8) {
        0 => PlannerReply::Nothing("it did not answer within 90s".into()),
        1 => PlannerReply::Text("try harder".into()),
        2 => PlannerReply::Text(json!({"guidance": "use a:x or b:x on here"}).to_string()),
        3 => PlannerReply::Text(json!({"guidance": "go on", "tools": ["run"]}).to_string()),
        _ => PlannerReply::Text(json!({"guidance": "look at the sign"}).to_string()),
    }
}

impl World {
    /// What comes of asking a planner about a step: a matter of the fates.
    pub fn guided(&self, at: usize, attempt: Attempt, stop: bool) -> InputKind {
        let mut dice = Dice::of(self.fates.0.wrapping_add(at as u64), &format!("guidance {attempt}"));
        let said = if stop { PlannerReply::Nothing("it was stopped".into()) } else { answer(&mut dice) };
        let calls = if stop { 0 } else { 1 + u32::from(dice.one_in(2)) };
        let tokens = if calls > 0 { u64::from(dice.up_to(50)) } else { 0 };
        let usage = AttemptUsage { attempts: 0, tokens, cost: Money::of_micros(tokens) };
        InputKind::Guided(GuidanceReply {
            attempt,
            said,
            must_not: Vec::new(),
            calls,
            usage,
            asked: Vec::new(),
        })
    }
}
