//! What a list of events says about agents: their calls, and what these may use.

use std::collections::{BTreeMap, BTreeSet};

use wf_base::{name::Name, time::Moment};
use wf_core::{
    agent::{ChildRequest, ContextCut, estimate_tokens},
    gate::GateResult,
    machine::{
        AgentBriefing, ApprovalRequest, AttemptUsage, CallSupplement, CheckVerdict, ClientCall, Event,
        EventKind, ExchangeSubject, GuidanceEnd, InvalidAnswer, ModelCallOutcome, ModelCallStart,
        ModelLimits, PlannerRejection, RequestedTool, TaskId, ToolCallId, ToolCallSubject, WorkExit,
    },
};
use wf_model::{Money, TokenUsage};

use super::{
    children::Child,
    compactions::{Compaction, Failures},
};

/// The most tokens of what stands for a long result, or for turns.
const NOTE: u64 = 60;

/// What is known about the agents of a run.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// The agents of the last attempts, by place.
    books: BTreeMap<TaskId, Agent>,
    /// The places whose agents were given untrusted text, in any attempt.
    pub untrusted: BTreeSet<TaskId>,
    /// What model calls, gates, planners and attempts have used, each counted once.
    pub used: AttemptUsage,
    /// The failures of the compactor.
    pub failures: Failures,
}

/// What is known about an agent.
#[derive(Clone, Debug, Default)]
pub struct Agent {
    pub attempt: u32,
    /// When its attempt began.
    pub since: Option<Moment>,
    /// Whether it is a program of its own.
    pub is_client: bool,
    pub limits: Option<ModelLimits>,
    pub calls: Vec<Call>,
    /// What gates said since the last tool call began or was refused.
    pub heard: Vec<GateResult>,
    /// What gates said of a part of its conversation that they have not let pass.
    pub news: Vec<GateResult>,
    /// The last call that gates let begin.
    pub admitted: u32,
    /// Why a gate keeps it from going on.
    pub barred: Option<String>,
    pub exit: Option<WorkExit>,
    /// The question about a tool call that people are asked, and since when.
    pub asked: Option<(ApprovalRequest, Moment)>,
    /// The tool call that people agreed to, until it begins.
    pub agreed: Option<ToolCallSubject>,
    /// The part of its conversation that people agreed to, until that is decided.
    pub passed: Option<ExchangeSubject>,
    /// What gates give to the next model call.
    pub supplement: CallSupplement,
    /// The calls and positions of its questions to people.
    pub questions: BTreeSet<(u32, u32)>,
    /// How long it waited for people and child runs, in milliseconds.
    pub waited_ms: u64,
    /// Since when it waits for child runs.
    pub collecting: Option<Moment>,
    /// The child runs that it asked for.
    pub children: Vec<Child>,
    pub compaction: Compaction,
    /// The answer that its program repairs.
    pub repairs: Option<InvalidAnswer>,
}

/// What is known about a model call.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub repairs: Option<String>,
    /// The request of a program of its own.
    pub client: Option<ClientCall>,
    /// The cut of the conversation.
    pub context: ContextCut,
    /// What gates gave to it.
    pub supplement: CallSupplement,
    pub outcome: Option<ModelCallOutcome>,
    /// Whether gates let the reply pass.
    pub gated: bool,
    /// The results that gates let pass, rewrote or withheld, by position.
    pub seen: BTreeSet<u32>,
    /// Its tool calls, as far as they began or were refused.
    pub tools: Vec<Tool>,
}

/// What is known about a tool call.
#[derive(Clone, Debug)]
pub enum Tool {
    Begun,
    Ended(u64),
    Refused(String),
}

impl Agents {
    /// What is known about the agent of a place.
    pub fn at(&self, task_id: &TaskId) -> Agent {
        self.books.get(task_id).cloned().unwrap_or_default()
    }

