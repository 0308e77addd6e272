//! What a simulation came to, so that it cannot stop testing something unnoticed.

mod kinds;

use std::{collections::BTreeMap, fmt};

use wf_core::machine::{
    BUDGET_SPENT_PREFIX, CompactionOutcome, EventKind, GatePoint, ModelCallOutcome, WorkExit,
};

use wf_model::EscalationAction;

use super::{agents, faults::Fault};
use kinds::exit;
pub use kinds::{effect, input, timer};

/// Counts, by kind and name.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<(&'static str, &'static str), u64>);

/// Every kind of event.
const FACTS: [&str; 54] = [
    "merge_requested",
    "merge_started",
    "merge_ended",
    "run_started",
    "step_reused",
    "item_reused",
    "step_deselected",
    "step_expanded",
    "lock_requested",
    "cache_hit",
    "attempt_started",
    "agent_briefed",
    "plan_generated",
    "model_call_started",
    "model_call_ended",
    "tool_call_started",
    "tool_call_ended",
    "tool_call_refused",
    "child_dispatched",
    "child_started",
    "child_ended",
    "agent_ended",
    "attempt_ended",
    "check_completed",
    "checks_passed",
    "retry_scheduled",
    "step_ended",
    "run_draining",
    "cancel_requested",
    "run_timed_out",
    "budget_set",
    "budget_threshold_reached",
    "budget_extended",
    "budget_exhausted",
    "phase_started",
    "run_ended",
    "baseline_taken",
    "evidence_taken",
    "evidence_stale",
    "gate_evaluated",
    "gates_passed",
    "exchange_gated",
    "escalated",
    "spawned",
    "approval_requested",
    "approval_resolved",
    "run_blocked",
    "round_completed",
    "guidance_requested",
    "guidance_ended",
    "compaction_started",
    "compaction_ended",
    "client_repair_started",
    "memory_applied",
];

/// Every kind of effect.
const EFFECTS: [&str; 23] = [
    "prepare_merge",
    "merge",
    "start",
    "check",
    "wake",
    "lock",
    "unlock",
    "lookup",
    "remember",
    "watch",
    "kill",
    "finish",
    "confirm",
    "gate",
    "ask",
    "dismiss",
    "call_model",
    "call_tool",
    "start_child",
    "end_agent",
    "serve_client",
    "guide",
    "compact",
];

/// Every kind of timer.
const TIMERS: [&str; 7] = ["retry", "wait", "agent", "queue", "ask", "run", "budget"];

/// Every way in which work ends.
const EXITS: [&str; 8] =
    ["code", "signal", "done", "timed_out", "cancelled", "unable", "denied", "interrupted"];

/// Every kind of input.
const INPUTS: [&str; 22] = [
    "merge_prepared",
    "merged",
    "begin",
    "generated",
    "briefed",
    "replied",
    "tool_ended",
    "child_ended",
    "client_called",
    "client_ended",
    "ended",
    "judged",
    "woke",
    "locked",
    "looked",
    "cancel",
    "stale",
    "confirmed",
    "gated",
    "answered",
    "guided",
    "compacted",
];

/// What steps are worth at their end.
const STANDINGS: [&str; 5] = ["unchecked", "reported", "plausible", "verified", "refuted"];

/// What is asked of whole worlds.
const WORLDS: [&str; 3] = ["compared with calm", "compared in other rooms", "rounds in other rooms"];

impl Coverage {
    pub fn count(&mut self, kind: &'static str, name: &'static str) {
        *self.0.entry((kind, name)).or_default() += 1;
    }

