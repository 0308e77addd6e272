//! The effect of gates and pending approvals on the state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::{
    state::{
        self, MachineState, TaskIx,
        fold::{agents, guidance, merges},
        task_phase::{ActivityKind, TaskActivity, TaskPhase},
    },
    words::{
        ApprovalOutcome, ApprovalRequest, Attempt, EventKind, GatePoint, RequestDecision, StepState, TaskId,
        serde_pairs,
    },
};
use wf_base::{name::GateId, time::Moment};
use wf_model::{EscalationAction, JsonObject, Plan};

/// The part of the state that gates and requests to people are about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct GatesState {
    #[serde(with = "serde_pairs")]
    pub(in crate::machine) asks: BTreeMap<u32, PendingApproval>,
    /// The number of approvals requested.
    pub(in crate::machine) asked: u32,
    /// The number of times the gates of the run were asked again.
    pub(in crate::machine) gate_tries: u32,
    /// The reason why a gate blocks the run.
    pub(in crate::machine) blocked: Option<String>,
    /// The steps to be started by escalations, each with its first block.
    #[serde(
        default,
        deserialize_with = "serde_pairs::deserialize_numbered",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub(in crate::machine) spawned: BTreeMap<u32, StandingBlock>,
    /// The outputs of the run, if gates rewrote them.
    pub(in crate::machine) published: Option<JsonObject>,
}

/// A pending approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::machine) struct PendingApproval {
    pub(in crate::machine) ask: ApprovalRequest,
    /// The task that waits for it; `None`: the run does.
    pub(in crate::machine) task: Option<TaskIx>,
}

/// Applies a fact about gates or about a decision.
pub(in crate::machine) fn apply_held(state: &mut MachineState, plan: &Plan, at: Moment, kind: &EventKind) {
    match kind {
        EventKind::GatesPassed { .. } => {
            apply_gates_passed(state, plan, at, kind);
        }
        EventKind::Escalated {
            task_id,
            gate,
            action: EscalationAction::Retry | EscalationAction::SuppressAndRephrase,
            message,
            ..
        } => apply_gate_retry(state, plan, task_id.as_ref(), gate, message),
        EventKind::Escalated { task_id, gate, name, action: EscalationAction::SpawnTask, message } => {
            let block =
                StandingBlock { gate: gate.clone(), task_id: task_id.clone(), reason: message.clone() };
            spawn(state, plan, name, block);
        }
        EventKind::ApprovalRequested(ask) => open_request(state, plan, at, ask),
        EventKind::ApprovalResolved { request: number, given, .. } => {
            apply_answer(state, at, *number, given);
        }
        EventKind::RunBlocked(block) => state.gates.blocked = Some(block.reason.clone()),
        _ => {}
    }
}

/// Lets the step of an escalation run once the others have ended. The first block of several counts.
fn spawn(state: &mut MachineState, plan: &Plan, name: &str, block: StandingBlock) {
    if let Some(ix) = plan.find(name).filter(|ix| plan.step(*ix).on_escalation) {
        state.gates.spawned.entry(ix.0).or_insert(block);
    }
}

/// Starts an attempt: its gates have passed for just this one.
pub(in crate::machine) fn begin_attempt(
    state: &mut MachineState,
    plan: &Plan,
    at: Moment,
    attempt: &Attempt,
) {
    state.start_attempt(plan, at, attempt, ActivityKind::Working);
    if let Some(record) = state.named_record_mut(plan, &attempt.task_id) {
        record.admitted = false;
    }
}