    /// What the calls under way may use.
    pub fn open(&self) -> AttemptUsage {
        let open = self.books.values().filter_map(|agent| {
            let asked = agent.compaction.open_reserve().filter(|_| agent.exit.is_none());
            let (last, before) = agent.calls.split_last()?;
            let waits = last.outcome.is_none() && agent.exit.is_none();
            asked.or_else(|| waits.then(|| agent.reserve(before, last)))
        });
        open.fold(AttemptUsage::default(), AttemptUsage::plus)
    }

    /// Takes one more event into account.
    pub fn take(&mut self, event: &Event) {
        match &event.fact {
            EventKind::AttemptStarted(attempt) => {
                let (attempt, place) = (attempt.attempt, attempt.task_id.clone());
                self.books.insert(place, Agent { attempt, since: Some(event.at), ..Agent::default() });
            }
            EventKind::GuidanceEnded(GuidanceEnd { usage, .. }) => self.used = self.used.plus(*usage),
            EventKind::AttemptEnded { attempt, how, usage, .. } => {
                self.used = self.used.plus(*usage);
                // One that goes on with an engine that has died may end before it is briefed again.
                self.of(&attempt.task_id).exit.get_or_insert_with(|| how.clone());
            }
            EventKind::PlannerAccepted { calls, .. }
            | EventKind::PlannerRejected(PlannerRejection { calls, .. }) => {
                self.used = self.used.plus(calls.usage);
            }
            EventKind::AgentBriefed(briefing) => {
                self.of(&briefing.attempt.task_id).take_briefing(briefing);
                let place = briefing.untrusted.is_some().then(|| briefing.attempt.task_id.clone());
                self.untrusted.extend(place);
            }
            EventKind::ModelCallStarted(start) => {
                let supplement = std::mem::take(&mut self.of(&start.attempt.task_id).supplement);
                self.of(&start.attempt.task_id).calls.push(Call {
                    supplement,
                    repairs: start.repairs.clone(),
                    client: start.client,
                    context: start.context.clone(),
                    ..Call::default()
                });
            }
            EventKind::ModelCallEnded(end) => {
                self.pay(end.effort.usage.total(), end.effort.cost);
                if let Some(call) = self.of(&end.attempt.task_id).calls.last_mut() {
                    call.outcome = Some(end.outcome.clone());
                }
            }
            EventKind::GateEvaluated { task_id, result } => self.hear(task_id.as_ref(), result),
            EventKind::CheckCompleted { verdict: CheckVerdict { judgement: Some(judged), .. }, .. } => {
                self.pay(judged.tokens, judged.cost);
            }
            EventKind::ToolCallRefused(refusal) => {
                self.tool(&refusal.id, Tool::Refused(refusal.reason.clone()));
            }
            EventKind::ApprovalRequested(ask) => {
                if let Some(place) = ask.task_id.as_ref().filter(|_| ask.is_of_agent()) {
                    self.of(place).take_request(ask, event.at);
                }
            }
            EventKind::ApprovalResolved { request, task_id: Some(place), given } => {
                self.of(place).take_decision(*request, given.decision, event.at);
            }
            EventKind::ChildDispatched(_) | EventKind::ChildStarted(_) => self.take_child(&event.fact),
            EventKind::ChildEnded(end) => {
                self.used = self.used.plus(end.usage);
                self.take_child(&event.fact);
            }
            EventKind::AgentEnded(end) => self.of(&end.attempt.task_id).exit = Some(end.exit.clone()),
            _ => self.take_tool(event),
        }
    }

