//! The part of gates, and of requests to people.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{self, TaskIx},
    words::{ApprovalRequest, EventKind, GatePoint, TaskId, serde_pairs},
};
use wf_base::name::GateId;
use wf_model::{EscalationAction, JsonObject, Plan};

/// The state of gates, and of requests to people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct GatesState {
    #[serde(with = "serde_pairs")]
    asks: BTreeMap<u32, PendingApproval>,
    /// The number of approvals requested.
    asked: u32,
    /// The number of times the gates of the run were asked again.
    gate_tries: u32,
    /// The reason why a gate blocks the run.
    blocked: Option<String>,
    /// The steps to be started by escalations, each with its first block.
    #[serde(
        default,
        deserialize_with = "serde_pairs::deserialize_numbered",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    spawned: BTreeMap<u32, StandingBlock>,
    /// The outputs of the run, if gates rewrote them.
    published: Option<JsonObject>,
}

/// A pending approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct PendingApproval {
    pub(in crate::machine) ask: ApprovalRequest,
    /// The waiting task; `None`: the run waits.
    pub(in crate::machine) task: Option<TaskIx>,
}

/// The block behind the plan of an escalation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct StandingBlock {
    pub(in crate::machine) gate: GateId,
    /// The blocked task; `None`: the run.
    #[serde(rename = "place")]
    pub(in crate::machine) task_id: Option<TaskId>,
    pub(in crate::machine) reason: String,
}

impl GatesState {
    /// Applies a fact. Returns the request that it resolves.
    pub(in crate::machine::state) fn apply(
        &mut self,
        plan: &Plan,
        kind: &EventKind,
    ) -> Option<PendingApproval> {
        match kind {
            EventKind::GatesPassed { task_id: None, point, rewritten } => {
                if let (GatePoint::Publish, Some(outputs)) = (*point, rewritten_object(rewritten, "response"))
                {
                    self.published = Some(outputs);
                }
                self.gate_tries = 0;
            }
            EventKind::Escalated { task_id, gate, name, action: EscalationAction::SpawnTask, message } => {
                // The first block of several counts.
                if let Some(ix) = plan.find(name).filter(|ix| plan.step(*ix).on_escalation) {
                    let (gate, reason) = (gate.clone(), message.clone());
                    let block = StandingBlock { gate, task_id: task_id.clone(), reason };
                    self.spawned.entry(ix.0).or_insert(block);
                }
            }
            EventKind::Escalated {
                task_id: None,
                action: EscalationAction::Retry | EscalationAction::SuppressAndRephrase,
                ..
            } => self.gate_tries += 1,
            EventKind::ApprovalRequested(ask) => {
                self.asked = ask.request;
                let task = ask.task_id.as_ref().and_then(|task_id| state::find_task_ix(plan, task_id));
                self.asks.insert(ask.request, PendingApproval { ask: (**ask).clone(), task });
            }
            EventKind::ApprovalResolved { request, .. } => return self.asks.remove(request),
            EventKind::RunBlocked(block) => self.blocked = Some(block.reason.clone()),
            _ => {}
        }
        None
    }

    /// Returns a pending approval.
    pub(in crate::machine) fn pending_approval(&self, number: u32) -> Option<&PendingApproval> {
        self.asks.get(&number)
    }

    /// Returns the pending approvals, by number.
    pub(in crate::machine) fn pending_approvals(&self) -> impl Iterator<Item = &PendingApproval> {
        self.asks.values()
    }

    /// Returns the open requests of a task, or of the run.
    pub(in crate::machine) fn requests_of(
        &self,
        task: Option<TaskIx>,
    ) -> impl Iterator<Item = &ApprovalRequest> {
        self.asks.values().filter(move |pending| pending.task == task).map(|pending| &pending.ask)
    }

    /// Returns the number of the next request.
    pub(in crate::machine) fn next_request(&self) -> u32 {
        self.asked + 1
    }

    /// Returns the number of times the gates of the run were asked again.
    pub(in crate::machine) fn gate_tries(&self) -> u32 {
        self.gate_tries
    }

    /// True if a gate blocks the run.
    pub(in crate::machine) fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// Returns the reason why a gate blocks the run.
    pub(in crate::machine) fn block_reason(&self) -> Option<&str> {
        self.blocked.as_deref()
    }

    /// Returns the block behind the step of an escalation.
    pub(in crate::machine) fn block_behind(&self, step: u32) -> Option<&StandingBlock> {
        self.spawned.get(&step)
    }

    /// Returns the outputs of the run, if gates rewrote them.
    pub(in crate::machine) fn published_outputs(&self) -> Option<&JsonObject> {
        self.published.as_ref()
    }
}

/// Returns an object among the rewritten parts.
pub(in crate::machine::state) fn rewritten_object(rewritten: &JsonObject, key: &str) -> Option<JsonObject> {
    rewritten.get(key)?.as_object().cloned()
}
