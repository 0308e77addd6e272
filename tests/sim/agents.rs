//! Agents: which steps have them, how their models and tools answer, and the work of an engine for them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use wf_base::{digest::Sha256Digest, name::Name};
use wf_core::{
    agent::{StopReason, authoring::MemoryCalibration},
    machine::{
        AgentBriefing, AgentEnding, Attempt, AttemptEnd, CallEffort, ClientTurn, Effect, InputKind,
        ModelCall, ModelCallEnd, ModelCallOutcome, ModelLimits, RequestedTool, ToolCallEnd, ToolCallId,
        ToolOrder, WorkExit,
    },
};
use wf_model::{
    AgentEngine, AgentTool, AgentWork, AgentWorkspace, FailureClass, GateTrigger, JsonObject, ModelChoice,
    ModelPrice, Money, Step, StepWork, TokenUsage, UntrustedRule, WorktreeMerge,
};

use super::{
    children, compactions,
    dice::Dice,
    engine::Job,
    exchanges,
    fates::{Fates, outputs},
    gates,
    ledger::step_of,
    look::{Broken, Seen},
    merges,
    world::World,
};

/// Every way in which agents end, and what happens to their calls.
pub const AGENTS: [&str; 33] = [
    "done",
    "cancelled",
    "timed_out",
    "no turns left",
    "no budget left",
    "no window left",
    "not repaired",
    "failed",
    "repairs",
    "masks results",
    "omits turns",
    "a program repairs",
    "keeps turns",
    "has no compactor that answers",
    "is stopped",
    "asks for what is wrong",
    "is refused by gates",
    "a program calls",
    "a program's call is lost",
    "is asked about",
    "a part is asked about",
    "is answered by a gate",
    "gets context of a gate",
    "a part is refused by people",
    "is refused by people",
    "is closed",
    "a child run fails with another",
    "a child run is cancelled",
    "asks for another child run",
    "may not call",
    "may not reply",
    "does not get a result",
    "gets another result",
];

/// What a model says in a call.
pub struct Said {
    outcome: ModelCallOutcome,
    /// What is wrong with its answer, if it is one.
    mistake: Option<String>,
    output: u32,
    duration_ms: u32,
}

/// Lets agents do some steps. They are drawn apart, so that what comes after is what it was without them.
pub fn of_steps(steps: &mut [Step], dice: &Dice, steady: bool) {
    let mut dice = Dice::of(dice.0, "agents");
    // Some plans are a crowd of agents, which share a budget.
    let seldom = if dice.one_in(4) { 2 } else { 8 };
    for step in steps {
        let StepWork::Exec(words) = &step.work else {
            continue;
        };
        if step.cache.is_some() || !dice.one_in(seldom) {
            continue;
        }
        let with = words.iter().skip(1).map(|word| (name("word"), word.clone()));
        let mut work = AgentWork {
            model: ModelChoice::Role(name("executor")),
            // After a crash a program calls anew, so that calls have other numbers.
            engine: if !steady && dice.one_in(4) { AgentEngine::Command } else { AgentEngine::Builtin },
            command: Vec::new(),
            briefing: "do it".into(),
            with: with.collect(),
            recall: None,
            tools: vec![AgentTool::Read, AgentTool::Run, AgentTool::Ask],
            mcp: Vec::new(),
            skills: Vec::new(),
            fetch: Vec::new(),
            max_questions: dice.up_to(2),
            max_turns: 1 + if dice.one_in(4) { dice.up_to(20) } else { dice.up_to(5) },
            untrusted: vec!["outside".into()],
            when_untrusted: closed(&mut Dice::of(dice.0, "closed")),
            dispatch: None,
            workspace: AgentWorkspace::Shared,
            merge: WorktreeMerge::Automatic,
            conversation: None,
            persona: None,
            interaction: None,
        };
        merges::choose(&dice, &mut work);
        children::of_agent(&mut work, Dice::of(dice.0, "children"));
        // Some conversations are long enough for a compactor to choose.
        work.max_turns += if Dice::of(dice.0, "long").one_in(2) { 12 } else { 0 };
        step.work = StepWork::Agent(Box::new(work));
        // Whether an answer comes in time depends on when the engine died.
        let limit = Duration::from_millis(u64::from(dice.up_to(60)) * 100);
        step.timeout = (!steady && dice.one_in(3)).then_some(limit);
        for number in 5..5 + dice.below(3) {
            let gate = gates::gate(&mut dice, GateTrigger::OnToolCall, number, steady);
            step.gates.push(gate);
        }
        let mut dice = Dice::of(dice.0, "exchanges");
        for (number, on) in (20..).zip(exchanges::TRIGGERS) {
            if dice.one_in(4) {
                step.gates.push(gates::gate(&mut dice, on, number, steady));
            }
        }
    }
}