    fn take_tool(&mut self, event: &Event) {
        match &event.fact {
            EventKind::ToolCallStarted(start) => {
                self.tool(&start.id, Tool::Begun);
                let agent = self.of(&start.id.attempt.task_id);
                let request = agent.requested().get(start.id.position as usize);
                let request = request.and_then(|call| call.children.as_deref());
                agent.collecting = matches!(request, Some(ChildRequest::Collect(_))).then_some(event.at);
            }
            EventKind::ToolCallEnded(end) => {
                let place = end.untrusted.is_some().then(|| end.id.attempt.task_id.clone());
                self.untrusted.extend(place);
                self.end_tool(&end.id, end.tokens);
                let agent = self.of(&end.id.attempt.task_id);
                if let Some(since) = agent.collecting.take() {
                    agent.waited_ms += u64::try_from(event.at.since(since).as_millis()).expect("it is short");
                }
            }
            EventKind::ExchangeGated(gated) => {
                let added = gated.supplement.context.as_ref();
                let untrusted = added.and_then(|added| added.untrusted.as_ref());
                self.untrusted.extend(untrusted.map(|_| gated.attempt.task_id.clone()));
                self.of(&gated.attempt.task_id).take_ruling(gated);
            }
            EventKind::CompactionStarted(start) => self.of(&start.attempt.task_id).compaction.start(start),
            EventKind::CompactionEnded(end) => {
                self.used = self.used.plus(end.usage);
                self.failures.take(end, event.at);
                self.of(&end.attempt.task_id).compaction.said = Some(end.outcome.clone());
            }
            EventKind::ClientRepairStarted(repair) => {
                self.of(&repair.attempt.task_id).repairs = Some(repair.invalid.clone());
            }
            _ => {}
        }
    }

    fn hear(&mut self, task_id: Option<&TaskId>, result: &GateResult) {
        self.pay(result.tokens, result.cost);
        if let Some(place) = task_id {
            let agent = self.of(place);
            let of_call = !result.trigger.is_of_agent();
            if of_call { &mut agent.heard } else { &mut agent.news }.push(result.clone());
        }
    }

    fn pay(&mut self, tokens: u64, cost: Money) {
        self.used = self.used.plus(AttemptUsage { attempts: 0, tokens, cost });
    }

    pub(super) fn of(&mut self, task_id: &TaskId) -> &mut Agent {
        self.books.entry(task_id.clone()).or_default()
    }

    fn end_tool(&mut self, id: &ToolCallId, tokens: u64) {
        let call = self.of(&id.attempt.task_id).calls.last_mut();
        if let Some(tool) = call.and_then(|call| call.tools.get_mut(id.position as usize)) {
            *tool = Tool::Ended(tokens);
        }
    }

    fn tool(&mut self, id: &ToolCallId, tool: Tool) {
        let agent = self.of(&id.attempt.task_id);
        agent.heard.clear();
        agent.agreed = None;
        if let Some(call) = agent.calls.last_mut() {
            call.tools.push(tool);
        }
    }
}

impl Agent {
    fn take_briefing(&mut self, briefing: &AgentBriefing) {
        self.is_client = briefing.engine.is_client();
        self.limits = Some(briefing.limits.clone());
        self.compaction.limits.clone_from(&briefing.compactor);
    }

    /// What is known about a child run.
    pub fn child(&self, child: &Name) -> Option<&Child> {
        self.children.iter().find(|known| known.start.child == *child)
    }

    /// The number of the last call.
    pub fn call(&self) -> u32 {
        count(self.calls.len())
    }

    /// The tools that the last reply calls.
    pub fn requested(&self) -> &[RequestedTool] {
        match self.calls.last().and_then(|call| call.outcome.as_ref()) {
            Some(ModelCallOutcome::Replied { tool_calls, .. }) => tool_calls,
            _ => &[],
        }
    }

    /// The tool that is called next, with its position.
    pub fn next_tool(&self) -> Option<(u32, &RequestedTool)> {
        let call = self.calls.last()?;
        let waits = !self.is_client && matches!(call.tools.last(), Some(Tool::Begun));
        let next = self.requested().get(call.tools.len()).filter(|_| !waits)?;
        Some((count(call.tools.len()), next))
    }

    /// Whether nothing of its last call is open.
    pub fn is_idle(&self) -> bool {
        self.calls.last().is_none_or(|call| {
            let waits = !self.is_client && matches!(call.tools.last(), Some(Tool::Begun));
            call.outcome.is_some() && !waits && call.tools.len() == self.requested().len()
        })
    }

