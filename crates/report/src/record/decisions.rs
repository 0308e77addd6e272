use std::fmt::Write as _;

use serde::Serialize;

use crate::rounds;
use wf_base::{
    time::Moment,
    units::moment,
    untrusted::{BAD, DIM, WARN, paint, plain, styled_line, untrusted},
};
use wf_core::{
    agent::ResolvedMode,
    gate::{GateAction, GateResult},
    machine::{
        AlternativeSwitch, ApprovalOutcome, ApprovalRequest, Attempt, Event, EventKind, IntentAdvice, Round,
        RunApproval, TaskId, ToolAdvice,
    },
};

/// The permissions of a run: approvals, gates, decisions, rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunDecisions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<RunApproval>,
    /// The approvals that were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<RecordedApproval>,
    /// The answers of gates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateRecord>,
    /// The advice of memory at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<RecordedAdvice>,
    /// The modes of agents that were resolved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<RecordedInteraction>,
    /// The rounds of the controller.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// The end of each round.
    #[serde(skip)]
    pub(super) closed: Vec<Moment>,
}

/// The advice of memory at the start of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedAdvice {
    /// The advice about the plan's intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<IntentAdvice>,
    /// The advice about the tools of steps.
    pub advice: Vec<ToolAdvice>,
    /// The steps that started with an alternative.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<AlternativeSwitch>,
}

/// The mode in which an agent dealt with people, and the rule that decided it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedInteraction {
    /// The attempt of the agent.
    #[serde(flatten)]
    pub attempt: Attempt,
    #[serde(flatten)]
    pub resolved: ResolvedMode,
}

/// A request for an approval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedApproval {
    pub ask: ApprovalRequest,
    /// The decision; absent while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<ApprovalOutcome>,
}

impl RecordedApproval {
    /// The events that requests are built from.
    pub const EVENTS: [&'static str; 2] = ["approval_requested", "approval_resolved"];

    /// Returns the requests of a run by its events, in order.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut requests = Vec::new();
        for event in events {
            Self::on_event(&mut requests, &event.fact);
        }
        requests
    }

    fn on_event(requests: &mut Vec<Self>, kind: &EventKind) {
        match kind {
            EventKind::ApprovalRequested(ask) => requests.push(Self { ask: (**ask).clone(), given: None }),
            EventKind::ApprovalResolved { request, given, .. } => {
                if let Some(open) = requests.iter_mut().find(|approval| approval.ask.request == *request) {
                    open.given = Some(given.clone());
                }
            }
            _ => {}
        }
    }
}

/// The answer of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateRecord {
    /// The task; absent: a gate of the run.
    #[serde(rename = "place", skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub result: GateResult,
}

impl RunDecisions {
    /// The events it is built from.
    pub const EVENTS: [&'static str; 7] = [
        "agent_briefed",
        "run_approved",
        "gate_evaluated",
        "approval_requested",
        "approval_resolved",
        "round_completed",
        "memory_applied",
    ];

