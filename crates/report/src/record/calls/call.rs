use std::fmt::Write as _;

use serde::Serialize;

use super::{
    AgentCalls, BodyReader, CallApproval, CallBodyError, CallGate, ModelCallRecord, ToolCallRecord,
    exchange::{block, problem, read_body, result_text, section},
};
use wf_base::{
    name::Name,
    untrusted::{DIM, NAME, paint, untrusted},
};
use wf_core::{
    agent::{Message, ModelReply, ModelRequest, ToolCall},
    machine::ModelCallOutcome,
};
use wf_model::TokenUsage;

/// The state of a tool call that was not decided about yet.
const NOT_BEGUN: &str = "not begun";

/// A model call, with the input of the model and its reply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownModelCall {
    /// Its address in its run.
    pub address: String,
    pub asked: Name,
    /// The request, as it was sent after a cut; absent if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ModelRequest>,
    /// The reply; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<ModelReply>,
    /// The reasons why a stored text cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
    /// The source of the values of the agent that is not trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
    /// The recorded facts.
    #[serde(flatten)]
    pub record: ModelCallRecord,
}

/// A tool call, with its arguments and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShownToolCall {
    /// Its address in its run.
    pub address: String,
    /// The call, as the model asked for it.
    pub call: ToolCall,
    /// The result, the reason why there is none, or the state of the call.
    pub result: String,
    /// The recorded facts; absent until it was decided about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<ToolCallRecord>,
    /// The answers of the gates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<CallGate>,
    /// The approvals that were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<CallApproval>,
}

impl ShownModelCall {
    /// Returns a call by its number in its attempt, from 1; `None` if there is none.
    pub fn from_calls(calls: &AgentCalls, number: usize, bodies: BodyReader<'_>) -> Option<Self> {
        let record = calls.calls.get(number.checked_sub(1)?)?.clone();
        let mut unreadable = Vec::new();
        let mut note_problem = |error: CallBodyError| unreadable.push(error.to_string());
        let request = calls.request_of(number, bodies).map_err(&mut note_problem).ok();
        let reply = record.reply().map(|reply| read_body(bodies, &reply).map_err(&mut note_problem));
        let reply = reply.and_then(Result::ok);
        let (model, untrusted) = (calls.model.clone(), calls.untrusted.clone());
        let address = format!("{}.{number}", calls.attempt);
        Some(Self { address, asked: model, request, reply, unreadable, untrusted, record })
    }

    /// Returns a tool call by its number in the reply, from 1; `None` if the reply asks for fewer.
    pub fn tool(&self, number: usize, bodies: BodyReader<'_>) -> Option<ShownToolCall> {
        let position = number.checked_sub(1)?;
        let call = self.reply.as_ref()?.tool_calls.get(position)?.clone();
        let record = self.record.tools.get(position).cloned();
        let is_own = |position_of: Option<u32>| {
            position_of.is_some_and(|asked_position| usize::try_from(asked_position) == Ok(position))
        };
        let gates = self.record.gates.iter().filter(|gate| is_own(gate.position));
        let approvals = self.record.approvals.iter().filter(|approval| is_own(approval.position));
        Some(ShownToolCall {
            address: format!("{}.{number}", self.address),
            call,
            result: record.as_ref().map_or_else(|| NOT_BEGUN.into(), |record| result_text(record, bodies)),
            record,
            gates: gates.cloned().collect(),
            approvals: approvals.cloned().collect(),
        })
    }

    /// Returns the call as a person reads it.
    pub fn text(&self) -> String {
        let mut text = format!("model call {}\n", paint(NAME, &untrusted(&self.address).to_string()));
        field(&mut text, "asked", self.asked.as_str());
        self.end_fields(&mut text);
        let own_gates = self.record.gates.iter().filter(|gate| gate.position.is_none());
        let own_approvals = self.record.approvals.iter().filter(|approval| approval.position.is_none());
        questions(&mut text, own_gates, own_approvals);
        if !self.record.context.is_none() {
            field(&mut text, "cut", &self.record.context.to_string());
        }
        if let Some(mistake) = &self.record.repairs {
            field(&mut text, "repairs", mistake);
        }
        field(&mut text, "untrusted", self.untrusted.as_deref().unwrap_or_default());
        if let Some(request) = &self.request {
            request_text(&mut text, request);
        }
        if let Some(reply) = &self.reply {
            section(&mut text, &format!("reply · {}", reply.stop.as_str()), &reply.text);
            for (number, call) in (1_usize..).zip(&reply.tool_calls) {
                let state = self.record.tools.get(number - 1).map_or(NOT_BEGUN, ToolCallRecord::state);
                let line = format!("{}.{number} {} {} · {state}", self.address, call.tool, call.arguments);
                let _ = writeln!(text, "{}", untrusted(&line));
            }
        }
        for reason in &self.unreadable {
            problem(&mut text, reason);
        }
        text
    }