/// The tools that untrusted text closes: none for half of the agents.
fn closed(dice: &mut Dice) -> BTreeMap<String, UntrustedRule> {
    let mut rules = BTreeMap::new();
    for tool in ["read", "run", "ask"] {
        let rule = *dice.pick(&[None, None, Some(UntrustedRule::Deny), Some(UntrustedRule::Ask)]);
        rules.extend(rule.map(|rule| (tool.to_owned(), rule)));
    }
    rules
}

/// What an engine does for an agent; `None` if an effect asks for something else.
pub fn job(effect: &Effect, is_agent: bool) -> Option<Job> {
    match effect {
        Effect::Start { attempt, .. } | Effect::Watch { attempt, .. } if is_agent => {
            Some(Job::Brief { attempt: attempt.clone() })
        }
        Effect::CallModel(ModelCall { attempt, call, .. }) => {
            Some(Job::Model { attempt: attempt.clone(), call: *call })
        }
        Effect::CallTool(ToolOrder { id, .. }) => Some(Job::Tool { id: id.clone() }),
        Effect::ServeClient(ClientTurn { attempt, call, .. }) => {
            Some(Job::Serve { attempt: attempt.clone(), call: *call })
        }
        Effect::Compact { request } => Some(Job::Compact { request: request.clone() }),
        Effect::StartChild { id, .. } => Some(Job::Child { id: id.clone() }),
        Effect::EndAgent(AgentEnding { attempt, exit, .. }) => {
            Some(Job::Collect { attempt: attempt.clone(), exit: exit.clone() })
        }
        _ => None,
    }
}

/// The attempt whose agent a job is for.
pub fn attempt_of(job: &Job) -> Option<&Attempt> {
    match job {
        Job::Brief { attempt }
        | Job::Model { attempt, .. }
        | Job::Serve { attempt, .. }
        | Job::Collect { attempt, .. } => Some(attempt),
        Job::Compact { request } => Some(&request.start.attempt),
        Job::Tool { id } => Some(&id.attempt),
        _ => None,
    }
}

impl Fates {
    /// How an agent is briefed, or why it cannot be.
    fn briefing(self, run: usize, attempt: &Attempt, engine: AgentEngine) -> Result<AgentBriefing, WorkExit> {
        let mut dice = self.dice(run, &format!("briefing of {attempt}"));
        if dice.one_in(12) {
            let reason = "there is no such model".into();
            return Err(WorkExit::Error { reason, failure_class: FailureClass::Environmental });
        }
        let millions = |count: u32| Money::of_micros(u64::from(count) * 100_000);
        let price = ModelPrice {
            input: millions(1 + dice.up_to(20)),
            output: millions(1 + dice.up_to(40)),
            cached_input: dice.one_in(2).then(|| millions(dice.up_to(30))),
            cache_write: dice.one_in(2).then(|| millions(dice.up_to(30))),
        };
        let limits = ModelLimits {
            first_input: 10 + u64::from(dice.up_to(50)),
            context_window: *dice.pick(&[120, 300, 1000, 1000]),
            max_output: 5 + u64::from(dice.up_to(35)),
            price: (!dice.one_in(4)).then_some(price),
        };
        let compactor = compactions::limits(&dice, price).filter(|_| engine == AgentEngine::Builtin);
        let request = Sha256Digest::of_bytes(attempt.to_string().as_bytes());
        let untrusted = Dice::of(dice.0, "untrusted").one_in(6).then(|| "its values".to_owned());
        Ok(AgentBriefing {
            attempt: attempt.clone(),
            model: name("strong"),
            engine,
            request,
            limits,
            untrusted,
            conversation: None,
            calibration: MemoryCalibration::default(),
            interaction: None,
            compactor,
        })
    }

