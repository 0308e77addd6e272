//! The progress of an agent: the fold of its facts, and its next step.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    agent::{ChildChoice, ChildRequest, ContextCut, StopReason},
    machine::words::{
        AgentBriefing, CallSupplement, ChildRecord, ClientCall, CompactorLimits, InvalidAnswer,
        ModelCallOutcome, ModelLimits, RequestedTool, ToolCallSubject, WorkExit,
        agents::compaction_event::CompactionRecord,
    },
};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_model::AgentEngine;

/// The progress of an agent in one attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// The program around the model.
    #[serde(default)]
    pub engine: AgentEngine,
    /// The digest of the first request, or of the instructions of a program of its own.
    pub request: Sha256Digest,
    /// The limits of its calls.
    pub limits: ModelLimits,
    /// The model calls, with the tool calls in their replies.
    pub turns: Vec<AgentTurn>,
    /// Its child runs, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildRecord>,
    /// The time since when it waits for child runs: a call of `collect` has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collecting_since: Option<Moment>,
    /// True if an approval lets the next tool call begin; false again once it has, or is refused.
    #[serde(default)]
    pub approved: bool,
    /// The number of the last model call admitted by gates.
    #[serde(default)]
    pub admitted: u32,
    /// The digest of its request, if a program of its own made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admitted_request: Option<Sha256Digest>,
    /// The texts of gates for it, until it begins.
    #[serde(default, skip_serializing_if = "CallSupplement::is_none")]
    pub supplement: CallSupplement,
    /// Its wait for approvals and child runs, in milliseconds.
    #[serde(default)]
    pub waited_ms: u64,
    /// The number of its questions to people.
    #[serde(default)]
    pub questions: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_question: Option<ToolCallSubject>,
    /// The answer of people to it, until its call ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_answer: Option<PersonAnswer>,
    /// The model for cuts of the conversation, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compactor: Option<CompactorLimits>,
    /// The last question to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) compaction: Option<Box<CompactionRecord>>,
    /// The repair of the answer of a program of its own, once it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::machine) client_repair: Option<Box<ClientRepairRecord>>,
    /// The exit, once the agent is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<WorkExit>,
    /// The digest of the answer of a program of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Sha256Digest>,
}

/// A model call and its tool calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTurn {
    /// The mistake in the answer before, for the call to repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<String>,
    /// The request, if a program of its own made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCall>,
    /// The outcome; `None`: the call is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ModelCallOutcome>,
    /// The cut of the conversation.
    #[serde(default, skip_serializing_if = "ContextCut::is_none")]
    pub context: ContextCut,
    /// The texts of gates for the call.
    #[serde(default, skip_serializing_if = "CallSupplement::is_none")]
    pub supplement: CallSupplement,
    /// The tokens of the request, as the provider counted them; 0 if unknown.
    #[serde(default)]
    pub counted_input: u64,
    /// True if gates let the reply pass.
    #[serde(default)]
    pub gated: bool,
    /// The tool calls begun or refused, in their order.
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
        result: Sha256Digest,
        /// The estimated tokens of the result.
        tokens: u64,
        /// True if gates let the model get it.
        #[serde(default)]
        gated: bool,
    },
    /// It was not executed, or the model does not get its result, for the given reason.
    Refused(String),
}

/// The next step of an agent by its facts.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::machine) enum AgentStep {
    /// The current model call is answered.
    AwaitModel,
    /// The tool call at a position is answered.
    AwaitTool(u32),
    /// The tool call at a position begins.
    Tool(u32, RequestedTool),
    /// Another model call begins.
    Call,
    /// A program of its own gets the reply to its last request, and makes the next one or ends.
    Serve,
    /// The answer is judged.
    Judge,
    End(WorkExit),
}

impl AgentTurn {
    pub(in crate::machine) fn calls_of_tool(&self, position: u32) -> Vec<String> {
        let Some(ModelCallOutcome::Replied { tool_calls, .. }) = &self.outcome else {
            return Vec::new();
        };
        tool_calls.get(position as usize).map(|tool| tool.calls.clone()).unwrap_or_default()
    }

    /// Returns the reasons for the model in place of results, by position.
    pub fn refusals(&self) -> BTreeMap<u32, String> {
        let refused = (0_u32..).zip(&self.tools).filter_map(|(position, tool)| match tool {
            ToolRecord::Refused(reason) => Some((position, reason.clone())),
            ToolRecord::Started | ToolRecord::Ended { .. } => None,
        });
        refused.collect()
    }
}

/// A reply to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientReply {
    pub request: Sha256Digest,
    pub reply: Sha256Digest,
    /// The reasons of the tool calls kept from the reply, by position.
    pub refusals: BTreeMap<u32, String>,
}

impl AgentRecord {
    /// Creates the progress of a briefed agent.
    pub(in crate::machine) fn new(briefing: &AgentBriefing) -> Self {
        Self {
            engine: briefing.engine,
            request: briefing.request,
            limits: briefing.limits.clone(),
            turns: Vec::new(),
            children: Vec::new(),
            collecting_since: None,
            approved: false,
            admitted: 0,
            admitted_request: None,
            supplement: CallSupplement::default(),
            waited_ms: 0,
            questions: 0,
            last_question: None,
            person_answer: None,
            compactor: briefing.compactor.clone(),
            compaction: None,
            client_repair: None,
            exit: None,
            answer: None,
        }
    }

