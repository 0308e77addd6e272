use std::fmt::Write as _;

use serde::Serialize;

use wf_base::{digest::Sha256Digest, name::Name, units::plural};
use wf_core::{
    agent::ContextCut,
    gate::GateResult,
    machine::{
        AgentBriefing, ApprovalOutcome, ApprovalRequest, Attempt, CallSupplement, ClientCall, Event,
        EventKind, ExchangeGated, GatePoint, ModelCallEnd, ModelCallOutcome, TaskId, WorkExit,
    },
};
use wf_model::{Money, TokenUsage};

/// The calls of an agent in one attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentCalls {
    #[serde(flatten)]
    pub attempt: Attempt,
    pub model: Name,
    /// The digest of the first request.
    pub request: Sha256Digest,
    /// The source of its values that is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The model calls, in order.
    pub calls: Vec<ModelCallRecord>,
    /// The texts of gates, and the questions, about the next call.
    #[serde(skip)]
    next: NextCall,
    /// The answers of gates whose subject is in the next fact.
    #[serde(skip)]
    open_gates: Vec<GateResult>,
    /// The exit; absent while the agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<WorkExit>,
}

/// A model call that has not begun.
#[derive(Clone, Debug, Default, PartialEq)]
struct NextCall {
    supplement: CallSupplement,
    gates: Vec<CallGate>,
    approvals: Vec<CallApproval>,
}

/// A model call and the tool calls it asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelCallRecord {
    /// The mistake in the answer before that it was to repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repairs: Option<String>,
    /// The request, if a program of its own made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCall>,
    /// The cut of the conversation.
    #[serde(skip_serializing_if = "ContextCut::is_none")]
    pub context: ContextCut,
    /// The texts of gates for it.
    #[serde(skip_serializing_if = "CallSupplement::is_none")]
    pub supplement: CallSupplement,
    /// The end; absent while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<ModelCallEnd>,
    /// The tool calls, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolCallRecord>,
    /// The answers of the gates that were asked about it and its tool calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<CallGate>,
    /// The approvals requested for it and its tool calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<CallApproval>,
}

/// The answer of a gate about a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallGate {
    /// The position of the tool call in the reply, from 0; absent: it is about the model call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// The answer.
    #[serde(flatten)]
    pub result: GateResult,
}

/// A request for the approval of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallApproval {
    /// The position of the tool call in the reply, from 0; absent: it is about the model call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// The number of the request in the run.
    pub request: u32,
    /// The question.
    pub message: String,
    /// The resolution; absent while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ApprovalOutcome>,
}

