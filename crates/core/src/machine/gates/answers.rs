//! The answers of approvers, and their silence.

use crate::machine::{
    gates::{
        approvals,
        escalation::{self, GateBlock},
        points,
    },
    state::{Run, follow_up::FollowUp, in_flight::TaskRequest, parts::gates::PendingApproval, requests},
    words::{ApprovalOutcome, ApprovalRequest, RequestDecision, WorkExit},
};
use wf_model::{FailureClass, JsonObject};

/// Applies a decision. Its expiry is left to the timer.
pub(in crate::machine) fn on_approval_outcome(run: &mut Run, number: u32, outcome: ApprovalOutcome) {
    let Some(pending) = run.state().gates.pending_approval(number).cloned() else {
        return;
    };
    match outcome.decision {
        decision if pending.ask.is_granted_by(decision) => {
            // An answer that was not to be given is none: the request stays open.
            let Ok(outputs) = pending.ask.approved_outputs(&outcome) else {
                return;
            };
            // A task that goes on with it waits for its lock, and the answer with it.
            if let Some(task) = pending.task.filter(|task| run.flight.is_returning(*task)) {
                return run.flight.set(task, Some(TaskRequest::Return { approved: true }));
            }
            requests::record_outcome(run, number, outcome);
            run.then(FollowUp::ApplyGrant { pending: Box::new(pending), outputs });
        }
        RequestDecision::Denied => {
            let reason = refusal(&pending.ask, &outcome);
            requests::record_outcome(run, number, outcome);
            run.then(FollowUp::ApplyRefusal { pending: Box::new(pending), reason });
        }
        RequestDecision::Void => {
            requests::record_outcome(run, number, outcome);
            ask_further_approvers(run, pending.ask, Vec::new());
        }
        RequestDecision::Approved
        | RequestDecision::Answered
        | RequestDecision::Expired
        | RequestDecision::Withdrawn => {}
    }
}

/// Applies the expiry of a request. Further approvers are asked, once, if there are any; then a
/// block follows its fallback, and everything else is refused.
pub(in crate::machine) fn on_request_expired(run: &mut Run, number: u32) {
    let Some(pending) = run.state().gates.pending_approval(number).cloned() else {
        return;
    };
    if run.now() < pending.ask.expires {
        return;
    }
    let PendingApproval { ask, task } = pending.clone();
    requests::record_outcome(run, number, ApprovalOutcome::unanswered(RequestDecision::Expired));
    if !ask.escalate_to.is_empty() {
        let to = ask.escalate_to.clone();
        let escalate_to = Vec::new();
        return ask_further_approvers(run, ApprovalRequest { escalate_to, ..ask }, to);
    }
    let time = wf_base::time::format_duration(ask.expires.since(ask.since));
    let late = format!("no answer within {time}");
    let reason =
        if ask.phase.is_some() || ask.stuck.is_some() { late } else { format!("{late}: {}", ask.message) };
    match (ask.point.filter(|_| !ask.is_of_agent()), ask.gates.first()) {
        // An approval that a gate demands and does not get is a block.
        (Some(point), Some(gate)) => {
            let block = GateBlock {
                next: ask.fallback,
                tried_escalations: ask.tried_escalations.into_iter().collect(),
                rest: ask.deferred_results,
                rewritten: ask.rewritten,
                ..GateBlock::new(gate.clone(), reason)
            };
            escalation::block(run, task, point, block);
        }
        _ => run.then(FollowUp::ApplyRefusal { pending: Box::new(pending), reason }),
    }
}

fn ask_further_approvers(run: &mut Run, request: ApprovalRequest, approvers: Vec<String>) {
    let time = request.expires.since(request.since);
    requests::open(
        run,
        ApprovalRequest {
            request: run.state().gates.next_request(),
            since: run.now(),
            expires: run.now().after(time),
            approvers: if approvers.is_empty() { request.approvers.clone() } else { approvers },
            ..request
        },
    );
}

/// Lets a gate, or a step for a decision, go on after an approval.
pub(in crate::machine) fn on_decision_granted(run: &mut Run, pending: PendingApproval, outputs: JsonObject) {
    let PendingApproval { ask, task } = pending;
    match (ask.point, task) {
        (Some(point), task) => {
            points::apply_gate_results(run, task, point, ask.deferred_results, ask.rewritten);
        }
        (None, Some(task)) => approvals::decide(run, task, WorkExit::Completed, outputs),
        (None, None) => {}
    }
}

/// Lets the block of a gate stand, or fails a step for a decision.
pub(in crate::machine) fn on_decision_denied(run: &mut Run, pending: PendingApproval, reason: String) {
    let PendingApproval { ask, task } = pending;
    match (ask.point, task) {
        (Some(point), task) => {
            if let Some(gate) = ask.gates.first() {
                let block = GateBlock::new(gate.clone(), String::new());
                escalation::give_up(run, task, point, &block, &reason);
            }
        }
        (None, Some(task)) => {
            let failure_class = FailureClass::Logical;
            approvals::decide(run, task, WorkExit::Error { reason, failure_class }, JsonObject::new());
        }
        (None, None) => {}
    }
}

/// Returns the reason why something refused does not go on.
fn refusal(request: &ApprovalRequest, outcome: &ApprovalOutcome) -> String {
    let names: Vec<&str> = outcome.by.iter().map(|by| by.name.as_str()).collect();
    let who = if names.is_empty() { "denied".to_owned() } else { format!("denied by {}", names.join(", ")) };
    let text = match request.gates.first() {
        Some(gate) => format!("gate `{gate}`: {who}"),
        None => who,
    };
    match outcome.reason.as_str() {
        "" => text,
        reason => format!("{text}: {reason}"),
    }
}
