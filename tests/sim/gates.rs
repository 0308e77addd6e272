//! What gates say in the world, and what its people decide.

use wf::gate::{Action, GateResult, Gated};
use wf::machine::{Ask, Decision, GatePoint, Given, Happening, Place};
use wf::model::{Gate, Lane, Object, Plan, Trigger};

use super::dice::Dice;
use super::engine::Job;
use super::world::World;

/// The triggers of a point, in order.
fn triggers(point: GatePoint) -> &'static [Trigger] {
    match point {
        GatePoint::Start => &[Trigger::BeforeRun, Trigger::OnInput],
        GatePoint::Enter => &[Trigger::BeforeStep, Trigger::OnToolCall],
        GatePoint::Leave => &[Trigger::AfterStep, Trigger::OnOutput],
        GatePoint::Publish => &[Trigger::BeforePublish],
    }
}

impl World {
    /// Lets people be asked. They take their time, and some never answer.
    pub fn ask(&mut self, at: usize, ask: Box<Ask>) {
        let mut dice = self.fates.people(at, &ask, self.now);
        let slow = dice.one_in(3);
        let after = i64::from(dice.up_to(if slow { 60_000 } else { 3000 }));
        let due = self.now + after;
        self.engine(at).spawn(Job::Ask { ask }, due);
    }

    /// What people decided.
    pub fn answered(&mut self, at: usize, ask: &Ask) -> Happening {
        let mut dice = self.fates.people(at, ask, 0);
        let decision = match dice.below(8) {
            0 | 1 => Decision::Denied,
            2 => Decision::Void,
            _ => Decision::Approved,
        };
        Happening::Answered {
            number: ask.number,
            given: Given {
                decision,
                by: Vec::new(),
                tokens: Vec::new(),
                reason: String::new(),
            },
        }
    }

    /// What the gates at a point say.
    pub fn gated(
        &mut self,
        at: usize,
        place: Option<Place>,
        point: GatePoint,
        attempt: u32,
    ) -> Happening {
        let plan = &self.runs[at].plan;
        let gates = asked(plan, place.as_ref(), point);
        let whose = place.as_ref().map_or("the run".into(), ToString::to_string);
        let what = format!("gates of {whose}, {point:?}, attempt {attempt}");
        let mut dice = Dice::of(self.fates.0.wrapping_add(at as u64), &what);
        let mut result = |gate: &Gate| {
            let action = match dice.below(10) {
                0 if gate.lane == Lane::Policy => Action::Block,
                1 if gate.lane == Lane::Policy => Action::RequireApproval,
                _ => Action::Continue,
            };
            GateResult {
                gate: gate.id.clone(),
                trigger: gate.on,
                lane: gate.lane,
                action,
                reason: String::new(),
                score: None,
                flags: Vec::new(),
                changed: Vec::new(),
                rejected: Vec::new(),
                ignored: None,
                millis: 0,
            }
        };
        let results = gates.iter().map(|gate| result(gate)).collect();
        Happening::Gated {
            place,
            point,
            gated: Gated {
                results,
                rewritten: Object::new(),
            },
        }
    }
}

/// The gates that are asked at a point.
fn asked(plan: &Plan, place: Option<&Place>, point: GatePoint) -> Vec<std::sync::Arc<Gate>> {
    let of = |on: &Trigger| -> Vec<std::sync::Arc<Gate>> {
        match place.and_then(|place| plan.find(place.step.as_str())) {
            Some(ix) => plan.gates_of(ix, *on).cloned().collect(),
            None => plan.gates_on(*on).cloned().collect(),
        }
    };
    triggers(point).iter().flat_map(of).collect()
}