/// A tool call of an agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolCallRecord {
    pub tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Sha256Digest>,
    /// The reason why it was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// True if it was executed and a gate kept its result from the model.
    #[serde(skip)]
    pub is_withheld: bool,
    /// True if it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// The source of the result, if that is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The duration in milliseconds; absent while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl AgentCalls {
    /// The events it is built from.
    pub const EVENTS: [&'static str; 11] = [
        "agent_briefed",
        "model_call_started",
        "model_call_ended",
        "tool_call_started",
        "tool_call_ended",
        "tool_call_refused",
        "exchange_gated",
        "gate_evaluated",
        "approval_requested",
        "approval_resolved",
        "agent_ended",
    ];

    /// Returns the calls in events, by attempt in the order of their beginnings.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut agent_calls: Vec<Self> = Vec::new();
        for event in events {
            if let EventKind::AgentBriefed(briefing) = &event.fact {
                agent_calls.push(Self::briefed(briefing));
            } else if let Some(attempt) = attempt_of(&event.fact) {
                if let Some(calls) = agent_calls.iter_mut().rfind(|calls| calls.attempt == *attempt) {
                    calls.apply(&event.fact);
                }
            } else if let Some(place) = place_of(&event.fact) {
                // What is asked about the task before its agent begins, or once that is done, is about no call.
                let own = agent_calls.iter_mut().rfind(|calls| calls.attempt.task_id == *place);
                if let Some(calls) = own.filter(|calls| calls.exit.is_none()) {
                    calls.apply_question(&event.fact);
                }
            }
        }
        agent_calls
    }

    fn briefed(briefing: &AgentBriefing) -> Self {
        Self {
            attempt: briefing.attempt.clone(),
            model: briefing.model.clone(),
            request: briefing.request,
            untrusted: briefing.untrusted.clone(),
            calls: Vec::new(),
            next: NextCall::default(),
            open_gates: Vec::new(),
            exit: None,
        }
    }

    /// Applies a fact about a question that a call raised.
    fn apply_question(&mut self, kind: &EventKind) {
        match kind {
            EventKind::GateEvaluated { result, .. } => self.open_gates.push(result.clone()),
            EventKind::ApprovalRequested(asked) => self.push_approval(asked),
            EventKind::ApprovalResolved { request, given, .. } => {
                let of_last = self.calls.last_mut().into_iter().flat_map(|call| &mut call.approvals);
                let mut approvals = of_last.chain(&mut self.next.approvals);
                if let Some(call_approval) = approvals.find(|approval| approval.request == *request) {
                    call_approval.outcome = Some(given.clone());
                }
            }
            _ => {}
        }
    }

    fn push_approval(&mut self, request: &ApprovalRequest) {
        let part =
            request.exchange.as_ref().map(|exchange| (exchange.passed.point, exchange.passed.position));
        let of_tool = request.tool_call.as_ref().map(|subject| (GatePoint::Call, Some(subject.position)));
        let Some((point, position)) = part.or(of_tool) else {
            return;
        };
        self.close_gates(point, position);
        let approval = CallApproval {
            position,
            request: request.request,
            message: request.message.clone(),
            outcome: None,
        };
        let of_next = point == GatePoint::Request;
        match self.calls.last_mut().filter(|_| !of_next) {
            Some(call) => call.approvals.push(approval),
            None => self.next.approvals.push(approval),
        }
    }

    /// Files the answers of gates with the call they are about.
    fn close_gates(&mut self, point: GatePoint, position: Option<u32>) {
        let answers = self.open_gates.drain(..).map(|result| CallGate { position, result });
        let of_next = point == GatePoint::Request;
        match self.calls.last_mut().filter(|_| !of_next) {
            Some(call) => call.gates.extend(answers),
            None => self.next.gates.extend(answers),
        }
    }

    fn apply(&mut self, kind: &EventKind) {
        match kind {
            EventKind::ModelCallStarted(start) => {
                self.close_gates(GatePoint::Request, None);
                let NextCall { supplement, gates, approvals } = std::mem::take(&mut self.next);
                self.calls.push(ModelCallRecord {
                    supplement,
                    gates,
                    approvals,
                    repairs: start.repairs.clone(),
                    client: start.client,
                    context: start.context.clone(),
                    ..ModelCallRecord::default()
                });
            }
            EventKind::ModelCallEnded(end) => {
                if let Some(call) = self.calls.last_mut() {
                    call.end = Some((**end).clone());
                }
            }
            EventKind::ToolCallStarted(start) => self.push_tool(&start.tool, None),
            EventKind::ToolCallRefused(refusal) => self.push_tool(&refusal.tool, Some(&refusal.reason)),
            EventKind::ToolCallEnded(end) => {
                let call = self.calls.last_mut();
                let tool = call.and_then(|call| call.tools.get_mut(end.id.position as usize));
                if let Some(tool) = tool {
                    (tool.result, tool.is_error) = (Some(end.result), end.is_error);
                    (tool.untrusted, tool.duration_ms) = (end.untrusted.clone(), Some(end.duration_ms));
                }
            }
            EventKind::ExchangeGated(gated) => self.take_ruling(gated),
            EventKind::AgentEnded(end) => {
                self.close_gates(GatePoint::Reply, None);
                self.exit = Some(end.exit.clone());
            }
            _ => {}
        }
    }

    /// Applies what gates decided about the result of a tool call, or give to the next model call.
    fn take_ruling(&mut self, gated: &ExchangeGated) {
        self.close_gates(gated.point, gated.position);
        if gated.point == GatePoint::Request {
            self.next.supplement = gated.supplement.clone();
        }
        let call = self.calls.last_mut();
        let tools = call.zip(gated.position).and_then(|(call, at)| call.tools.get_mut(at as usize));
        if let Some(tool) = tools {
            tool.result = gated.revised.as_ref().map(|revised| revised.result).or(tool.result);
            if let Some(reason) = &gated.blocked {
                *tool = ToolCallRecord {
                    tool: tool.tool.clone(),
                    is_error: true,
                    is_withheld: true,
                    refused: Some(reason.clone()),
                    ..ToolCallRecord::default()
                };
            }
        }
    }

    fn push_tool(&mut self, tool: &str, refused: Option<&String>) {
        let position = self.calls.last().and_then(|call| u32::try_from(call.tools.len()).ok());
        self.close_gates(GatePoint::Call, position);
        if let Some(call) = self.calls.last_mut() {
            call.tools.push(ToolCallRecord {
                tool: tool.to_owned(),
                is_error: refused.is_some(),
                refused: refused.cloned(),
                ..ToolCallRecord::default()
            });
        }
    }

    /// Returns the tokens of its model calls.
    pub fn usage(&self) -> TokenUsage {
        let ends = self.calls.iter().filter_map(|call| call.end.as_ref());
        ends.fold(TokenUsage::default(), |sum, end| sum.plus(end.effort.usage))
    }

    /// Returns the cost of its model calls.
    pub fn cost(&self) -> Money {
        let ends = self.calls.iter().filter_map(|call| call.end.as_ref());
        ends.fold(Money::default(), |sum, end| sum.plus(end.effort.cost))
    }

    pub fn tool_count(&self) -> usize {
        self.calls.iter().map(|call| call.tools.len()).sum()
    }

    /// Returns its calls in one line.
    pub fn summary(&self) -> String {
        let usage = self.usage();
        let mut text = format!(
            "{} with `{}`: {}, {}, {} tokens",
            self.attempt,
            self.model,
            plural(self.calls.len(), "model call"),
            plural(self.tool_count(), "tool call"),
            usage.total()
        );
        if !self.cost().is_zero() {
            let _ = write!(text, ", {}", self.cost());
        }
        text
    }
}