    /// What is wrong with the answer in a call.
    pub fn mistake(self, run: usize, attempt: &Attempt, call: u32) -> Option<String> {
        self.said(run, attempt, call, false).mistake
    }

    /// What a model says in a call: some models never come to an end.
    fn said(self, run: usize, attempt: &Attempt, call: u32, dispatches: bool) -> Said {
        let endless = self.dice(run, &format!("model of {attempt}")).one_in(6);
        let mut dice = self.dice(run, &format!("call {call} of {attempt}"));
        let (mut stop, mut tool_calls, mut mistake) = (StopReason::EndTurn, Vec::new(), None);
        let mut failed = None;
        match dice.below(20) {
            _ if endless => stop = StopReason::ToolCalls,
            0..9 => stop = StopReason::ToolCalls,
            9..12 => mistake = Some("`n` is missing".to_owned()),
            12 => failed = Some(FailureClass::Environmental),
            13 => failed = Some(FailureClass::Logical),
            14 => stop = StopReason::Refusal,
            15 => stop = StopReason::MaxTokens,
            _ => {}
        }
        if stop == StopReason::ToolCalls || stop == StopReason::MaxTokens && dice.one_in(3) {
            tool_calls = (0..=dice.below(3)).map(|_| requested(&mut dice)).collect();
        }
        if dispatches {
            children::requested(&mut tool_calls, Dice::of(dice.0, "children"));
        }
        let outcome = if let Some(failure_class) = failed {
            ModelCallOutcome::Failed { reason: "it is overloaded".into(), failure_class }
        } else {
            let reply = Sha256Digest::of_bytes(format!("{attempt} {call}").as_bytes());
            let reply_tokens = u64::from(dice.up_to(40));
            ModelCallOutcome::Replied { model: name("strong"), reply, stop, reply_tokens, tool_calls }
        };
        Said { outcome, mistake, output: dice.up_to(40), duration_ms: dice.up_to(1500) }
    }
}

/// A tool that a model calls: one that exists and one that does not, with arguments of all sorts.
fn requested(dice: &mut Dice) -> RequestedTool {
    let (tool, mistake) = match dice.below(8) {
        0 => ("fly", Some("there is no tool `fly`")),
        1 => ("run", Some("the arguments are not a JSON object")),
        2..4 => ("run", None),
        4 => ("ask", None),
        _ => ("read", None),
    };
    RequestedTool {
        tool: tool.into(),
        mistake: mistake.map(str::to_owned),
        calls: Vec::new(),
        children: None,
    }
}

impl World {
    fn said(&self, at: usize, attempt: &Attempt, call: u32) -> Said {
        self.fates.said(at, attempt, call, self.dispatches(at, attempt))
    }

    /// Whether the work of an attempt is an agent now: a planner may have replaced it.
    pub fn is_agent(&mut self, at: usize, attempt: &Attempt) -> bool {
        let plan = Arc::clone(self.engine(at).machine.plan());
        matches!(step_of(&plan, &attempt.task_id).work, StepWork::Agent(_))
    }

    /// Lets something for an agent begin, which takes its time.
    pub fn begin_for_agent(&mut self, at: usize, number: usize, job: &Job) -> Result<(), Broken> {
        let duration_ms = match job {
            Job::Model { attempt, call } => self.said(at, attempt, *call).duration_ms,
            _ => self.dice.up_to(700),
        };
        let due = self.now + i64::from(duration_ms);
        let unit = &mut self.engine(at).units[number];
        (unit.begun, unit.due) = (true, due);
        match attempt_of(job) {
            Some(attempt) => self.look(at, Seen::Begins { task_id: &attempt.task_id, process: false }),
            None => Ok(()),
        }
    }

