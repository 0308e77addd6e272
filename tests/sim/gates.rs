//! Gates and decisions: where plans have them, what gates say in the world, and what its people
//! decide.

use std::sync::Arc;
use std::time::Duration;

use wf::expr::Template;
use wf::gate::{Action, GateResult, Gated};
use wf::machine::{Ask, Decision, GatePoint, Given, Happening, Place, gates_at};
use wf::model::{
    Approve, Escalation, EscalationAction, Gate, Lane, Needs, Object, Predicate, Provider, Step,
    Trigger, Work,
};
use wf::name::{GateId, Name};

use super::dice::Dice;
use super::engine::Job;
use super::world::World;

/// The ways in which a block may go on.
const ON_BLOCK: [&str; 10] = [
    "respond", "report", "retry", "rephrase", "suppress", "human", "queue", "nowhere", "nobody",
    "task",
];

/// A decision that a step is for.
pub fn approve(dice: &mut Dice, steady: bool) -> Work {
    let name = Name::parse("what").expect("a name");
    Work::Approve(Box::new(Approve {
        message: Template::literal("may it?"),
        show: vec![(name, Template::literal("this"))],
        needs: needs(dice, steady),
    }))
}

/// Who must agree, and until when: in a steady world people are waited for.
fn needs(dice: &mut Dice, steady: bool) -> Needs {
    let limited = !steady && dice.one_in(2);
    let seconds = u64::from(1 + dice.up_to(4));
    let to = dice.one_in(2).then(|| "boss".to_owned());
    Needs {
        timeout: limited.then(|| Duration::from_secs(seconds)),
        escalate_to: to.into_iter().collect(),
        ..Needs::default()
    }
}

/// Lets some steps have gates.
pub fn of_steps(steps: &mut [Step], dice: &mut Dice, steady: bool) {
    let triggers = [
        Trigger::BeforeStep,
        Trigger::OnToolCall,
        Trigger::AfterStep,
        Trigger::OnOutput,
    ];
    for step in steps {
        while dice.one_in(2) && step.gates.len() < 3 {
            let on = *dice.pick(&triggers);
            step.gates.push(gate(dice, on, step.gates.len(), steady));
        }
    }
}

/// The gates of a plan.
pub fn of_plan(dice: &mut Dice, steady: bool) -> Vec<Arc<Gate>> {
    let triggers = [
        Trigger::BeforeRun,
        Trigger::OnInput,
        Trigger::BeforePublish,
        Trigger::BeforeStep,
    ];
    let count = 1 + dice.below(2);
    let all = (10..10 + count).map(|number| {
        let on = *dice.pick(&triggers);
        gate(dice, on, number, steady)
    });
    all.collect()
}

fn gate(dice: &mut Dice, on: Trigger, number: usize, steady: bool) -> Arc<Gate> {
    let lane = if dice.one_in(4) {
        Lane::Quality
    } else {
        Lane::Policy
    };
    let on_block = dice.one_in(2).then(|| (*dice.pick(&ON_BLOCK)).to_owned());
    Arc::new(Gate {
        id: GateId::parse(&format!("gate-{number}")).expect("a name"),
        title: None,
        path: None,
        on,
        lane,
        provider: Provider::Predicate(Predicate::ApprovalAlways),
        extract: None,
        on_block,
        escalations: Vec::new(),
        approval: needs(dice, steady),
    })
}

/// What blocks lead to.
pub fn escalations() -> Vec<Escalation> {
    let all = [
        ("respond", EscalationAction::Respond, None),
        ("report", EscalationAction::Report, None),
        ("retry", EscalationAction::Retry, Some("human")),
        (
            "rephrase",
            EscalationAction::SuppressAndRephrase,
            Some("retry"),
        ),
        (
            "suppress",
            EscalationAction::SuppressAndEscalate,
            Some("human"),
        ),
        ("human", EscalationAction::EscalateHuman, Some("rephrase")),
        ("queue", EscalationAction::TransferToQueue, None),
        ("task", EscalationAction::SpawnTask, Some("human")),
        (
            "nowhere",
            EscalationAction::TransferToQueue,
            Some("nowhere"),
        ),
    ];
    let made = all.map(|(name, action, fallback)| Escalation {
        name: name.into(),
        action,
        message: None,
        max_retries: 2,
        fallback: fallback.map(str::to_owned),
        queue: (name == "queue").then(|| "desk".to_owned()),
        rephrase: None,
        plan: (name == "task").then(|| "mend.md".to_owned()),
    });
    made.into()
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

    /// What people decided. What they are asked changes once at most.
    pub fn answered(&mut self, at: usize, ask: &Ask) -> Happening {
        let mut dice = self.fates.people(at, ask, 0);
        let whole = (at, (ask.place.clone(), ask.point, ask.phase));
        let decision = match dice.below(8) {
            0 | 1 => Decision::Denied,
            2 if self.changed.insert(whole) => Decision::Void,
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
        let step = place
            .as_ref()
            .and_then(|place| plan.find(place.step.as_str()));
        let gates: Vec<&Arc<Gate>> = gates_at(plan, step, point).collect();
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