    /// Returns its wait for approvals and child runs: no limit of its attempt counts it.
    pub fn waited(&self) -> Duration {
        Duration::from_millis(self.waited_ms)
    }

    /// Returns the child runs asked for by a call of `collect`.
    pub(in crate::machine) fn chosen_children<'a>(
        &'a self,
        choice: &'a ChildChoice,
    ) -> impl Iterator<Item = &'a ChildRecord> {
        self.children.iter().filter(move |record| match choice {
            ChildChoice::Child(child) => record.start.child == *child,
            ChildChoice::Ready => record.end().is_some(),
            ChildChoice::All => true,
        })
    }

    /// True if a call of `collect` waits for its child runs.
    pub(in crate::machine) fn is_collecting(&self) -> bool {
        let AgentStep::AwaitTool(position) = self.next_step() else { return false };
        match self.child_request(position) {
            Some(ChildRequest::Collect(choice)) => {
                self.chosen_children(choice).any(|record| record.end().is_none())
            }
            _ => false,
        }
    }

    /// Returns the answer to be repaired by a program of its own, begun again.
    pub fn repaired_answer(&self) -> Option<&InvalidAnswer> {
        self.client_repair.as_ref().map(|repair| &repair.invalid)
    }

    /// Returns the turns since a program of its own began, or began again to repair its answer.
    fn client_turns(&self) -> &[AgentTurn] {
        let before = self.client_repair.as_ref().map_or(0, |repair| repair.after as usize);
        self.turns.get(before..).unwrap_or_default()
    }

    /// Returns the last request of a program of its own.
    pub fn last_client_request(&self) -> Option<Sha256Digest> {
        self.client_turns().iter().rev().find_map(|turn| turn.client).map(|client| client.request)
    }

    /// Returns the replies to a program of its own, in order.
    pub fn client_replies(&self) -> Vec<ClientReply> {
        let mut replies = Vec::new();
        let mut request = None;
        for turn in self.client_turns() {
            // A turn without a request continues the one before, whose reply the program did not get.
            request = turn.client.map(|client| client.request).or(request);
            let Some(ModelCallOutcome::Replied { reply, tool_calls, .. }) = &turn.outcome else {
                continue;
            };
            let refusals = turn.refusals();
            let is_decided = turn.tools.len() == tool_calls.len();
            let is_given = tool_calls.is_empty() || refusals.len() < tool_calls.len();
            if let Some(request) = request.filter(|_| is_decided && is_given) {
                replies.push(ClientReply { request, reply: *reply, refusals });
            }
        }
        replies
    }

    /// Returns the call of `dispatch` or `collect` at a position in the last reply, if it is one.
    pub fn child_request(&self, position: u32) -> Option<&ChildRequest> {
        match &self.turns.last()?.outcome {
            Some(ModelCallOutcome::Replied { tool_calls, .. }) => {
                tool_calls.get(position as usize)?.children.as_deref()
            }
            _ => None,
        }
    }

    /// Returns the number of the current model call; 0 before the first.
    pub fn call(&self) -> u32 {
        u32::try_from(self.turns.len()).unwrap_or(u32::MAX)
    }

    /// Adds a time outside the limits of its attempt.
    pub(in crate::machine) fn add_wait(&mut self, waited: Duration) {
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.waited_ms = self.waited_ms.saturating_add(waited);
    }

    /// True if an answer was already repaired.
    pub(in crate::machine) fn has_repaired(&self) -> bool {
        self.turns.iter().any(|turn| turn.repairs.is_some())
    }

    /// Returns the next step by the facts.
    pub(in crate::machine) fn next_step(&self) -> AgentStep {
        if let Some(exit) = &self.exit {
            return AgentStep::End(exit.clone());
        }
        if self.engine.is_client() {
            return self.next_client_step();
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

    /// Returns the step of a program of its own. A failed call is for the program to judge; a reply whose tool calls
    /// were all refused does not reach it: the model is told, and replies anew.
    fn next_client_step(&self) -> AgentStep {
        let Some(turn) = self.turns.last() else {
            return AgentStep::Serve;
        };
        let requested = match &turn.outcome {
            None => return AgentStep::AwaitModel,
            Some(ModelCallOutcome::Stopped) => return AgentStep::End(WorkExit::Cancelled),
            Some(ModelCallOutcome::Failed { .. }) => return AgentStep::Serve,
            Some(ModelCallOutcome::Replied { tool_calls, .. }) => tool_calls,
        };
        let position = u32::try_from(turn.tools.len()).unwrap_or(u32::MAX);
        let is_refused = |tool: &ToolRecord| matches!(tool, ToolRecord::Refused(_));
        match requested.get(turn.tools.len()) {
            Some(next) => AgentStep::Tool(position, next.clone()),
            None if !turn.tools.is_empty() && turn.tools.iter().all(is_refused) => AgentStep::Call,
            None => AgentStep::Serve,
        }
    }
}

fn failure(reason: &str) -> AgentStep {
    let failure_class = wf_model::FailureClass::Logical;
    AgentStep::End(WorkExit::Error { reason: reason.into(), failure_class })
}

/// A repair under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::machine) struct ClientRepairRecord {
    pub(in crate::machine) invalid: InvalidAnswer,
    /// The number of model calls before it.
    pub(in crate::machine) after: u32,
}

/// The answer of people to a question of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonAnswer {
    /// The names of the answering people.
    pub by: Vec<String>,
    pub text: String,
}
