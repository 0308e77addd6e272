use super::engine_session::FinishedRun;
use wf_base::name::RunId;
use wf_core::machine::{Event, EventKind, Machine};

/// Returns the end of a run, if the event is one; the machine has applied it.
pub(crate) fn finished_run_of(run: &RunId, event: &Event, machine: &Machine) -> Option<FinishedRun> {
    let EventKind::RunEnded {
        outcome,
        reason,
        failed_step: failed,
        standing,
        counts,
        failures,
        outputs,
        stale,
        accepted,
        offers: _,
    } = &event.fact
    else {
        return None;
    };
    Some(FinishedRun {
        run: run.clone(),
        outcome: *outcome,
        reason: reason.clone(),
        failed: failed.clone(),
        standing: *standing,
        counts: *counts,
        failures: *failures,
        findings: machine.findings(),
        stale: stale.clone(),
        outputs: outputs.clone(),
        accepted: *accepted,
    })
}

/// Returns the recorded end of a run, if it is over.
pub(crate) fn recorded_end(run: &RunId, events: &[(u64, Event)], machine: &Machine) -> Option<FinishedRun> {
    events.last().and_then(|(_, event)| finished_run_of(run, event, machine))
}
