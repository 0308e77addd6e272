use std::collections::BTreeMap;

use serde::Serialize;

use wf_base::name::PlanId;
use wf_core::machine::{ChildId, Event, EventKind, WorkExit};

/// A child run that an agent asked for and that never began.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnbegunChild {
    /// The child run.
    #[serde(flatten)]
    pub id: ChildId,
    /// Its plan.
    pub plan: PlanId,
    /// The reason why it cannot begin any more; absent while it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<WorkExit>,
}

impl UnbegunChild {
    /// The events that it is built from.
    pub const EVENTS: [&'static str; 3] = ["child_dispatched", "child_started", "child_ended"];

    /// Returns the child runs in events that did not begin.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut all: BTreeMap<ChildId, Self> = BTreeMap::new();
        for event in events {
            match &event.fact {
                EventKind::ChildDispatched(asked) => {
                    let id = ChildId { attempt: asked.id.attempt.clone(), child: asked.child.clone() };
                    all.insert(id.clone(), Self { id, plan: asked.plan.clone(), exit: None });
                }
                EventKind::ChildStarted(id) => drop(all.remove(id)),
                EventKind::ChildEnded(end) => {
                    if let Some(child) = all.get_mut(&end.id) {
                        child.exit = Some(end.exit.clone());
                    }
                }
                _ => {}
            }
        }
        all.into_values().collect()
    }
}
