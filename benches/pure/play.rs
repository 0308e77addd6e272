//! A run without a world: what is started ends well, in the order in which it was started.

use std::{collections::VecDeque, sync::Arc};

use wf_base::{name::RunId, time::Moment};
use wf_core::machine::{
    Attempt, AttemptEnd, Effect, Event, InputKind, Machine, MachineInput, MachineTurn, RunOutcome, WorkExit,
};
use wf_model::{JsonObject, Plan};

/// Carries a plan out and shows every event.
pub fn run(plan: &Arc<Plan>, mut see: impl FnMut(&Event)) {
    let mut machine = Machine::new(Arc::clone(plan), RunId::from_bytes([7; 16]), JsonObject::new());
    let mut open: VecDeque<Attempt> = VecDeque::new();
    let mut next = Some(InputKind::Begin {
        kept: Vec::new(),
        left: Vec::new(),
        baseline: None,
        dropped: Vec::new(),
        approved: None,
        advice: Vec::new(),
        intent: None,
    });
    let mut at = 0;
    while let Some(what) = next {
        at += 1;
        let MachineTurn { events, effects } =
            machine.turn(MachineInput { at: Moment::from_millis(at), kind: what });
        events.iter().for_each(&mut see);
        open.extend(effects.into_iter().filter_map(|effect| match effect {
            Effect::Start { attempt, .. } => Some(attempt),
            _ => None,
        }));
        next = open.pop_front().map(ended);
    }
    assert_eq!(machine.outcome(), Some(RunOutcome::Succeeded));
}

/// What the recorded events of a run lead to.
pub fn replayed(plan: &Arc<Plan>, events: &[Event]) -> Machine {
    let mut machine = Machine::new(Arc::clone(plan), RunId::from_bytes([7; 16]), JsonObject::new());
    for event in events {
        machine.replay(event).expect("the same rules");
    }
    machine
}

fn ended(attempt: Attempt) -> InputKind {
    InputKind::Ended(AttemptEnd::new(attempt, WorkExit::Code { code: 0 }))
}
