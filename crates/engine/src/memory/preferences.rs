//! The preferences following from what people decide about the requests of a run, once that is durable.

use std::collections::BTreeMap;

use wf_core::machine::{ApprovalRequest, Event, EventKind};
use wf_core::memory::StepDecision;

use crate::run::RunContext;
use crate::run::current_step::step_of;

/// The open requests of a run.
#[derive(Default)]
pub(crate) struct OpenRequests(BTreeMap<u32, ApprovalRequest>);

impl OpenRequests {
    /// Notes a durable event. Decisions of people go to memory, if the workspace wants them there: a resumed run tells
    /// it again, and it counts once.
    pub(crate) fn note(&mut self, run: &RunContext, event: &Event) {
        if !run.session.learns_preferences {
            return;
        }
        match &event.fact {
            EventKind::ApprovalRequested(ask) => drop(self.0.insert(ask.request, (**ask).clone())),
            EventKind::ApprovalResolved { request, given, .. } => {
                let Some(ask) = self.0.remove(request) else { return };
                let step = ask.place.as_ref().map(|place| step_of(run, place));
                let external = step.is_some_and(|step| step.untrusted_input().is_some());
                let (id, plan) = (&run.run_ref.id, run.plan.id());
                if let Some(decision) = StepDecision::of(id, plan, &ask, given, external) {
                    drop(run.session.store.note_decision(decision, event.at));
                }
            }
            _ => {}
        }
    }
}
