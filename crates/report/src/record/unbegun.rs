use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    lines::{attempt_label, line},
    state_style, state_word,
};
use wf_base::{name::PlanId, untrusted::untrusted};
use wf_core::machine::{ChildId, Event, EventKind, Standing, StepState, WorkExit};

/// A child run requested by an agent and never begun.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnbegunChild {
    /// The child run.
    #[serde(flatten)]
    pub id: ChildId,
    pub plan: PlanId,
    /// The reason why it cannot begin any more; absent while it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<WorkExit>,
}

impl UnbegunChild {
    /// The events it is built from.
    pub const EVENTS: [&'static str; 3] = ["child_dispatched", "child_started", "child_ended"];

    /// Returns the child runs in events that did not begin.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut children: BTreeMap<ChildId, Self> = BTreeMap::new();
        for event in events {
            match &event.fact {
                EventKind::ChildDispatched(asked) => {
                    let id = ChildId { attempt: asked.id.attempt.clone(), child: asked.child.clone() };
                    children.insert(id.clone(), Self { id, plan: asked.plan.clone(), exit: None });
                }
                EventKind::ChildStarted(id) => drop(children.remove(id)),
                EventKind::ChildEnded(end) => {
                    if let Some(child) = children.get_mut(&end.id) {
                        child.exit = Some(end.exit.clone());
                    }
                }
                _ => {}
            }
        }
        children.into_values().collect()
    }
}

/// The line of a child run of an agent that did not begin.
pub(super) fn unbegun_line(child: &UnbegunChild, depth: usize) -> String {
    let (state, reason) = match &child.exit {
        None => (StepState::Pending, String::new()),
        Some(WorkExit::Cancelled) => (StepState::Cancelled, String::new()),
        Some(exit) => (StepState::Failed, format!(": {exit}")),
    };
    let margin = "  ".repeat(depth);
    let attempt = attempt_label(child.id.attempt.attempt);
    let about = format!("{margin}{}{attempt} · plan {} · not begun{reason}", child.id.child, child.plan);
    line(state_style(state), state_word(state, Standing::Unchecked), None, &untrusted(&about).to_string())
}