impl ModelCallRecord {
    pub fn reply(&self) -> Option<Sha256Digest> {
        match self.end.as_ref().map(|end| &end.outcome) {
            Some(ModelCallOutcome::Replied { reply, .. }) => Some(*reply),
            _ => None,
        }
    }
}

fn attempt_of(kind: &EventKind) -> Option<&Attempt> {
    match kind {
        EventKind::ModelCallStarted(start) => Some(&start.attempt),
        EventKind::ModelCallEnded(end) => Some(&end.attempt),
        EventKind::ToolCallStarted(start) => Some(&start.id.attempt),
        EventKind::ToolCallEnded(end) => Some(&end.id.attempt),
        EventKind::ToolCallRefused(refusal) => Some(&refusal.id.attempt),
        EventKind::ExchangeGated(gated) => Some(&gated.attempt),
        EventKind::AgentEnded(end) => Some(&end.attempt),
        _ => None,
    }
}

/// Returns the task a question is about.
fn place_of(kind: &EventKind) -> Option<&TaskId> {
    match kind {
        EventKind::GateEvaluated { task_id, .. } | EventKind::ApprovalResolved { task_id, .. } => {
            task_id.as_ref()
        }
        EventKind::ApprovalRequested(asked) => asked.task_id.as_ref(),
        _ => None,
    }
}