    pub fn event(&mut self, told: &EventKind) {
        self.count("event", fact(told));
        if let EventKind::AttemptEnded { how, .. } = told {
            self.count("exit", exit(how));
        }
        if let EventKind::StepEnded { standing, .. } = told {
            self.count("standing", standing.as_str());
        }
        if let Some(name) = of_agent(told) {
            self.count("agent", name);
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (key, count) in &other.0 {
            *self.0.entry(*key).or_default() += count;
        }
    }

    /// What should have occurred and never did: every kind of event, effect, input, timer, end of
    /// work and trouble is to be seen.
    pub fn gaps(&self) -> Vec<String> {
        let faults = Fault::ALL.map(Fault::name);
        let faults = faults.iter().copied().filter(|name| !["delay", "race"].contains(name));
        let faults: Vec<&str> = faults.collect();
        let kinds: [(&str, &[&str]); 9] = [
            ("world", &WORLDS),
            ("event", &FACTS),
            ("effect", &EFFECTS),
            ("input", &INPUTS),
            ("timer", &TIMERS),
            ("exit", &EXITS),
            ("agent", &agents::AGENTS),
            ("standing", &STANDINGS),
            ("fault", &faults),
        ];
        let unseen = |(kind, names): (&'static str, &[&'static str])| {
            let unseen = |name: &&&'static str| !self.0.contains_key(&(kind, **name));
            let unseen: Vec<_> = names.iter().filter(unseen).map(|name| format!("{kind} {name}")).collect();
            unseen
        };
        kinds.into_iter().flat_map(unseen).collect()
    }
}

/// A table: a line for each kind.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for ((kind, name), count) in &self.0 {
            if *kind != before {
                writeln!(f, "{}{kind}:", if before.is_empty() { "" } else { "\n" })?;
                before = kind;
            }
            writeln!(f, "  {name:<34} {count:>12}")?;
        }
        Ok(())
    }
}

fn escalation(action: EscalationAction) -> &'static str {
    if action == EscalationAction::SpawnTask { "spawned" } else { "escalated" }
}

/// The name of an event's kind.
fn fact(fact: &EventKind) -> &'static str {
    match fact {
        EventKind::RunStarted { .. } => "run_started",
        EventKind::StepReused { .. } => "step_reused",
        EventKind::ItemReused { .. } => "item_reused",
        EventKind::StepDeselected(_) => "step_deselected",
        EventKind::ResultDropped { .. } => "result_dropped",
        EventKind::StepExpanded { .. } => "step_expanded",
        EventKind::LockRequested { .. } => "lock_requested",
        EventKind::CacheHit { .. } => "cache_hit",
        EventKind::AttemptStarted(_) => "attempt_started",
        EventKind::PlanGenerated(_) => "plan_generated",
        EventKind::AgentBriefed(_) => "agent_briefed",
        EventKind::ModelCallStarted(_) => "model_call_started",
        EventKind::ModelCallEnded(_) => "model_call_ended",
        EventKind::ToolCallStarted(_) => "tool_call_started",
        EventKind::ToolCallEnded(_) => "tool_call_ended",
        EventKind::ToolCallRefused(_) => "tool_call_refused",
        EventKind::ChildDispatched(_) => "child_dispatched",
        EventKind::ChildStarted(_) => "child_started",
        EventKind::ChildEnded(_) => "child_ended",
        EventKind::AgentEnded(_) => "agent_ended",
        EventKind::MergeRequested(_) => "merge_requested",
        EventKind::MergeStarted(_) => "merge_started",
        EventKind::MergeEnded(_) => "merge_ended",
        EventKind::AttemptEnded { .. } => "attempt_ended",
        EventKind::CheckCompleted { .. } => "check_completed",
        EventKind::ChecksPassed { .. } => "checks_passed",
        EventKind::RetryScheduled { .. } => "retry_scheduled",
        EventKind::StepEnded { .. } => "step_ended",
        EventKind::RunDraining { .. } => "run_draining",
        EventKind::CancelRequested { .. } => "cancel_requested",
        EventKind::RunTimedOut => "run_timed_out",
        EventKind::BudgetSet(_) => "budget_set",
        EventKind::BudgetThresholdReached { .. } => "budget_threshold_reached",
        EventKind::BudgetExtended { .. } => "budget_extended",
        EventKind::BudgetExhausted { .. } => "budget_exhausted",
        EventKind::PhaseStarted { .. } => "phase_started",
        EventKind::RunEnded { .. } => "run_ended",
        EventKind::BaselineTaken(_) => "baseline_taken",
        EventKind::EvidenceTaken { .. } => "evidence_taken",
        EventKind::EvidenceStale(_) => "evidence_stale",
        EventKind::RunApproved(_) => "run_approved",
        EventKind::GateEvaluated { .. } => "gate_evaluated",
        EventKind::GatesPassed { .. } => "gates_passed",
        EventKind::ExchangeGated(_) => "exchange_gated",
        EventKind::Escalated { action, .. } => escalation(*action),
        EventKind::ApprovalRequested(_) => "approval_requested",
        EventKind::ApprovalResolved { .. } => "approval_resolved",
        EventKind::RunBlocked(_) => "run_blocked",
        EventKind::RoundCompleted(_) => "round_completed",
        EventKind::PlannerRequested { .. } => "planner_requested",
        EventKind::PlannerAccepted { .. } => "planner_accepted",
        EventKind::PlannerRejected(_) => "planner_rejected",
        EventKind::GuidanceRequested(_) => "guidance_requested",
        EventKind::GuidanceEnded(_) => "guidance_ended",
        EventKind::CompactionStarted(_) => "compaction_started",
        EventKind::CompactionEnded(_) => "compaction_ended",
        EventKind::ClientRepairStarted(_) => "client_repair_started",
        EventKind::MemoryApplied { .. } => "memory_applied",
    }
}

