//! The opening of a run: the events that it begins with whatever its workspace is like. They can be recorded before it
//! begins, wherever that will be.

use crate::machine::state::Run;
use crate::machine::words::{
    Baseline, DeselectedStep, Event, EventKind, LOGIC_VERSION, ReusedResult, RunApproval,
};
use wf_base::name::Name;
use wf_base::time::Moment;

impl Run {
    /// Returns the opening of the run, which has not begun.
    pub(in crate::machine) fn opening(&self, at: Moment, approved: Option<Box<RunApproval>>) -> Vec<Event> {
        let mut copy = Self { now: at, ..self.clone() };
        copy.open(approved);
        copy.turn.events
    }

    /// Sets the time of the opening, which was recorded before the run begins.
    pub(in crate::machine) fn set_opening(&mut self, at: Moment) {
        self.now = self.now.max(at);
        self.opened = Some(at);
    }

    /// Begins the run.
    pub(in crate::machine) fn begin(
        &mut self,
        approved: Option<Box<RunApproval>>,
        baseline: Option<Baseline>,
    ) {
        let now = self.now;
        self.now = self.opened.unwrap_or(now);
        self.open(approved);
        self.now = now;
        if let Some(baseline) = baseline {
            self.emit(EventKind::BaselineTaken(baseline));
        }
    }

    fn open(&mut self, approved: Option<Box<RunApproval>>) {
        self.emit(EventKind::RunStarted {
            logic_version: LOGIC_VERSION,
            plan: self.plan.id().clone(),
            params: self.state.params.clone(),
            dispatch: self.state.dispatch.clone(),
        });
        self.set_budget();
        if let Some(approved) = approved {
            self.emit(EventKind::RunApproved(approved));
        }
    }

    pub(in crate::machine) fn reuse_results(&mut self, kept: Vec<ReusedResult>, left: Vec<DeselectedStep>) {
        for kept in kept {
            if self.is_open(&kept.step) {
                self.emit(kept.into());
            }
        }
        for left in left {
            if self.is_open(&left.step) {
                self.emit(EventKind::StepDeselected(left));
            }
        }
        self.run_timer();
    }

    /// True if the plan has a step of that name, and it has not ended.
    fn is_open(&self, step: &Name) -> bool {
        let ix = self.plan.find(step.as_str());
        ix.is_some_and(|ix| !self.state.step_record(ix.0).state.is_final())
    }
}
