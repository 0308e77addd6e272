//! The end of a run.

use wf_base::name::{Name, RunId};
use wf_core::machine::{
    CriteriaCount, Event, EventKind, FailureTally, Machine, NestedFindings, RunOutcome, StaleFile, Standing,
    StepCounts,
};
use wf_model::JsonObject;

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedRun {
    pub run: RunId,
    pub outcome: RunOutcome,
    /// The reason; empty for success.
    pub reason: String,
    /// The first failed step.
    pub failed: Option<Name>,
    /// The verification status of its result.
    pub standing: Standing,
    /// The number of its steps by final state.
    pub counts: StepCounts,
    /// The failures in it, by class.
    pub failures: FailureTally,
    /// The findings for a run around it.
    pub findings: NestedFindings,
    /// The tasks with stale evidence.
    pub stale: Vec<StaleFile>,
    pub outputs: JsonObject,
    /// The number of criteria that pass, if the result was accepted with less than all.
    pub accepted_criteria: Option<CriteriaCount>,
}

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
        accepted_criteria: *accepted,
    })
}

/// Returns the recorded end of a run, if it is over.
pub(crate) fn recorded_end(run: &RunId, events: &[(u64, Event)], machine: &Machine) -> Option<FinishedRun> {
    events.last().and_then(|(_, event)| finished_run_of(run, event, machine))
}
