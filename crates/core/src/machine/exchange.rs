//! Gates of an agent's conversation: before a model call, after its reply, and after a tool call.
//!
//! **Invariant:** where gates are asked, a model call begins, a reply is acted on, and a result reaches the model only
//! once the fact that they let it pass is recorded. After a crash, what has no such fact is asked about again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::gate::{self, GateOutcome, GateRuling};
use crate::machine::agent_event::{ModelCallOutcome, ModelCallStart};
use crate::machine::agent_record::{AgentRecord, AgentTurn, ToolRecord};
use crate::machine::effect::GateQuestion;
use crate::machine::event::EventKind;
use crate::machine::exchange_approval::ExchangeSubject;
use crate::machine::exit::WorkExit;
use crate::machine::gates::{GatePoint, has_gates};
use crate::machine::in_flight::TaskRequest;
use crate::machine::serde_pairs;
use crate::machine::state::{self, TaskIx};
use crate::machine::supplement::CallSupplement;
use crate::machine::task_id::Attempt;
use crate::machine::tool_approval::ShownContent;
use crate::machine::turn::Machine;
use wf_base::digest::Sha256Digest;
use wf_model::{EngineFailure, FailureClass};

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

/// A part of an agent's conversation that gates are asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeQuestion {
    /// The part.
    pub part: ExchangePart,
    /// The digest of the reply, or of the result; `None` before a model call.
    pub body: Option<Sha256Digest>,
    /// The tool whose result it is.
    pub tool: Option<String>,
    /// The model call that begins afterwards, if it is known.
    pub start: Option<ModelCallStart>,
    /// The estimated tokens of that call.
    pub input: u64,
    /// The reasons that the model gets in place of results, by position.
    #[serde(with = "serde_pairs")]
    pub refusals: BTreeMap<u32, String>,
    /// The source of untrusted text that the agent was given; `None`: it was given none.
    pub untrusted: Option<String>,
}

/// The answer of gates about a part of an agent's conversation, beside their results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatedExchange {
    /// The part.
    pub part: ExchangePart,
    /// The model call that begins afterwards, if it is known.
    pub start: Option<ModelCallStart>,
    /// The mistake in a reply that is an answer.
    pub mistake: Option<String>,
    /// The result as gates rewrote it.
    pub revised: Option<RevisedResult>,
    /// The part as approvers see it, if a gate requires an approval.
    pub content: Option<ShownContent>,
    /// The texts of gates for the model call that begins afterwards.
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
    /// The reason of a block. The model gets that of a result in its place; any other fails the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
}

impl GateQuestion {
    /// True if it is about a call of an agent that is at work.
    pub fn is_of_agent(&self) -> bool {
        self.tool_call.is_some() || self.exchange.is_some()
    }
}

impl Machine {
    /// Asks the gates about what is new in a conversation: a result, a reply, then the model call that is to begin.
    /// True if it did.
    pub(in crate::machine) fn gate_news(
        &mut self,
        task: TaskIx,
        attempt: &Attempt,
        start: Option<&ModelCallStart>,
    ) -> bool {
        let Some(record) = self.agent_record(task) else {
            return false;
        };
        let Some((point, position)) = self.ungated(task, start) else {
            return false;
        };
        let part = ExchangePart { attempt: attempt.clone(), call: record.call(), position };
        let mut question = record.question(part, point, start);
        question.untrusted = self.state.task_record(task).and_then(|record| record.untrusted.clone());
        self.flight.set(task, Some(TaskRequest::ToolGates));
        self.ask_gates_about(Some(task), point, Some(Box::new(question)));
        true
    }

    /// Returns the first part that gates have not let pass, with the position of a result.
    pub(in crate::machine) fn ungated(
        &self,
        task: TaskIx,
        start: Option<&ModelCallStart>,
    ) -> Option<(GatePoint, Option<u32>)> {
        let record = self.agent_record(task).filter(|record| record.exit.is_none())?;
        let gated = |point| has_gates(&self.plan, Some(task), point);
        let parts = record.ungated(start);
        parts.into_iter().find(|(point, _)| gated(*point))
    }

