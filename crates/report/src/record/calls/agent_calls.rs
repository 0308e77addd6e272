use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use wf_base::digest::Sha256Digest;
use wf_base::name::Name;
use wf_base::units::plural;
use wf_core::agent::{ContextCut, TokenUsage};
use wf_core::machine::{
    Attempt, ClientCall, Event, EventKind, ExchangeGated, ModelCallEnd, ModelCallOutcome, WorkExit,
};
use wf_model::{Money, Plan};

/// The calls of an agent in one attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentCalls {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The model.
    pub model: Name,
    /// The digest of the first request.
    pub request: Sha256Digest,
    /// The model calls, in order.
    pub calls: Vec<ModelCallRecord>,
    /// The exit; absent while the agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<WorkExit>,
}

/// A model call and the tool calls that it asked for.
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
    /// The end; absent while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<ModelCallEnd>,
    /// The tool calls, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolCallRecord>,
}

/// A tool call of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCallRecord {
    /// The tool.
    pub tool: String,
    /// The digest of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Sha256Digest>,
    /// The reason why it was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// True if it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl AgentCalls {
    /// The events that it is built from.
    pub const EVENTS: [&'static str; 8] = [
        "agent_briefed",
        "model_call_started",
        "model_call_ended",
        "tool_call_started",
        "tool_call_ended",
        "tool_call_refused",
        "exchange_gated",
        "agent_ended",
    ];

    /// Returns the calls in events, by attempt in the order of their beginnings.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for event in events {
            if let EventKind::AgentBriefed(briefing) = &event.fact {
                let (attempt, model) = (briefing.attempt.clone(), briefing.model.clone());
                all.push(Self { attempt, model, request: briefing.request, calls: Vec::new(), exit: None });
            } else if let Some(attempt) = attempt_of(&event.fact)
                && let Some(calls) = all.iter_mut().rfind(|calls| calls.attempt == *attempt)
            {
                calls.apply(&event.fact);
            }
        }
        all
    }

    fn apply(&mut self, fact: &EventKind) {
        match fact {
            EventKind::ModelCallStarted(start) => {
                self.calls.push(ModelCallRecord {
                    repairs: start.repairs.clone(),
                    client: start.client,
                    context: start.context,
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
                }
            }
            EventKind::ExchangeGated(gated) => self.take_ruling(gated),
            EventKind::AgentEnded(end) => self.exit = Some(end.exit.clone()),
            _ => {}
        }
    }

    /// Applies what gates decided about the result of a tool call.
    fn take_ruling(&mut self, gated: &ExchangeGated) {
        let call = self.calls.last_mut();
        let tools = call.zip(gated.position).and_then(|(call, at)| call.tools.get_mut(at as usize));
        if let Some(tool) = tools {
            tool.result = gated.revised.as_ref().map(|revised| revised.result).or(tool.result);
            if let Some(reason) = &gated.blocked {
                *tool = ToolCallRecord {
                    tool: tool.tool.clone(),
                    result: None,
                    is_error: true,
                    refused: Some(reason.clone()),
                };
            }
        }
    }

    fn push_tool(&mut self, tool: &str, refused: Option<&String>) {
        if let Some(call) = self.calls.last_mut() {
            let (tool, refused) = (tool.to_owned(), refused.cloned());
            call.tools.push(ToolCallRecord { tool, result: None, is_error: refused.is_some(), refused });
        }
    }

    /// Returns the tokens of its model calls.
    pub fn usage(&self) -> TokenUsage {
        let ends = self.calls.iter().filter_map(|call| call.end.as_ref());
        ends.fold(TokenUsage::default(), |sum, end| TokenUsage {
            input: sum.input.saturating_add(end.usage.input),
            cached_input: sum.cached_input.saturating_add(end.usage.cached_input),
            output: sum.output.saturating_add(end.usage.output),
        })
    }

    /// Returns the cost of its model calls.
    pub fn cost(&self) -> Money {
        let ends = self.calls.iter().filter_map(|call| call.end.as_ref());
        ends.fold(Money::default(), |sum, end| sum.plus(end.cost))
    }

    /// Returns the number of its tool calls.
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
    /// Returns the digest of the reply, if there is one.
    pub fn reply(&self) -> Option<Sha256Digest> {
        match self.end.as_ref().map(|end| &end.outcome) {
            Some(ModelCallOutcome::Replied { reply, .. }) => Some(*reply),
            _ => None,
        }
    }
}

/// Returns the model calls on the longest chain of steps that wait for each other (artoo v0.8, section 10): no more
/// than these had to be made one after the other.
pub fn sequential_calls(plan: &Plan, agents: &[AgentCalls]) -> usize {
    let mut own: BTreeMap<&Name, usize> = BTreeMap::new();
    for calls in agents {
        // The items of a repeated step work side by side.
        let count = own.entry(&calls.attempt.place.step).or_default();
        let of_item = |one: &&AgentCalls| one.attempt.place == calls.attempt.place;
        let sum = agents.iter().filter(of_item).map(|one| one.calls.len()).sum();
        *count = (*count).max(sum);
    }
    let mut longest: BTreeMap<&Name, usize> = BTreeMap::new();
    for ix in plan.order() {
        let step = plan.step(ix);
        let before = step.depends_on.iter().filter_map(|on| longest.get(&plan.step(*on).id)).max();
        let sum = before.copied().unwrap_or_default() + own.get(&step.id).copied().unwrap_or_default();
        longest.insert(&step.id, sum);
    }
    longest.into_values().max().unwrap_or_default()
}

fn attempt_of(fact: &EventKind) -> Option<&Attempt> {
    match fact {
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
