//! The progress of an agent: the fold of its facts, and the step that follows from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AttemptUsage, ModelCallOutcome, ModelLimits, RequestedTool, WorkExit};
use crate::agent::{StopReason, estimate_tokens};
use wf_base::digest::Sha256Digest;
use wf_model::Money;

/// The progress of an agent in one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// The digest of the first request.
    pub request: Sha256Digest,
    /// The limits of its calls.
    pub limits: ModelLimits,
    /// The model calls, with the tool calls that they asked for.
    pub turns: Vec<AgentTurn>,
    /// The exit, once the agent is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<WorkExit>,
}

/// A model call and its tool calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTurn {
    /// The mistake in the answer before, which the call is to repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<String>,
    /// The outcome; `None`: the call is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ModelCallOutcome>,
    /// The tokens of the request and the reply.
    #[serde(default)]
    pub tokens: u64,
    /// The tool calls that have begun or were refused, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolRecord>,
}

/// The progress of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRecord {
    /// It is being executed.
    Started,
    /// It was executed.
    Ended {
        /// The digest of the result.
        result: Sha256Digest,
        /// The estimated tokens of the result.
        tokens: u64,
    },
    /// It was not executed, for the given reason.
    Refused(String),
}

/// The step of an agent that its facts allow.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AgentStep {
    /// The current model call is answered.
    AwaitModel,
    /// The tool call at a position is answered.
    AwaitTool(u32),
    /// The tool call at a position begins.
    Tool(u32, RequestedTool),
    /// Another model call begins.
    Call,
    /// The answer is judged.
    Judge,
    /// The agent ends.
    End(WorkExit),
}

impl AgentTurn {
    /// Returns the reasons of the tool calls that were not executed, by position.
    pub fn refusals(&self) -> BTreeMap<u32, String> {
        let refused = (0_u32..).zip(&self.tools).filter_map(|(position, tool)| match tool {
            ToolRecord::Refused(reason) => Some((position, reason.clone())),
            ToolRecord::Started | ToolRecord::Ended { .. } => None,
        });
        refused.collect()
    }
}

impl AgentRecord {
    /// Returns the number of the current model call; 0 before the first.
    pub fn call(&self) -> u32 {
        u32::try_from(self.turns.len()).unwrap_or(u32::MAX)
    }

    /// True if an answer was already repaired.
    pub(super) fn has_repaired(&self) -> bool {
        self.turns.iter().any(|turn| turn.repairs.is_some())
    }

    /// Returns the step that follows from the facts.
    pub(super) fn next_step(&self) -> AgentStep {
        if let Some(exit) = &self.exit {
            return AgentStep::End(exit.clone());
        }
        let Some(turn) = self.turns.last() else {
            return AgentStep::Call;
        };
        let (stop, requested) = match &turn.outcome {
            None => return AgentStep::AwaitModel,
            Some(ModelCallOutcome::Stopped) => return AgentStep::End(WorkExit::Cancelled),
            Some(ModelCallOutcome::Failed { reason, failure_class }) => {
                let (reason, failure_class) = (reason.clone(), *failure_class);
                return AgentStep::End(WorkExit::Error { reason, failure_class });
            }
            Some(ModelCallOutcome::Replied { stop, tool_calls, .. }) => (*stop, tool_calls),
        };
        let position = u32::try_from(turn.tools.len()).unwrap_or(u32::MAX);
        match (turn.tools.last(), requested.get(turn.tools.len())) {
            (Some(ToolRecord::Started), _) => AgentStep::AwaitTool(position.saturating_sub(1)),
            (_, Some(next)) => AgentStep::Tool(position, next.clone()),
            (Some(_), None) => AgentStep::Call,
            (None, None) => match stop {
                StopReason::EndTurn | StopReason::ToolCalls => AgentStep::Judge,
                StopReason::MaxTokens => failure("the model's answer was cut at `max_output` tokens"),
                StopReason::Refusal => failure("the model refused to answer"),
            },
        }
    }

    /// Returns what the next call may use; `repairs` is the mistake that it is to repair.
    pub(super) fn reserve(&self, repairs: Option<&str>) -> AttemptUsage {
        self.reserve_after(&self.turns, repairs)
    }

    /// Returns what the call under way may use, if there is one.
    pub(super) fn open_reserve(&self) -> Option<AttemptUsage> {
        let (open, before) = self.turns.split_last()?;
        let waits = self.exit.is_none() && open.outcome.is_none();
        waits.then(|| self.reserve_after(before, open.repairs.as_deref()))
    }

    /// Returns what the call after some turns may use: the conversation so far, and the longest reply.
    fn reserve_after(&self, turns: &[AgentTurn], repairs: Option<&str>) -> AttemptUsage {
        let first = self.limits.first_input;
        let before = turns.last().map_or(first, |turn| {
            let results = turn.tools.iter().map(|tool| match tool {
                ToolRecord::Ended { tokens, .. } => *tokens,
                ToolRecord::Refused(reason) => estimate_tokens(reason),
                ToolRecord::Started => 0,
            });
            let results = results.fold(0, u64::saturating_add);
            turn.tokens.max(first).saturating_add(results)
        });
        let input = before.saturating_add(repairs.map_or(0, estimate_tokens));
        let output = self.limits.max_output;
        // Whether the provider has cached the conversation is not known, nor which of both is cheaper.
        let cost =
            |cached| self.limits.price.map_or(Money::default(), |price| price.cost(input, cached, output));
        AttemptUsage { attempts: 0, tokens: input.saturating_add(output), cost: cost(0).max(cost(input)) }
    }
}

fn failure(reason: &str) -> AgentStep {
    let failure_class = wf_model::FailureClass::Logical;
    AgentStep::End(WorkExit::Error { reason: reason.into(), failure_class })
}
