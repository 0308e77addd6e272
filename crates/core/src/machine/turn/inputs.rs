//! The processing of an input: each goes to the room that it answers. Timers and answers of approvers are inputs, too.

use crate::machine::gates::escalation::GateBlock;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::machine_state::PendingApproval;
use crate::machine::state::{MachineTurn, Run};
use crate::machine::words::{
    ApprovalOutcome, ApprovalRequest, EventKind, InputKind, MachineInput, RequestDecision, RunPhase,
    TimerKind, WorkExit,
};
use wf_model::{FailureClass, JsonObject};

impl Run {
    /// Processes an input. One that answers nothing open changes nothing.
    pub(in crate::machine) fn turn(&mut self, input: MachineInput) -> MachineTurn {
        self.now = self.now.max(input.at);
        if self.state.outcome.is_none() {
            self.on_input(input.kind);
            self.notice_budget();
            self.advance();
            self.notice_budget();
        }
        std::mem::take(&mut self.turn)
    }

    fn on_input(&mut self, input: InputKind) {
        match input {
            InputKind::Begin { kept, left, dropped, baseline, approved, advice, intent } => {
                if !self.has_begun() {
                    self.begin(approved, baseline);
                    for one in dropped {
                        self.emit(one.into());
                    }
                    self.reuse_results(kept, left);
                    self.apply_memory_advice(advice, intent);
                    self.gate_start();
                }
            }
            InputKind::Briefed { briefing, mistake } => self.on_briefing(*briefing, mistake),
            InputKind::Replied { end, mistake } => self.on_model_reply(*end, mistake),
            InputKind::ToolEnded(end) => self.on_tool_end(end),
            InputKind::ClientCalled { attempt, call, tools } => self.on_client_call(&attempt, call, tools),
            InputKind::ClientEnded { attempt, exit, answer, mistake } => {
                self.on_client_end(&attempt, exit, answer, mistake);
            }
            InputKind::ChildEnded(end) => self.on_child_end(*end),
            InputKind::Ended(ended) => self.on_attempt_end(ended),
            InputKind::Generated(made) => self.on_plan_generated(made),
            InputKind::MergePrepared { attempt, merge } => self.on_merge_prepared(&attempt, merge),
            InputKind::Merged(end) => self.on_merged(&end.attempt, end.outcome),
            InputKind::Judged { attempt: Some(attempt), phase, verdicts, seen } => {
                self.on_verdicts(&attempt, phase, verdicts, seen);
            }
            InputKind::Judged { attempt: None, phase, verdicts, .. } => {
                self.on_plan_verdicts(phase, verdicts);
            }
            InputKind::Woke { timer } => self.on_timer(timer),
            InputKind::Locked { place } => self.on_lock_acquired(&place),
            InputKind::LockHeld { place } => self.on_lock_held(&place),
            InputKind::LockRefused { place, reason, is_replaced } => {
                self.on_lock_refused(&place, reason, is_replaced);
            }
            InputKind::Looked { place, found } => self.on_cache_lookup(&place, found),
            InputKind::Stale(stale) => self.on_stale_evidence(stale),
            InputKind::Confirmed { stale } => self.on_confirmation(stale),
            InputKind::Gated { gated, tool_call: Some(id), arguments, .. } => {
                self.on_tool_gates(&id, gated, arguments);
            }
            InputKind::Gated { point, gated, exchange: Some(exchange), .. } => {
                self.on_exchange_gates(point, &gated, *exchange);
            }
            InputKind::Gated { place, point, gated, .. } => self.on_gates(place.as_ref(), point, gated),
            InputKind::Answered { number, given } => self.on_approval_outcome(number, given),
            InputKind::Planned(reply) => self.on_planner_reply(reply),
            InputKind::Guided(reply) => self.on_guidance(reply),
            InputKind::Compacted(reply) => self.on_compacted(*reply),
            InputKind::Cancel { reason } => self.cancel(reason),
        }
    }

    pub(in crate::machine) fn on_timer(&mut self, timer: TimerKind) {
        match timer {
            TimerKind::Retry(attempt) => {
                if let Some(task) = self.task_ix(&attempt.place)
                    && self.is_due(task, attempt.attempt)
                {
                    self.flight.enqueue(&self.plan, task);
                }
            }
            TimerKind::Wait(attempt) => self.end_wait(attempt),
            TimerKind::Agent(attempt) => self.on_agent_timeout(attempt),
            TimerKind::Queue(place) => self.on_queue_timeout(&place),
            TimerKind::Ask { number } => self.on_request_expired(number),
            TimerKind::Budget { ms } => self.on_budget_timer(ms),
            TimerKind::Run => {
                let late = self.run_limit().is_some_and(|limit| limit <= self.now);
                if late && !self.state.is_ending() && self.state.phase < RunPhase::Finally {
                    self.emit(EventKind::RunTimedOut);
                    self.sweep();
                }
            }
        }
    }