    /// What comes of a briefing. One that goes on is told what was wrong with its last answer.
    pub fn briefed(&self, at: usize, attempt: Attempt, stop: bool) -> InputKind {
        if stop {
            return InputKind::Ended(AttemptEnd::new(attempt, WorkExit::Cancelled));
        }
        let call = self.runs[at].durable.agents.at(&attempt.task_id).call();
        let mistake = (call > 0).then(|| self.said(at, &attempt, call).mistake).flatten();
        let StepWork::Agent(work) = &step_of(&self.runs[at].plan, &attempt.task_id).work else {
            unreachable!("only agents are briefed")
        };
        match self.fates.briefing(at, &attempt, work.engine) {
            Ok(briefing) => InputKind::Briefed { briefing: Box::new(briefing), mistake },
            Err(exit) => InputKind::Ended(AttemptEnd::new(attempt, exit)),
        }
    }

    /// What comes of a model call. It never takes more than was kept for it, and is paid also where nobody waits
    /// for the reply any more.
    pub fn replied(&self, at: usize, attempt: Attempt, call: u32, stop: bool) -> InputKind {
        let agent = self.runs[at].durable.agents.at(&attempt.task_id);
        let limits = agent.limits.clone().unwrap_or_default();
        let mut said = self.said(at, &attempt, call);
        let given = agent.calls.last().and_then(|call| call.supplement.reply.clone());
        let input = agent.last_input();
        let input = input - input.min(u64::from(said.output) / 4);
        let cut = matches!(said.outcome, ModelCallOutcome::Replied { stop: StopReason::MaxTokens, .. });
        let output = if cut { agent.last_output() } else { agent.last_output().min(u64::from(said.output)) };
        let mut usage = TokenUsage { input, cached_input: input / 2, cache_write: input / 4, output };
        if stop {
            (said.outcome, said.mistake) = (ModelCallOutcome::Stopped, None);
            usage.output = output.min(3);
        } else if matches!(said.outcome, ModelCallOutcome::Failed { .. }) {
            usage = TokenUsage::default();
        }
        // What a gate answers costs nothing, and cannot fail.
        let answered_by = given.map(|given| {
            (usage, said.outcome) = (TokenUsage::default(), exchanges::reply_of(&given));
            given.gate
        });
        let cost = limits.price.map(|price| price.cost(usage));
        let end = ModelCallEnd {
            attempt,
            call,
            outcome: said.outcome,
            answered_by,
            effort: CallEffort {
                usage,
                cost: cost.unwrap_or_default(),
                duration_ms: u64::from(said.duration_ms),
                ..CallEffort::of_one_request()
            },
        };
        InputKind::Replied { end: Box::new(end), mistake: said.mistake }
    }

    /// What comes of a tool call.
    pub fn tool_ended(&self, at: usize, id: ToolCallId, stop: bool) -> InputKind {
        let ToolCallId { attempt, call, position } = &id;
        let what = format!("tool {call}.{position} of {attempt}");
        let mut dice = self.fates.dice(at, &what);
        let result = Sha256Digest::of_bytes(what.as_bytes());
        // A long one does not stay long in the conversation.
        let most = if dice.one_in(3) { 300 } else { 30 };
        let (tokens, is_error) = (u64::from(dice.up_to(most)), stop || dice.one_in(4));
        let untrusted = Dice::of(dice.0, "untrusted").one_in(4).then(|| format!("read {call}.{position}"));
        InputKind::ToolEnded(ToolCallEnd { id, result, tokens, is_error, untrusted, duration_ms: 1 })
    }

    /// What an agent left. What it promised may be missing.
    pub fn collected(&mut self, at: usize, attempt: Attempt, mut exit: WorkExit) -> InputKind {
        let step = step_of(&self.runs[at].plan, &attempt.task_id).clone();
        let mut dice = self.fates.dice(at, &format!("what is left of {attempt}"));
        let given = outputs(&mut dice, &step);
        if exit.is_success() && dice.one_in(10) {
            exit =
                WorkExit::Error { reason: "a file is missing".into(), failure_class: FailureClass::Logical };
        }
        let usage = super::budget::usage(&attempt);
        let outputs = if exit.is_success() { given } else { JsonObject::new() };
        self.runs[at].write_file(&attempt.task_id);
        InputKind::Ended(AttemptEnd { outputs, usage, ..AttemptEnd::new(attempt, exit) })
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}