fn apply_gates_passed(state: &mut MachineState, plan: &Plan, at: Moment, kind: &EventKind) {
    let EventKind::GatesPassed { task_id, point, rewritten: new } = kind else {
        return;
    };
    let Some(place) = task_id else {
        if let (GatePoint::Start, Some(params)) = (*point, object(new, "message")) {
            state.params = params;
        }
        if let (GatePoint::Publish, Some(outputs)) = (*point, object(new, "response")) {
            state.gates.published = Some(outputs);
        }
        state.gates.gate_tries = 0;
        return;
    };
    let Some(task) = state::find_task_ix(plan, place) else {
        return;
    };
    match point {
        GatePoint::Enter | GatePoint::Again => {
            if let Some(record) = state.task_record_mut(task) {
                // Repeated gates after an attempt go on counting.
                if *point == GatePoint::Enter {
                    record.gate_tries = 0;
                }
                (record.entered, record.admitted, record.let_in) = (true, true, Some(at));
                record.tool_args = new.get("tool_args").cloned();
            }
            state.set_step_state(task, StepState::Queued);
            state.move_task(task, TaskPhase::Queued);
        }
        GatePoint::Leave => {
            if let (Some(result), Some(outputs)) = (
                state.task_record_mut(task).and_then(|record| record.result.as_mut()),
                object(new, "response"),
            ) {
                result.outputs = outputs;
            }
            state.set_activity(task, ActivityKind::Checking);
            state.set_step_state(task, StepState::Verifying);
        }
        GatePoint::Start
        | GatePoint::Call
        | GatePoint::Request
        | GatePoint::Reply
        | GatePoint::Result
        | GatePoint::Publish => {}
    }
}

fn apply_gate_retry(
    state: &mut MachineState,
    plan: &Plan,
    task_id: Option<&TaskId>,
    gate: &GateId,
    message: &str,
) {
    let Some(task_id) = task_id else {
        state.gates.gate_tries += 1;
        return;
    };
    if let Some(record) = state.named_record_mut(plan, task_id) {
        record.gate_tries += 1;
        record.record_gate_feedback(gate, message);
    }
}

/// Restores the state that the task or the run had before the approval was requested.
fn apply_answer(state: &mut MachineState, at: Moment, number: u32, outcome: &ApprovalOutcome) {
    let decision = outcome.decision;
    let Some(PendingApproval { ask, task }) = state.gates.asks.remove(&number) else {
        return;
    };
    let Some(task) = task else { return };
    if ask.phase.is_some() {
        let record = state.task_record_mut(task);
        if let Some(record) = record.filter(|_| decision == RequestDecision::Approved) {
            record.note_ignored_phase();
        }
        return state.set_activity(task, ActivityKind::Checking);
    }
    if ask.is_of_agent() {
        let waited = at.since(ask.since);
        let granted = ask.is_granted_by(decision) && ask.deferred_results.is_empty();
        let approved = granted && ask.tool_call.is_some();
        agents::note_person_answer(state, task, &ask, outcome);
        return agents::return_to_agent(state, task, waited, approved);
    }
    if let Some(merge) = &ask.merge {
        return merges::apply_merge_answer(state, task, merge, decision);
    }
    if ask.stuck.is_some() {
        return guidance::apply_stuck_answer(state, at, task, &ask, outcome);
    }
    match ask.point {
        Some(GatePoint::Enter | GatePoint::Again) => state.move_task(task, TaskPhase::Queued),
        Some(_) => state.set_activity(task, ActivityKind::Leaving),
        None => state.set_activity(task, ActivityKind::Working),
    }
}

fn open_request(state: &mut MachineState, plan: &Plan, at: Moment, request: &ApprovalRequest) {
    state.gates.asked = request.request;
    let task = request.task_id.as_ref().and_then(|place| state::find_task_ix(plan, place));
    let pending = PendingApproval { ask: request.clone(), task };
    state.gates.asks.insert(request.request, pending);
    let Some(task) = task else { return };
    if matches!(request.point, Some(GatePoint::Enter | GatePoint::Again)) {
        let activity = TaskActivity { attempt: 0, since: at, doing: ActivityKind::Asking, room: false };
        state.move_task(task, TaskPhase::Active(activity));
    } else if let Some(stuck) = &request.stuck {
        guidance::ask_about_stuck(state, task, stuck, at);
    } else {
        merges::leave_merges(state, task);
        state.set_activity(task, ActivityKind::Asking);
        agents::note_question(state, task, request.tool_call.as_ref());
    }
    state.set_step_state(task, StepState::Waiting);
}

/// Returns an object among the rewritten parts.
fn object(rewritten: &JsonObject, key: &str) -> Option<JsonObject> {
    rewritten.get(key)?.as_object().cloned()
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
