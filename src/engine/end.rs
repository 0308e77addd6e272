use super::Finished;
use crate::machine::{Event, Fact};
use crate::name::RunId;

/// The end of a run, if that is what an event is.
pub(super) fn end_of(run: &RunId, event: &Event) -> Option<Finished> {
    let Fact::RunEnded {
        outcome,
        why,
        failed,
        standing,
        tally,
        outputs,
        stale,
        accepted,
    } = &event.fact
    else {
        return None;
    };
    Some(Finished {
        run: run.clone(),
        outcome: *outcome,
        why: why.clone(),
        failed: failed.clone(),
        standing: *standing,
        tally: *tally,
        stale: stale.clone(),
        outputs: outputs.clone(),
        accepted: *accepted,
    })
}

/// The recorded end of a run, if it is over.
pub(super) fn recorded_end(run: &RunId, events: &[(u64, Event)]) -> Option<Finished> {
    events.last().and_then(|(_, event)| end_of(run, event))
}
