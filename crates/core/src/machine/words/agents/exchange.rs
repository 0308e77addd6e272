//! The parts of an agent's conversation for gates, and their texts for a model call:
//! context beside it, or a reply in the model's place.
//!
//! **Invariant:** a call answered by a gate is not made and not paid. **Invariant:** the texts count for exactly the request
//! in the gates' question; the fact of its beginning has them: a resume and a replay use the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::machine::words::{
    AgentRecord, AgentTurn, Attempt, GatePoint, ModelCallOutcome, ModelCallStart, ShownContent, ToolRecord,
    serde_pairs,
};
use wf_base::{digest::Sha256Digest, name::GateId};

/// A part of an agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangePart {
    /// The attempt.
    pub attempt: Attempt,
    /// The number of the model call.
    pub call: u32,
    /// The position of the tool call in its reply, for a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
}

/// A part of an agent's conversation for gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeQuestion {
    /// The part.
    pub part: ExchangePart,
    /// The digest of the reply, or of the result; `None` before a model call.
    pub body: Option<Sha256Digest>,
    /// The tool of the result.
    pub tool: Option<String>,
    /// The next model call, if it is known.
    pub start: Option<ModelCallStart>,
    /// The estimated tokens of the call.
    pub input: u64,
    /// The reasons for the model in place of results, by position.
    #[serde(with = "serde_pairs")]
    pub refusals: BTreeMap<u32, String>,
    /// The source of the agent's untrusted text; `None`: it was given none.
    pub untrusted: Option<String>,
}

/// The answer of gates about a part of an agent's conversation, beside their results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatedExchange {
    /// The part.
    pub part: ExchangePart,
    /// The next model call, if it is known.
    pub start: Option<ModelCallStart>,
    /// The mistake in an answer.
    pub mistake: Option<String>,
    /// The result as gates rewrote it.
    pub revised: Option<RevisedResult>,
    /// The part as approvers see it, if a gate requires an approval.
    pub content: Option<ShownContent>,
    /// The texts of gates for the next model call.
    pub supplement: CallSupplement,
}

/// The result of a tool call as gates rewrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RevisedResult {
    /// The digest of the result.
    pub result: Sha256Digest,
    /// The estimated tokens of the result.
    pub tokens: u64,
}

/// The decision of gates about a part of an agent's conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ExchangeGated {
    /// The attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The part: `request`, `reply` or `result`.
    pub point: GatePoint,
    /// The number of the model call.
    pub call: u32,
    /// The position of the tool call in the reply, from 0, for a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
    /// The digest of the request, if a program of its own made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Sha256Digest>,
    /// The result as the model gets it, if gates rewrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised: Option<RevisedResult>,
    /// The texts of gates for the model call.
    #[serde(default, skip_serializing_if = "CallSupplement::is_none")]
    pub supplement: CallSupplement,
    /// The reason of a block. For a result, the model gets it in its place; any other fails the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
}

impl AgentRecord {
    /// Returns the parts not yet passed by gates, in the order of the questions.
    pub(in crate::machine) fn ungated(
        &self,
        start: Option<&ModelCallStart>,
    ) -> Vec<(GatePoint, Option<u32>)> {
        let mut parts = Vec::new();
        if let Some(turn) = self.turns.last() {
            let results = (0_u32..).zip(&turn.tools);
            let open = results.filter(|(_, tool)| matches!(tool, ToolRecord::Ended { gated: false, .. }));
            parts.extend(open.map(|(position, _)| (GatePoint::Result, Some(position))));
            if matches!(turn.outcome, Some(ModelCallOutcome::Replied { .. })) && !turn.gated {
                parts.push((GatePoint::Reply, None));
            }
        }
        if start.is_some_and(|start| !self.admits(start)) {
            parts.push((GatePoint::Request, None));
        }
        parts
    }

    /// True if gates let a model call begin. A restarted program may ask for another one.
    pub(in crate::machine) fn admits(&self, start: &ModelCallStart) -> bool {
        let request = start.client.map(|client| client.request);
        start.call <= self.admitted && request == self.admitted_request
    }

    pub(in crate::machine) fn question(
        &self,
        part: ExchangePart,
        point: GatePoint,
        start: Option<&ModelCallStart>,
    ) -> ExchangeQuestion {
        let turn = self.turns.last();
        let position = part.position.unwrap_or_default() as usize;
        let (reply, tool) = match turn.and_then(|turn| turn.outcome.as_ref()) {
            Some(ModelCallOutcome::Replied { reply, tool_calls, .. }) => {
                (Some(*reply), tool_calls.get(position).map(|call| call.tool.clone()))
            }
            _ => (None, None),
        };
        let result = turn.and_then(|turn| match turn.tools.get(position) {
            Some(ToolRecord::Ended { result, .. }) => Some(*result),
            _ => None,
        });
        ExchangeQuestion {
            part,
            body: match point {
                GatePoint::Reply => reply,
                GatePoint::Result => result,
                _ => None,
            },
            tool: tool.filter(|_| point == GatePoint::Result),
            start: start.cloned(),
            input: start.map(|start| self.input_of(start)).unwrap_or_default(),
            refusals: turn.map(AgentTurn::refusals).unwrap_or_default(),
            untrusted: None,
        }
    }

    /// Applies a decision of gates.
    pub(in crate::machine) fn take_ruling(&mut self, ruling: &ExchangeGated) {
        match (ruling.point, self.turns.last_mut()) {
            (GatePoint::Request, _) => {
                (self.admitted, self.admitted_request) = (ruling.call, ruling.request);
                self.supplement = ruling.supplement.clone();
            }
            (GatePoint::Reply, Some(turn)) => turn.gated = true,
            (GatePoint::Result, Some(turn)) => {
                let position = ruling.position.unwrap_or_default() as usize;
                let Some(tool) = turn.tools.get_mut(position) else {
                    return;
                };
                if let Some(reason) = &ruling.blocked {
                    *tool = ToolRecord::Refused(reason.clone());
                } else if let Some(RevisedResult { result, tokens }) = ruling.revised.clone() {
                    *tool = ToolRecord::Ended { result, tokens, gated: true };
                } else if let ToolRecord::Ended { gated, .. } = tool {
                    *gated = true;
                }
            }
            _ => {}
        }
    }
}

/// The texts of gates for a model call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallSupplement {
    /// The context for the model beside the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<AddedContext>,
    /// The reply in the model's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<GateReply>,
}

/// The context added to a model call by gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AddedContext {
    /// The digest of the text, as the model gets it.
    pub text: Sha256Digest,
    /// The estimated tokens of the text.
    pub tokens: u64,
    /// The source of an untrusted text; absent: it is trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<String>,
}

/// The reply of a gate in a model's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateReply {
    /// The gate.
    pub gate: GateId,
    /// The digest of the reply.
    pub reply: Sha256Digest,
}

impl CallSupplement {
    /// True if it has nothing.
    pub fn is_none(&self) -> bool {
        self.context.is_none() && self.reply.is_none()
    }

    /// Returns the estimated tokens added to the request.
    pub fn tokens(&self) -> u64 {
        self.context.as_ref().map_or(0, |context| context.tokens)
    }
}