    /// Applies a decision. Its expiry is left to the timer.
    pub(in crate::machine) fn on_approval_outcome(&mut self, number: u32, outcome: ApprovalOutcome) {
        let Some(pending) = self.state.asks.get(&number).cloned() else {
            return;
        };
        match outcome.decision {
            decision if pending.ask.is_granted_by(decision) => {
                // An answer that was not to be given is none: the request stays open.
                let Ok(outputs) = pending.ask.approved_outputs(&outcome) else {
                    return;
                };
                // A task that goes on with it waits for its lock, and the answer with it.
                if let Some(task) = pending.task.filter(|task| self.flight.is_returning(*task)) {
                    return self.flight.set(task, Some(TaskRequest::Return { approved: true }));
                }
                self.record_approval_outcome(number, outcome);
                self.on_approved(pending, outputs);
            }
            RequestDecision::Denied => {
                let reason = refusal(&pending.ask, &outcome);
                self.record_approval_outcome(number, outcome);
                self.on_denied(pending, reason);
            }
            RequestDecision::Void => {
                self.record_approval_outcome(number, outcome);
                self.ask_further_approvers(pending.ask, Vec::new());
            }
            RequestDecision::Approved
            | RequestDecision::Answered
            | RequestDecision::Expired
            | RequestDecision::Withdrawn => {}
        }
    }

    fn ask_further_approvers(&mut self, ask: ApprovalRequest, approvers: Vec<String>) {
        let time = ask.expires.since(ask.since);
        self.open_request(ApprovalRequest {
            request: self.state.asked + 1,
            since: self.now,
            expires: self.now.after(time),
            approvers: if approvers.is_empty() { ask.approvers.clone() } else { approvers },
            ..ask
        });
    }

    fn on_approved(&mut self, pending: PendingApproval, outputs: JsonObject) {
        let PendingApproval { ask, task } = pending;
        if let (Some(phase), Some(task)) = (ask.phase, task) {
            return self.on_phase_ignored(task, phase);
        }
        if let (Some(_), Some(task)) = (&ask.tool_call, task) {
            return self.on_tool_approved(task, ask);
        }
        if let (Some(_), Some(task)) = (&ask.exchange, task) {
            return self.on_exchange_approved(task, ask);
        }
        if let (Some(merge), Some(task)) = (&ask.merge, task) {
            return self.on_merge_approved(task, merge);
        }
        if let (Some(stuck), Some(task)) = (&ask.stuck, task) {
            return self.on_stuck_answered(task, stuck);
        }
        match (ask.point, task) {
            (Some(point), task) => self.apply_gate_results(task, point, ask.deferred_results, ask.rewritten),
            (None, Some(task)) => self.decide(task, WorkExit::Completed, outputs),
            (None, None) => {}
        }
    }

    fn on_denied(&mut self, pending: PendingApproval, reason: String) {
        let PendingApproval { ask, task } = pending;
        if let (Some(phase), Some(task)) = (ask.phase, task) {
            return self.on_phase_not_ignored(task, phase, &reason);
        }
        if let (Some(call), Some(task)) = (&ask.tool_call, task) {
            return self.on_tool_denied(task, call, &reason);
        }
        if let (Some(subject), Some(task)) = (&ask.exchange, task) {
            return self.on_exchange_denied(task, subject, &reason);
        }
        if let (Some(_), Some(task)) = (&ask.merge, task) {
            return self.on_merge_denied(task, &ask, &reason);
        }
        if let (Some(stuck), Some(task)) = (&ask.stuck, task) {
            return self.on_stuck_denied(task, stuck, &reason);
        }
        match (ask.point, task) {
            (Some(point), task) => {
                if let Some(gate) = ask.gates.first() {
                    let block = GateBlock::new(gate.clone(), String::new());
                    self.give_up(task, point, &block, &reason);
                }
            }
            (None, Some(task)) => {
                let failure_class = FailureClass::Logical;
                self.decide(task, WorkExit::Error { reason, failure_class }, JsonObject::new());
            }
            (None, None) => {}
        }
    }

    /// Applies the expiry of a request. Further approvers are asked, once, if there are any; then a
    /// block follows its fallback, and everything else is refused.
    pub(in crate::machine) fn on_request_expired(&mut self, number: u32) {
        let Some(pending) = self.state.asks.get(&number).cloned() else {
            return;
        };
        if self.now < pending.ask.expires {
            return;
        }
        let PendingApproval { ask, task } = pending.clone();
        self.record_approval_outcome(number, ApprovalOutcome::unanswered(RequestDecision::Expired));
        if !ask.escalate_to.is_empty() {
            let to = ask.escalate_to.clone();
            let escalate_to = Vec::new();
            return self.ask_further_approvers(ApprovalRequest { escalate_to, ..ask }, to);
        }
        let time = wf_base::time::format_duration(ask.expires.since(ask.since));
        let late = format!("no answer within {time}");
        let reason = if ask.phase.is_some() || ask.stuck.is_some() {
            late
        } else {
            format!("{late}: {}", ask.message)
        };
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
                self.block(task, point, block);
            }
            _ => self.on_denied(pending, reason),
        }
    }
}

/// Returns the reason why something refused does not go on.
fn refusal(ask: &ApprovalRequest, outcome: &ApprovalOutcome) -> String {
    let names: Vec<&str> = outcome.by.iter().map(|by| by.name.as_str()).collect();
    let who = if names.is_empty() { "denied".to_owned() } else { format!("denied by {}", names.join(", ")) };
    let text = match ask.gates.first() {
        Some(gate) => format!("gate `{gate}`: {who}"),
        None => who,
    };
    match outcome.reason.as_str() {
        "" => text,
        reason => format!("{text}: {reason}"),
    }
}