    fn end_fields(&self, text: &mut String) {
        let Some(end) = &self.record.end else {
            return field(text, "state", "under way");
        };
        if let Some(gate) = &end.answered_by {
            return field(text, "answered", &format!("by gate `{gate}`; no call was made"));
        }
        for note in &end.effort.breakers {
            field(text, "breaker", &note.to_string());
        }
        for passed in &end.effort.passed_over {
            field(text, "failed", &format!("{}: {}", passed.model, passed.reason));
        }
        match &end.outcome {
            ModelCallOutcome::Replied { model, .. } if *model == self.asked => {}
            ModelCallOutcome::Replied { model, .. } => field(text, "fallback", model.as_str()),
            ModelCallOutcome::Failed { reason, .. } => field(text, "failed", reason),
            ModelCallOutcome::Stopped => field(text, "state", "stopped"),
        }
        let usage = end.effort.usage;
        field(text, "tokens", &tokens_text(usage));
        field(text, "cost", &end.effort.cost.to_string());
        let requests = wf_base::units::plural(end.effort.requests as usize, "request");
        field(text, "took", &format!("{} ms · {requests}", end.effort.duration_ms));
    }
}

impl ShownToolCall {
    /// Returns the call as a person reads it.
    pub fn text(&self) -> String {
        let mut text = format!("tool call {}\n", paint(NAME, &untrusted(&self.address).to_string()));
        field(&mut text, "tool", &self.call.tool);
        let record = self.record.as_ref();
        field(&mut text, "state", record.map_or(NOT_BEGUN, ToolCallRecord::state));
        if let Some(took) = record.and_then(|record| record.duration_ms) {
            field(&mut text, "took", &format!("{took} ms"));
        }
        let untrusted = record.and_then(|record| record.untrusted.as_deref());
        field(&mut text, "untrusted", untrusted.unwrap_or_default());
        questions(&mut text, &self.gates, &self.approvals);
        section(&mut text, "arguments", &self.call.arguments);
        section(&mut text, "result", &self.result);
        text
    }
}

/// Adds the answers of gates and of approvers.
fn questions<'a>(
    text: &mut String,
    gates: impl IntoIterator<Item = &'a CallGate>,
    approvals: impl IntoIterator<Item = &'a CallApproval>,
) {
    for CallGate { result, .. } in gates {
        let answer = format!("{} · {}", result.gate, result.action.as_str());
        field(text, "gate", &with_reason(answer, &result.reason));
    }
    for approval in approvals {
        field(text, "approval", &approval.answer());
    }
}

impl CallApproval {
    /// Returns the decision, the approvers who made it, and their reason.
    fn answer(&self) -> String {
        let Some(outcome) = &self.outcome else {
            return "pending".into();
        };
        let by: Vec<&str> = outcome.by.iter().map(|signer| signer.name.as_str()).collect();
        let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) };
        with_reason(format!("{}{by}", outcome.decision.as_str()), &outcome.reason)
    }
}

fn with_reason(answer: String, reason: &str) -> String {
    if reason.is_empty() { answer } else { format!("{answer}: {reason}") }
}

impl ToolCallRecord {
    fn state(&self) -> &'static str {
        match (&self.refused, &self.result) {
            (Some(_), _) => "refused",
            (None, None) => "under way",
            (None, Some(_)) if self.is_error => "failed",
            (None, Some(_)) => "ok",
        }
    }
}

pub(super) fn request_text(text: &mut String, request: &ModelRequest) {
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    if !tools.is_empty() {
        section(text, "tools", &tools.join(", "));
    }
    section(text, "system", &request.system);
    for message in &request.messages {
        match message {
            Message::User { text: told } => section(text, "user", told),
            Message::Assistant { text: told, tool_calls } => {
                section(text, "assistant", told);
                for call in tool_calls {
                    block(text, &format!("{} {}", call.tool, call.arguments));
                }
            }
            Message::Tool { results } => {
                for result in results {
                    section(
                        text,
                        if result.is_error { "tool result (failed)" } else { "tool result" },
                        &result.text,
                    );
                }
            }
            Message::Omitted { turns } => section(text, "user", &Message::omission_text(*turns)),
        }
    }
    if let Some(schema) = &request.answer_schema {
        section(text, "schema of the answer", &schema.to_string());
    }
}

pub(super) fn field(text: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(text, "  {} {}", paint(DIM, &format!("{name:<10}")), untrusted(value));
    }
}

/// Returns tokens in words: `45 input (30 cached, 5 written to the cache) + 20 output`.
pub(super) fn tokens_text(usage: TokenUsage) -> String {
    let parts = [(usage.cached_input, "cached"), (usage.cache_write, "written to the cache")];
    let parts = parts.into_iter().filter(|(tokens, _)| *tokens > 0);
    let parts: Vec<String> = parts.map(|(tokens, noun)| format!("{tokens} {noun}")).collect();
    let cached = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{} input{cached} + {} output", usage.input, usage.output)
}
