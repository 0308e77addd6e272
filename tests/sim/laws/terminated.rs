//! The end of a run that nothing carries out any more.

use wf_base::time::Moment;
use wf_core::machine::{RunOutcome, TaskId};

use super::{
    super::look::{Look, Seen},
    ensure,
};

/// Every so many events, a copy of the machine is terminated.
const INTERVAL: usize = 3;

pub fn terminated(look: &Look<'_>) -> Result<(), String> {
    let (Some(engine), Seen::Turn(turn)) = (look.engine(), look.seen) else {
        return Ok(());
    };
    let decided = engine.turns.iter().map(|turn| turn.events.len()).sum::<usize>() + look.run().log.len();
    if turn.events.is_empty() || !decided.is_multiple_of(INTERVAL) {
        return Ok(());
    }
    let (mut machine, mut shadow) = (engine.machine.clone(), engine.shadow.clone());
    let mut known = look.decided().clone();
    for event in machine.terminate("terminated", Moment::default()) {
        known.take(&event);
        shadow.replay(&event).map_err(|error| error.to_string())?;
    }
    let (found, told) = (machine.state(), shadow.state());
    ensure(found == told, || format!("the state is {found:?}, and its events say {told:?}"))?;
    ensure(machine.outcome().is_some() == known.begun, || "it has no end".into())?;
    let is_cancelled = matches!(machine.outcome(), Some(RunOutcome::Cancelled));
    ensure(is_cancelled == known.cancelled.is_some(), || format!("it ends as {:?}", machine.outcome()))?;
    if !known.begun {
        return Ok(());
    }
    let left = look.plan().steps().iter().find(|step| known.end(&TaskId::of_step(&step.id)).is_none());
    let live = known.places.iter().find(|(_, book)| book.live.is_some());
    ensure(left.is_none() && live.is_none() && known.asks.is_empty(), || {
        format!("it ends before {:?}, {live:?}, {:?}", left.map(|step| &step.id), known.asks)
    })?;
    let mut children = known.places.keys().flat_map(|place| known.agents.at(place).children);
    let open = children.find(|child| child.begun && child.end.is_none());
    ensure(open.is_none(), || format!("it ends before {open:?}"))
}
