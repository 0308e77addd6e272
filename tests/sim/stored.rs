//! States that are stored and restored.

use std::sync::Arc;

use wf_base::time::Moment;
use wf_core::machine::{Event, Machine, MachineState};

use super::{dice::Dice, look::Broken};

/// Tells two machines the same events. The second one is stored somewhere on the way and restored; it must go on
/// like the first.
pub fn restored(
    new: &Machine,
    log: &[Event],
    now: Moment,
    dice: &mut Dice,
) -> Result<(Machine, Machine), Broken> {
    let (before, after) = log.split_at(dice.below(log.len() + 1));
    let broken = |reason: String| Broken { law: "restored", reason };
    let stored = serde_json::to_string(replayed(new.clone(), before).state());
    let state: MachineState =
        stored.and_then(|text| serde_json::from_str(&text)).map_err(|error| broken(error.to_string()))?;
    let restored = Machine::from_state(Arc::clone(new.plan()), state);
    let restored = replayed(restored.map_err(|error| broken(error.to_string()))?, after);
    let lived = replayed(new.clone(), log);
    if goes_on(restored.clone(), now) == goes_on(lived.clone(), now) {
        Ok((lived, restored))
    } else {
        Err(broken(format!("stored after {} events, a run goes on in another way", before.len())))
    }
}

fn replayed(mut machine: Machine, events: &[Event]) -> Machine {
    for event in events {
        machine.replay(event).expect("the logic is the same");
    }
    machine
}

/// What a machine asks for when it is resumed, and all that it is then.
fn goes_on(mut machine: Machine, now: Moment) -> impl PartialEq {
    let turn = machine.resume(now);
    let plan = format!("{:?} {:?}", machine.plan_digest(), machine.plan().steps());
    (turn, machine.state().clone(), machine.in_flight().clone(), plan)
}