    /// The tool calls of the last reply that were refused.
    pub fn refused(&self) -> BTreeMap<u32, String> {
        let last = self.calls.last().map(|call| call.tools.as_slice()).unwrap_or_default();
        let refused = (0..).zip(last).filter_map(|(position, tool)| match tool {
            Tool::Refused(reason) => Some((position, reason.clone())),
            Tool::Begun | Tool::Ended(_) => None,
        });
        refused.collect()
    }

    /// What the next call may use.
    pub fn next_reserve(&self, start: &ModelCallStart) -> AttemptUsage {
        let next = Call {
            repairs: start.repairs.clone(),
            client: start.client,
            context: start.context.clone(),
            supplement: self.supplement.clone(),
            ..Call::default()
        };
        self.reserve(&self.calls, &next)
    }

    /// What the last call may use.
    pub fn last_reserve(&self) -> Option<AttemptUsage> {
        let (last, before) = self.calls.split_last()?;
        Some(self.reserve(before, last))
    }

    /// The most output that the last call may have.
    pub fn last_output(&self) -> u64 {
        let most = self.limits.as_ref().map_or(0, |limits| limits.max_output);
        self.calls.last().and_then(|call| call.client).map_or(most, |client| client.max_output)
    }

    /// The most input that the last call may have.
    pub fn last_input(&self) -> u64 {
        self.last_reserve().map_or(0, |reserve| reserve.tokens.saturating_sub(self.last_output()))
    }

    /// The tokens that the next call sends. No provider here counts more than that.
    pub fn next_input(&self, start: &ModelCallStart) -> u64 {
        let own = || self.input(&self.calls, start.repairs.as_deref(), &start.context);
        start.client.map_or_else(own, |client| client.input)
    }

    /// What a call after some others may use: what it sends, and the longest reply.
    fn reserve(&self, before: &[Call], call: &Call) -> AttemptUsage {
        let limits = self.limits.clone().unwrap_or_default();
        let (input, output) = match call.client {
            Some(client) => (client.input, client.max_output),
            None => (self.input(before, call.repairs.as_deref(), &call.context), limits.max_output),
        };
        let input = input + call.supplement.tokens();
        let usage = |cached_input, cache_write| TokenUsage { input, cached_input, cache_write, output };
        let cost = |usage| limits.price.map_or(Money::default(), |price| price.cost(usage));
        let cost = [usage(0, 0), usage(input, 0), usage(0, input)].map(cost).into_iter().max();
        AttemptUsage { attempts: 0, tokens: input + output, cost: cost.unwrap_or_default() }
    }

    /// What the call after some others sends: all that was said so far, but for what is cut.
    fn input(&self, before: &[Call], repairs: Option<&str>, context: &ContextCut) -> u64 {
        let mut input = self.limits.as_ref().map_or(0, |limits| limits.first_input);
        // A program sends its conversation itself.
        let sent = before.iter().rposition(|call| call.client.is_some()).unwrap_or_default();
        let before = &before[sent..];
        input = before.first().and_then(|call| call.client).map_or(input, |client| client.input);
        for (number, call) in (1..).zip(before) {
            if context.omits(number) {
                input += if number > 1 && context.omits(number - 1) { 0 } else { NOTE };
                continue;
            }
            if let Some(ModelCallOutcome::Replied { reply_tokens, .. }) = call.outcome {
                input += reply_tokens;
            }
            let results = call.tools.iter().map(|tool| match tool {
                Tool::Begun => 0,
                Tool::Ended(tokens) => *tokens,
                Tool::Refused(reason) => estimate_tokens(reason),
            });
            input += results
                .map(|all| if number <= context.masked_turns { all.min(NOTE) } else { all })
                .sum::<u64>();
            let repairs = before.get(number as usize).map_or(repairs, |next| next.repairs.as_deref());
            input += repairs.map_or(0, estimate_tokens);
        }
        input
    }
}

fn count(of: usize) -> u32 {
    u32::try_from(of).expect("calls are few")
}
