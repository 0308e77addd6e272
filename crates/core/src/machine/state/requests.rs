//! The requests for approval: their approvers, their record, and their withdrawal.

use crate::{
    gate::GateResult,
    machine::{
        state::{self, Run, TaskIx},
        words::{
            ApprovalOutcome, ApprovalRequest, Effect, EventKind, GatePoint, RequestDecision, TimerKind,
            gates_at, reason::truncate_reason,
        },
    },
    risk::{risk_from_step, risk_of_plan},
};
use wf_base::name::GateId;
use wf_model::{ApprovalRequirement, JsonObject};

pub(in crate::machine) fn draft(
    run: &Run,
    task: Option<TaskIx>,
    message: String,
    needs: &ApprovalRequirement,
) -> ApprovalRequest {
    let plan = run.plan();
    let covers_steps = match task {
        Some(task) => {
            let needed = plan.step(task.ix()).depends_on.iter();
            needed.map(|ix| plan.step(*ix).id.clone()).collect()
        }
        None => Vec::new(),
    };
    ApprovalRequest {
        request: run.state().gates.next_request(),
        task_id: task.map(|task| state::task_id(plan, task)),
        point: None,
        phase: None,
        tool_call: None,
        exchange: None,
        merge: None,
        stuck: None,
        gates: Vec::new(),
        deferred_results: Vec::new(),
        message: truncate_reason(message),
        risk: Some(match task {
            Some(task) => risk_from_step(plan, task.ix()),
            None => risk_of_plan(plan),
        }),
        show: JsonObject::new(),
        answer: None,
        rewritten: JsonObject::new(),
        required: needs.required,
        approvers: needs.approvers.clone(),
        escalate_to: needs.escalate_to.clone(),
        queue: None,
        fallback: None,
        tried_escalations: Vec::new(),
        reason: None,
        since: run.now(),
        expires: run.now().after(needs.response_timeout()),
        covers_steps,
    }
}

/// Returns the request of the first gate, and of those with the same approvers; the others are deferred.
pub(in crate::machine) fn draft_of_gates(
    run: &Run,
    task: Option<TaskIx>,
    point: GatePoint,
    gates: Vec<GateResult>,
) -> ApprovalRequest {
    let first = gates.first().map(|first| needs_of(run, task, point, &first.gate));
    let needs = first.unwrap_or_default();
    let same = |result: &GateResult| needs_of(run, task, point, &result.gate) == needs;
    let (now, then): (Vec<GateResult>, Vec<GateResult>) = gates.into_iter().partition(same);
    let reasons = now.iter().map(|result| match result.reason.as_str() {
        "" => format!("gate `{}` asks for approval", result.gate),
        reason => format!("gate `{}` asks for approval: {reason}", result.gate),
    });
    let message = reasons.collect::<Vec<_>>().join("; ");
    ApprovalRequest {
        point: Some(point),
        gates: now.into_iter().map(|result| result.gate).collect(),
        deferred_results: then,
        ..draft(run, task, message, &needs)
    }
}

/// Returns the approvers demanded by a gate.
pub(in crate::machine) fn needs_of(
    run: &Run,
    task: Option<TaskIx>,
    point: GatePoint,
    id: &GateId,
) -> ApprovalRequirement {
    let mut gates = gates_at(run.plan(), task.map(TaskIx::ix), point);
    let gate = gates.find(|gate| gate.id == *id);
    gate.map(|gate| gate.approval.clone()).unwrap_or_default()
}

pub(in crate::machine) fn open(run: &mut Run, request: ApprovalRequest) {
    run.emit(EventKind::ApprovalRequested(Box::new(request.clone())));
    wait_for(run, request);
}

/// Waits for a decision or the deadline.
pub(in crate::machine) fn wait_for(run: &mut Run, request: ApprovalRequest) {
    let (number, at) = (request.request, request.expires);
    run.push_effect(Effect::Ask(Box::new(request)));
    run.set_timer(TimerKind::Ask { number }, at);
}

pub(in crate::machine) fn record_outcome(run: &mut Run, number: u32, outcome: ApprovalOutcome) {
    let pending = run.state().gates.pending_approval(number);
    let task_id = pending.and_then(|pending| pending.ask.task_id.clone());
    run.emit(EventKind::ApprovalResolved { request: number, task_id, given: outcome });
    run.push_effect(Effect::Dismiss { number });
}

/// Withdraws the requests about a task.
pub(in crate::machine) fn withdraw(run: &mut Run, task: Option<TaskIx>) {
    let numbers: Vec<u32> = run.state().gates.requests_of(task).map(|ask| ask.request).collect();
    for number in numbers {
        record_outcome(run, number, ApprovalOutcome::unanswered(RequestDecision::Withdrawn));
    }
}