    /// Applies the results of the gates about a part of a conversation.
    pub(in crate::machine) fn on_exchange_gates(
        &mut self,
        point: GatePoint,
        gated: &GateOutcome,
        answer: GatedExchange,
    ) {
        let GatedExchange { part, start, mistake, revised, content, supplement } = answer;
        let waits = |task: &TaskIx| self.flight.request(*task) == Some(TaskRequest::ToolGates);
        let Some(task) = self.working_agent(&part.attempt).filter(waits) else {
            return;
        };
        let asked = (point, part.position);
        let call = self.agent_record(task).map(AgentRecord::call);
        if call != Some(part.call) || self.ungated(task, start.as_ref()) != Some(asked) {
            return;
        }
        self.flight.set(task, None);
        let place = state::task_id(&self.plan, task);
        for result in &gated.results {
            self.emit(EventKind::GateEvaluated { place: Some(place.clone()), result: result.clone() });
        }
        let ExchangePart { attempt, call, position } = part;
        if let Some(exit) = self.forced_exit(task) {
            return self.end_agent(&attempt, exit, None);
        }
        // A program has seen the results of its tools: it cannot be given others.
        let is_client = self.agent_record(task).is_some_and(|record| record.engine.is_client());
        let revised = revised.filter(|_| point == GatePoint::Result && !is_client);
        let asking = gate::asking(&gated.results);
        let is_read = asking.is_empty() || content.is_some();
        let is_revised = gated.rewritten.is_empty() || revised.is_some();
        let ruling = gate::ruling(&gated.results);
        let class = match &ruling {
            GateRuling::Block { failed: true, .. } => EngineFailure::Sensor.class(),
            _ => FailureClass::Logical,
        };
        let blocked = obstacle(point, ruling, is_revised, is_read);
        let passes = blocked.is_none();
        let fact = ExchangeGated {
            attempt: attempt.clone(),
            point,
            call: if point == GatePoint::Request { call.saturating_add(1) } else { call },
            position,
            request: start.as_ref().and_then(|start| Some(start.client?.request)),
            revised: revised.filter(|_| passes),
            supplement: if passes { supplement } else { CallSupplement::default() },
            blocked,
        };
        if let Some(ShownContent { digest, shown }) = content.filter(|_| passes && !asking.is_empty()) {
            let subject = ExchangeSubject { passed: fact, body: digest };
            return self.ask_for_exchange(task, subject, &shown, asking);
        }
        let exit = self.exit_after(task, &fact, class);
        self.emit(EventKind::ExchangeGated(fact));
        match (exit, start) {
            (Some(exit), _) => self.end_agent(&attempt, exit, None),
            (None, Some(start)) => self.begin_call(task, start),
            (None, None) => self.advance_agent(task, &attempt, mistake),
        }
    }

    /// Returns the exit of an agent after a decision of gates or people; `None`: it goes on. A result that is withheld
    /// ends none but a program, which knows it.
    pub(in crate::machine) fn exit_after(
        &self,
        task: TaskIx,
        decided: &ExchangeGated,
        failure_class: FailureClass,
    ) -> Option<WorkExit> {
        let is_client = self.agent_record(task).is_some_and(|record| record.engine.is_client());
        let reason = decided.blocked.clone().filter(|_| decided.point != GatePoint::Result || is_client)?;
        Some(WorkExit::Error { reason, failure_class })
    }
}

impl AgentRecord {
    /// Returns the parts that gates have not let pass, in the order in which they are asked about.
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

    /// True if gates let a model call begin. A program that began anew may ask for another one.
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

/// Returns the reason why a part goes no further; `None`: gates let it pass, or people may.
fn obstacle(point: GatePoint, ruling: GateRuling, is_revised: bool, is_read: bool) -> Option<String> {
    let subject = subject(point);
    match ruling {
        GateRuling::Block { gate, reason, .. } => Some(format!("gate `{gate}` blocked {subject}: {reason}")),
        _ if !is_revised => Some(format!("a gate rewrote {subject}, which cannot be rewritten")),
        _ if !is_read => Some(format!("{subject} needs an approval, and cannot be read")),
        GateRuling::Ask { .. } | GateRuling::Continue => None,
    }
}

/// Returns the words for what gates are asked about.
pub(in crate::machine) fn subject(point: GatePoint) -> &'static str {
    match point {
        GatePoint::Request => "the model call",
        GatePoint::Reply => "the reply of the model",
        _ => "the result",
    }
}