/// What an event says of an agent that has many ways to go.
fn of_agent(told: &EventKind) -> Option<&'static str> {
    Some(match told {
        EventKind::AgentEnded(end) => match &end.exit {
            WorkExit::Error { reason, .. } => match reason {
                reason if reason.contains("max_turns") => "no turns left",
                reason if reason.starts_with(BUDGET_SPENT_PREFIX) => "no budget left",
                reason if reason.contains("context window") => "no window left",
                reason if reason.contains("after its repair") => "not repaired",
                _ => "failed",
            },
            other => exit(other),
        },
        EventKind::ModelCallStarted(start) if start.repairs.is_some() => "repairs",
        EventKind::ModelCallStarted(start) if start.client.is_some() => "a program calls",
        EventKind::ModelCallEnded(end) if matches!(&end.outcome, ModelCallOutcome::Failed { reason, .. } if reason.contains("interrupted")) => {
            "a program's call is lost"
        }
        EventKind::ClientRepairStarted(_) => "a program repairs",
        EventKind::CompactionEnded(end) if matches!(end.outcome, CompactionOutcome::Failed { .. }) => {
            "has no compactor that answers"
        }
        EventKind::ModelCallStarted(start) if !start.context.kept_turns.is_empty() => "keeps turns",
        EventKind::ModelCallStarted(start) if start.context.omitted_turns > 0 => "omits turns",
        EventKind::ModelCallStarted(start) if start.context.masked_turns > 0 => "masks results",
        EventKind::ModelCallEnded(end) if end.answered_by.is_some() => "is answered by a gate",
        EventKind::ModelCallEnded(end) if end.outcome == ModelCallOutcome::Stopped => "is stopped",
        EventKind::ApprovalRequested(ask) if ask.tool_call.is_some() => "is asked about",
        EventKind::ApprovalRequested(ask) if ask.exchange.is_some() => "a part is asked about",
        EventKind::ExchangeGated(gated)
            if gated.blocked.as_ref().is_some_and(|reason| reason.contains("was not approved")) =>
        {
            "a part is refused by people"
        }
        EventKind::ChildEnded(end) => match &end.exit {
            WorkExit::Cancelled => "a child run is cancelled",
            WorkExit::Error { reason, .. } if reason.contains("depends") => "a child run fails with another",
            _ => return None,
        },
        EventKind::ToolCallRefused(refusal) if refusal.reason.contains("with th") => {
            "asks for another child run"
        }
        EventKind::ToolCallRefused(refusal) if refusal.reason.contains("not approved") => {
            "is refused by people"
        }
        EventKind::ToolCallRefused(refusal) if refusal.reason.contains("untrusted") => "is closed",
        EventKind::ToolCallRefused(refusal) if refusal.reason.contains("gate") => "is refused by gates",
        EventKind::ToolCallRefused(_) => "asks for what is wrong",
        EventKind::ExchangeGated(gated) if gated.blocked.is_some() => match gated.point {
            GatePoint::Request => "may not call",
            GatePoint::Reply => "may not reply",
            _ => "does not get a result",
        },
        EventKind::ExchangeGated(gated) if gated.supplement.context.is_some() => "gets context of a gate",
        EventKind::ExchangeGated(gated) if gated.revised.is_some() => "gets another result",
        _ => return None,
    })
}
