//! The effect of gates and pending approvals on the state.

use crate::machine::{
    state::{
        self, MachineState, TaskIx,
        fold::{agents, guidance, merges},
        parts::gates::{PendingApproval, rewritten_object},
        task_phase::{ActivityKind, TaskActivity, TaskPhase},
    },
    words::{ApprovalOutcome, ApprovalRequest, EventKind, GatePoint, RequestDecision, StepState},
};
use wf_base::time::Moment;
use wf_model::{EscalationAction, Plan};

/// Applies a fact about gates or about a decision to the waiting task; `approval`: the request resolved by it.
pub(in crate::machine::state) fn apply_to_waiting(
    state: &mut MachineState,
    plan: &Plan,
    at: Moment,
    kind: &EventKind,
    approval: Option<PendingApproval>,
) {
    match kind {
        EventKind::GatesPassed { .. } => {
            apply_gates_passed(state, plan, at, kind);
        }
        EventKind::Escalated {
            task_id: Some(task_id),
            gate,
            action: EscalationAction::Retry | EscalationAction::SuppressAndRephrase,
            message,
            ..
        } => {
            if let Some(record) = state.named_record_mut(plan, task_id) {
                record.retry_gates(gate, message);
            }
        }
        EventKind::ApprovalRequested(ask) => open_request(state, plan, at, ask),
        EventKind::ApprovalResolved { given, .. } => {
            if let Some(PendingApproval { ask, task: Some(task) }) = approval {
                apply_answer(state, at, task, &ask, given);
            }
        }
        _ => {}
    }
}

fn apply_gates_passed(state: &mut MachineState, plan: &Plan, at: Moment, kind: &EventKind) {
    let EventKind::GatesPassed { task_id, point, rewritten: new } = kind else {
        return;
    };
    let Some(task_id) = task_id else {
        if let (GatePoint::Start, Some(params)) = (*point, rewritten_object(new, "message")) {
            state.params = params;
        }
        return;
    };
    let Some(task) = state::find_task_ix(plan, task_id) else {
        return;
    };
    match point {
        GatePoint::Enter | GatePoint::Again => {
            if let Some(record) = state.task_record_mut(task) {
                record.pass_gates(at, *point == GatePoint::Enter, new.get("tool_args"));
            }
            state.set_step_state(task, StepState::Queued);
            state.move_task(task, TaskPhase::Queued);
        }
        GatePoint::Leave => {
            if let (Some(record), Some(outputs)) =
                (state.task_record_mut(task), rewritten_object(new, "response"))
            {
                record.rewrite_outputs(outputs);
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

/// Restores the state of a task from before the approval was requested.
fn apply_answer(
    state: &mut MachineState,
    at: Moment,
    task: TaskIx,
    ask: &ApprovalRequest,
    outcome: &ApprovalOutcome,
) {
    let decision = outcome.decision;
    if ask.phase.is_some() {
        let record = state.task_record_mut(task);
        if let Some(record) = record.filter(|_| decision == RequestDecision::Approved) {
            record.ignore_phase();
        }
        return state.set_activity(task, ActivityKind::Checking);
    }
    if ask.is_of_agent() {
        let waited = at.since(ask.since);
        let granted = ask.is_granted_by(decision) && ask.deferred_results.is_empty();
        let approved = granted && ask.tool_call.is_some();
        agents::note_person_answer(state, task, ask, outcome);
        return agents::return_to_agent(state, task, waited, approved);
    }
    if let Some(merge) = &ask.merge {
        return merges::apply_merge_answer(state, task, merge, decision);
    }
    if ask.stuck.is_some() {
        return guidance::apply_stuck_answer(state, at, task, ask, outcome);
    }
    match ask.point {
        Some(GatePoint::Enter | GatePoint::Again) => state.move_task(task, TaskPhase::Queued),
        Some(_) => state.set_activity(task, ActivityKind::Leaving),
        None => state.set_activity(task, ActivityKind::Working),
    }
}

fn open_request(state: &mut MachineState, plan: &Plan, at: Moment, request: &ApprovalRequest) {
    let task = request.task_id.as_ref().and_then(|task_id| state::find_task_ix(plan, task_id));
    let Some(task) = task else { return };
    if matches!(request.point, Some(GatePoint::Enter | GatePoint::Again)) {
        let activity = TaskActivity { attempt: 0, since: at, doing: ActivityKind::Asking, room: false };
        state.move_task(task, TaskPhase::Active(activity));
    } else if let Some(stuck) = &request.stuck {
        guidance::ask_about_stuck(state, task, stuck, at);
    } else {
        state.agents.leave_merges(task);
        state.set_activity(task, ActivityKind::Asking);
        agents::note_question(state, task, request.tool_call.as_ref());
    }
    state.set_step_state(task, StepState::Waiting);
}