    /// Builds it from events.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut decisions = Self::default();
        for event in events {
            if let EventKind::RoundCompleted(_) = &event.fact {
                decisions.closed.push(event.at);
            }
            decisions.on_event(&event.fact);
        }
        decisions
    }

    fn on_event(&mut self, kind: &EventKind) {
        match kind {
            EventKind::RunApproved(approved) => self.approved = Some((**approved).clone()),
            EventKind::GateEvaluated { task_id, result } => {
                self.gates.push(GateRecord { task_id: task_id.clone(), result: result.clone() });
            }
            EventKind::MemoryApplied { intent, advice, changes } => {
                self.memory = Some(RecordedAdvice {
                    intent: intent.clone(),
                    advice: advice.clone(),
                    changes: changes.clone(),
                });
            }
            EventKind::AgentBriefed(briefing) => {
                let attempt = &briefing.attempt;
                self.interactions.extend(
                    briefing
                        .interaction
                        .map(|resolved| RecordedInteraction { attempt: attempt.clone(), resolved }),
                );
            }
            EventKind::RoundCompleted(round) => self.rounds.push((**round).clone()),
            fact => RecordedApproval::on_event(&mut self.questions, fact),
        }
    }

    /// Returns the approvers of the run and the policy, on one line; empty if there were none.
    pub(super) fn approvers_line(&self) -> String {
        let Some(approved) = &self.approved else {
            return String::new();
        };
        let names: Vec<String> = approved.by.iter().map(|by| format!("\"{}\"", by.name)).collect();
        let key = approved.by.first().map(|by| by.key_id.short()).unwrap_or_default();
        let policy = match approved.policy {
            wf_core::machine::ApprovalPolicy::Owner => "owner",
            wf_core::machine::ApprovalPolicy::Reviewed => "reviewed",
        };
        let of = match approved.executions {
            1 => String::new(),
            all => format!(" · use {} of {all}", approved.execution),
        };
        format!("signed with key {} ({key}) · policy {policy}{of}", names.join(", "))
    }

    /// Returns the answers of gates and approvers on a task, a sentence each.
    pub(super) fn reasons(&self, task_id: &TaskId) -> Vec<String> {
        let gates = self.gates.iter();
        let gates = gates.filter(|gating| gating.task_id.as_ref() == Some(task_id));
        let gates = gates.map(|GateRecord { result, .. }| {
            let (on, lane) = (result.trigger.as_str(), result.lane);
            let separator = if result.reason.is_empty() { "" } else { ": " };
            let action = match (lane, result.ignored) {
                (_, Some(ignored)) => format!("answered {}, but may only advise", ignored.as_str()),
                _ => format!("answered {}", result.action.as_str()),
            };
            let reason = untrusted(&result.reason);
            format!("{on}, gate `{}` {action}{separator}{reason}", result.gate)
        });
        let approvals = self.questions.iter();
        let requests = approvals.filter(|question| question.ask.task_id.as_ref() == Some(task_id));
        let texts = requests.map(|RecordedApproval { ask, given }| match given {
            None => format!("waiting for approval: {}", untrusted(&ask.message)),
            Some(outcome) => {
                format!("approval requested: {} · {}", untrusted(&ask.message), decision_text(outcome))
            }
        });
        let memory = self.memory.iter().flat_map(|memory| &memory.changes);
        let began = memory.filter(|change| change.step == task_id.step);
        let began = began.map(|change| {
            let change_text = plain(&rounds::change_text(change));
            format!(
                "memory advises against the step as written, so it started with an \
                alternative: {change_text}"
            )
        });
        began.chain(gates).chain(texts).collect()
    }

    /// Returns the answers of gates and approvers that changed something, a line each.
    pub(super) fn lines(&self, called: &dyn Fn(&TaskId) -> String) -> String {
        let mut text = String::new();
        if let Some(RecordedAdvice { intent, advice, changes }) = &self.memory {
            for line in rounds::memory_advice_text(intent.as_ref(), advice, changes) {
                let _ = writeln!(text, "  memory · {}", styled_line(&line));
            }
        }
        let name = |task_id: Option<&TaskId>| task_id.map_or("the run".into(), called);
        for RecordedInteraction { attempt, resolved } in &self.interactions {
            let ResolvedMode { mode, rule, register } = resolved;
            let _ = writeln!(
                text,
                "  {} · attempt {} · {mode} by the rule {rule}, in the register {register}",
                called(&attempt.task_id),
                attempt.attempt
            );
        }
        for GateRecord { task_id, result } in &self.gates {
            let (style, word) = match result.action {
                GateAction::Block => (BAD, "blocked"),
                GateAction::RequireApproval => (WARN, "asks"),
                GateAction::Continue if result.gives_call_texts() => (WARN, "gave"),
                GateAction::Continue if !result.changed.is_empty() => (WARN, "rewrote"),
                GateAction::Continue if !result.flags.is_empty() => (WARN, "flagged"),
                GateAction::Continue => continue,
            };
            let reason = if result.reason.is_empty() {
                [result.changed.join(", "), result.flags.join(", ")].concat()
            } else {
                result.reason.clone()
            };
            let word = paint(style, word);
            let place = name(task_id.as_ref());
            let _ = writeln!(text, "  {place} · gate {} {word}: {}", result.gate, untrusted(&reason));
        }
        for RecordedApproval { ask, given } in &self.questions {
            let place = name(ask.task_id.as_ref());
            let decision = match given {
                None => format!("{} until {}", paint(WARN, "open"), moment(ask.expires)),
                Some(outcome) => {
                    let separator = if outcome.reason.is_empty() { "" } else { ": " };
                    format!("{}{separator}{}", decision_text(outcome), untrusted(&outcome.reason))
                }
            };
            let message = untrusted(&ask.message);
            let risk = ask.risk_of_approval().map_or_else(String::new, |risk| {
                format!(" · risk {} by the rule {}", risk.level.as_str(), risk.rule.as_str())
            });
            let _ = writeln!(text, "  {place} · {message} · {}{risk}", styled_line(&decision));
        }
        if text.is_empty() { text } else { format!("\n{}\n{text}", paint(DIM, "gates and approvals")) }
    }
}

/// The decision in words, with the answer, and who made it.
fn decision_text(outcome: &ApprovalOutcome) -> String {
    let mut text = outcome.decision.as_str().to_owned();
    if let Some(answer) = &outcome.answer {
        let _ = write!(text, ", {},", untrusted(&answer.to_string()));
    }
    let names: Vec<&str> = outcome.by.iter().map(|by| by.name.as_str()).collect();
    if !names.is_empty() {
        let _ = write!(text, " by {}", untrusted(&names.join(", ")));
    }
    text
}
