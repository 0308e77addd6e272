//! The opening of a run: the events that it begins with whatever its workspace is like. They can be recorded before it
//! begins, wherever that will be.

use crate::machine::{
    state::Run,
    tasks::{budget, timeouts},
    words::{Baseline, DeselectedStep, Event, EventKind, LOGIC_VERSION, ReusedResult, RunApproval},
};
use wf_base::{name::Name, time::Moment};

/// Returns the opening of the run, before its beginning.
pub(in crate::machine) fn opening(run: &Run, at: Moment, approved: Option<Box<RunApproval>>) -> Vec<Event> {
    let mut copy = run.clone();
    copy.set_opening(at);
    copy.at_opening(|run| open(run, approved));
    copy.end_turn().events
}

/// Begins the run.
pub(in crate::machine) fn begin(
    run: &mut Run,
    approved: Option<Box<RunApproval>>,
    baseline: Option<Baseline>,
) {
    run.at_opening(|run| open(run, approved));
    if let Some(baseline) = baseline {
        run.emit(EventKind::BaselineTaken(baseline));
    }
}

fn open(run: &mut Run, approved: Option<Box<RunApproval>>) {
    run.emit(EventKind::RunStarted {
        logic_version: LOGIC_VERSION,
        plan: run.plan().id().clone(),
        params: run.state().params().clone(),
        dispatch: run.state().dispatch().cloned(),
    });
    budget::set_budget(run);
    if let Some(approved) = approved {
        run.emit(EventKind::RunApproved(approved));
    }
}

pub(in crate::machine) fn reuse_results(run: &mut Run, kept: Vec<ReusedResult>, left: Vec<DeselectedStep>) {
    for kept in kept {
        if is_open(run, &kept.step) {
            run.emit(kept.into());
        }
    }
    for left in left {
        if is_open(run, &left.step) {
            run.emit(EventKind::StepDeselected(left));
        }
    }
    timeouts::run_timer(run);
}

/// True if the plan has a step of that name, and it has not ended.
fn is_open(run: &Run, step: &Name) -> bool {
    let ix = run.plan().find(step.as_str());
    ix.is_some_and(|ix| !run.state().step_record(ix.0).is_over())
}
