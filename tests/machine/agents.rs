//! The rules of agents, one by one: their calls, what ends them, and what is left of them after a crash.

use std::time::Duration;

use wf_base::digest::Sha256Digest;
use wf_core::{
    agent::{StopReason, authoring::MemoryCalibration},
    gate::{GateAction, GateOutcome},
    machine::{
        AgentBriefing, AgentEnding, AttemptEnd, CallEffort, ClientTurn, Effect, EventKind, GatePoint,
        InputKind, ModelCall, ModelCallEnd, ModelCallOutcome, ModelLimits, RequestedTool, StepState,
        TimerKind, ToolCallEnd, ToolCallId, ToolOrder, WorkExit,
    },
};
use wf_model::{
    AgentEngine, AgentTool, AgentWork, AgentWorkspace, JsonObject, ModelChoice, Money, Step, StepWork,
    TokenUsage, WorktreeMerge,
};

use super::{
    answers::{guard, guarded},
    killed::{Killed, attempt, end_of, single},
    world::name,
};

/// The tokens of the first request, and the most of a reply.
pub(super) const FIRST: u64 = 100;
pub(super) const REPLY: u64 = 50;

/// The tokens of a reply.
const REPLY_TOKENS: u64 = 20;

pub(super) fn agent(max_turns: u32) -> StepWork {
    StepWork::Agent(Box::new(AgentWork {
        model: ModelChoice::Role(name("executor")),
        engine: AgentEngine::Builtin,
        command: Vec::new(),
        briefing: "do it".into(),
        with: Vec::new(),
        recall: None,
        tools: vec![AgentTool::Read],
        mcp: Vec::new(),
        skills: Vec::new(),
        fetch: Vec::new(),
        max_turns,
        max_questions: 2,
        untrusted: Vec::new(),
        when_untrusted: std::collections::BTreeMap::new(),
        dispatch: None,
        workspace: AgentWorkspace::Shared,
        merge: WorktreeMerge::Automatic,
        conversation: None,
        persona: None,
        interaction: None,
    }))
}

/// A run whose only step is done by an agent that has begun.
pub(super) fn begun(change: impl FnOnce(&mut Step)) -> Killed {
    Killed::new(single(|step| {
        step.work = agent(3);
        change(step);
    }))
}

/// The same, once the agent is briefed.
pub(super) fn talking(change: impl FnOnce(&mut Step)) -> Killed {
    let mut run = begun(change);
    assert_eq!(asked(&run.feed(briefed("a"))), ["model 1"]);
    run
}

pub(super) fn briefed(step: &str) -> InputKind {
    let limits = ModelLimits { first_input: FIRST, context_window: 10_000, max_output: REPLY, price: None };
    let request = Sha256Digest::of_bytes(b"request");
    let (attempt, model, engine) = (attempt(step, 1), name("strong"), AgentEngine::Builtin);
    let briefing = AgentBriefing {
        attempt,
        model,
        engine,
        request,
        limits,
        untrusted: None,
        conversation: None,
        calibration: MemoryCalibration::default(),
        interaction: None,
        compactor: None,
    };
    InputKind::Briefed { briefing: Box::new(briefing), mistake: None }
}

pub(super) fn replied(step: &str, call: u32, outcome: ModelCallOutcome, mistake: Option<&str>) -> InputKind {
    let end = ModelCallEnd {
        attempt: attempt(step, 1),
        call,
        outcome,
        answered_by: None,
        effort: CallEffort {
            usage: TokenUsage { input: FIRST, cached_input: 0, cache_write: 0, output: 20 },
            cost: Money::of_micros(7),
            duration_ms: 1,
            ..CallEffort::of_one_request()
        },
    };
    InputKind::Replied { end: Box::new(end), mistake: mistake.map(str::to_owned) }
}

pub(super) fn reply(tools: &[(&str, Option<&str>)]) -> ModelCallOutcome {
    let requested = |(tool, mistake): &(&str, Option<&str>)| RequestedTool {
        tool: (*tool).to_owned(),
        mistake: mistake.map(str::to_owned),
        calls: Vec::new(),
        children: None,
    };
    let stop = if tools.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
    let tool_calls = tools.iter().map(requested).collect();
    ModelCallOutcome::Replied {
        model: name("strong"),
        reply: Sha256Digest::of_bytes(b"reply"),
        stop,
        reply_tokens: REPLY_TOKENS,
        tool_calls,
    }
}

pub(super) fn answers(call: u32, mistake: Option<&str>) -> InputKind {
    replied("a", call, reply(&[]), mistake)
}

pub(super) fn uses(call: u32, tools: &[&str]) -> InputKind {
    let tools: Vec<_> = tools.iter().map(|tool| (*tool, None)).collect();
    replied("a", call, reply(&tools), None)
}

pub(super) fn tool(call: u32, position: u32) -> ToolCallId {
    ToolCallId { attempt: attempt("a", 1), call, position }
}

pub(super) fn tool_ended(call: u32, position: u32) -> InputKind {
    returned(call, position, 30)
}

/// The end of a tool call whose result has some tokens.
fn returned(call: u32, position: u32, tokens: u64) -> InputKind {
    let result = Sha256Digest::of_bytes(b"result");
    InputKind::ToolEnded(ToolCallEnd {
        id: tool(call, position),
        result,
        tokens,
        is_error: false,
        untrusted: None,
        duration_ms: 1,
    })
}

/// What gates say of a tool call: nothing, or why they block it.
pub(super) fn gated(id: ToolCallId, block: Option<&str>) -> InputKind {
    let action = if block.is_some() { GateAction::Block } else { GateAction::Continue };
    let result = guard(action, block.unwrap_or_default());
    let gated = GateOutcome { results: vec![result], rewritten: JsonObject::new(), ..GateOutcome::default() };
    let task_id = Some(id.attempt.task_id.clone());
    InputKind::Gated {
        task_id,
        point: GatePoint::Call,
        gated,
        tool_call: Some(id),
        arguments: None,
        exchange: None,
    }
}

/// Effects, a word or two each.
pub(super) fn asked(effects: &[Effect]) -> Vec<String> {
    let asked = effects.iter().filter_map(|effect| match effect {
        Effect::CallModel(ModelCall { call, repairs, refusals, context, supplement, .. }) => {
            let repairs = repairs.iter().map(|mistake| format!(", repairs: {mistake}"));
            let refusals =
                refusals.iter().map(|(position, reason)| format!(", {position} refused: {reason}"));
            let cut = (!context.is_none()).then(|| format!(", {context}"));
            let added = supplement.context.iter().map(|added| format!(", {} tokens more", added.tokens));
            let given = supplement.reply.iter().map(|given| format!(", answered by {}", given.gate));
            let more: String = repairs.chain(refusals).chain(cut).chain(added).chain(given).collect();
            Some(format!("model {call}{more}"))
        }
        Effect::CallTool(ToolOrder { id, .. }) => Some(format!("tool {}.{}", id.call, id.position)),
        Effect::Gate(question) => {
            let id = question.tool_call.as_ref().map(|id| format!("{}.{}", id.call, id.position));
            let part = question.exchange.as_ref().map(|about| {
                let position = about.part.position.map(|position| format!(".{position}"));
                let point = serde_json::to_value(question.point).unwrap();
                let point = point.as_str().unwrap_or_default();
                format!("{point} {}{}", about.part.call, position.unwrap_or_default())
            });
            Some(format!("gates of {}", id.or(part)?))
        }
        Effect::EndAgent(AgentEnding { exit, .. }) => Some(format!("end: {exit}")),
        Effect::ServeClient(ClientTurn { call, refusals, repairs, .. }) => {
            let refused: String = refusals.keys().map(|position| format!(", {position} refused")).collect();
            let repairs = repairs.as_ref().map(|invalid| format!(", repairs {}", invalid.mistake));
            Some(format!("serve {call}{refused}{}", repairs.unwrap_or_default()))
        }
        Effect::Watch { .. } => Some("watch".into()),
        Effect::Kill { .. } => Some("kill".into()),
        _ => None,
    });
    asked.collect()
}

pub(super) fn collected(run: &mut Killed, exit: WorkExit) -> Vec<String> {
    asked(&run.feed(InputKind::Ended(AttemptEnd::new(attempt("a", 1), exit))))
}

#[test]
fn an_agent_works_with_tools_until_it_answers() {
    let mut run = talking(|_| {});
    assert_eq!(asked(&run.feed(uses(1, &["read", "read"]))), ["tool 1.0"]);
    assert_eq!(asked(&run.feed(tool_ended(1, 0))), ["tool 1.1"]);
    assert_eq!(asked(&run.feed(tool_ended(1, 1))), ["model 2"]);
    assert_eq!(asked(&run.feed(answers(2, None))), ["end: done"]);
    collected(&mut run, WorkExit::Completed);
    assert_eq!(end_of(&run.events, "a"), Some((StepState::Succeeded, String::new())));
    assert_eq!(run.machine.ledger().tokens, 2 * (FIRST + 20));
    assert_eq!(run.machine.ledger().cost, Money::of_micros(14));
}

#[test]
fn an_answer_is_repaired_once_and_not_twice() {
    let mut run = talking(|_| {});
    let effects = run.feed(answers(1, Some("`n` is missing")));
    assert_eq!(asked(&effects), ["model 2, repairs: `n` is missing"]);
    let effects = run.feed(answers(2, Some("`n` is a text")));
    assert_eq!(asked(&effects), ["end: the model's answer is invalid, also after its repair: `n` is a text"]);
    let mut run = talking(|_| {});
    run.feed(answers(1, Some("`n` is missing")));
    assert_eq!(asked(&run.feed(answers(2, None))), ["end: done"]);
}

#[test]
fn an_agent_that_never_answers_ends_with_its_turns_and_a_repair_is_none_of_them() {
    let mut run = talking(|step| step.work = agent(2));
    run.feed(uses(1, &["read"]));
    run.feed(tool_ended(1, 0));
    run.feed(uses(2, &["read"]));
    let reason = "end: the agent made 2 model calls, its `max_turns`, without an answer";
    assert_eq!(asked(&run.feed(tool_ended(2, 0))), [reason]);
    let mut run = talking(|step| step.work = agent(1));
    assert_eq!(asked(&run.feed(answers(1, Some("no")))), ["model 2, repairs: no"]);
}

#[test]
fn a_tool_call_with_a_mistake_is_not_executed_and_the_model_learns_why() {
    let mut run = talking(|_| {});
    let tools = [("fly", Some("there is no tool `fly`")), ("read", None)];
    assert_eq!(asked(&run.feed(replied("a", 1, reply(&tools), None))), ["tool 1.1"]);
    assert_eq!(asked(&run.feed(tool_ended(1, 1))), ["model 2, 0 refused: there is no tool `fly`"]);
    let all = [("fly", Some("no")), ("swim", Some("no"))];
    let effects = run.feed(replied("a", 2, reply(&all), None));
    assert_eq!(asked(&effects), ["model 3, 0 refused: no, 1 refused: no"]);
}

#[test]
fn gates_block_one_tool_call_and_not_another() {
    let mut run = talking(guarded);
    assert_eq!(asked(&run.feed(uses(1, &["read", "read"]))), ["gates of 1.0"]);
    assert_eq!(asked(&run.feed(gated(tool(1, 0), Some("not that")))), ["gates of 1.1"]);
    assert_eq!(asked(&run.feed(gated(tool(1, 1), None))), ["tool 1.1"]);
    let effects = run.feed(tool_ended(1, 1));
    assert_eq!(asked(&effects), ["model 2, 0 refused: gate `guard` blocked the call: not that"]);
}

#[test]
fn what_gates_said_of_one_tool_call_lets_no_other_pass() {
    let mut run = talking(guarded);
    run.feed(uses(1, &["read", "read"]));
    run.feed(gated(tool(1, 0), None));
    run.feed(tool_ended(1, 0));
    let known = run.events.len();
    assert_eq!(asked(&run.feed(gated(tool(1, 0), None))), [""; 0]);
    assert_eq!(run.events.len(), known);
    assert_eq!(asked(&run.feed(gated(tool(1, 1), None))), ["tool 1.1"]);
}

pub(super) fn late(run: &mut Killed) -> Vec<String> {
    asked(&run.feed(InputKind::Woke { timer: TimerKind::Agent(attempt("a", 1)) }))
}

#[test]
fn the_call_of_an_agent_whose_time_is_over_is_stopped_and_paid() {
    let limited = |step: &mut Step| step.timeout = Some(Duration::from_secs(5));
    let mut run = talking(limited);
    run.now = 4999;
    assert_eq!(late(&mut run), [""; 0]);
    run.now = 5000;
    assert_eq!(late(&mut run), ["kill"]);
    assert_eq!(late(&mut run), [""; 0], "it is told once");
    let stopped = run.feed(replied("a", 1, ModelCallOutcome::Stopped, None));
    assert_eq!(asked(&stopped), ["end: timed out"]);
    assert_eq!(run.machine.ledger().tokens, FIRST + 20);
    collected(&mut run, WorkExit::TimedOut);
    assert_eq!(end_of(&run.events, "a"), Some((StepState::Failed, "timed out after 5.0s".into())));
    // A tool that ends by itself at the last moment brings no further call.
    let mut run = talking(limited);
    run.feed(uses(1, &["read"]));
    run.now = 6000;
    assert_eq!(asked(&run.feed(tool_ended(1, 0))), ["end: timed out"]);
}

#[test]
fn an_agent_that_is_not_even_briefed_in_time_has_timed_out() {
    let limited = |step: &mut Step| step.timeout = Some(Duration::from_secs(5));
    let mut run = begun(limited);
    run.now = 5000;
    assert_eq!(late(&mut run), ["kill"]);
    collected(&mut run, WorkExit::Cancelled);
    assert_eq!(end_of(&run.events, "a"), Some((StepState::Failed, "timed out after 5.0s".into())));
    let mut run = begun(limited);
    run.now = 5000;
    assert_eq!(asked(&run.feed(briefed("a"))), ["end: timed out"]);
}

#[test]
fn a_conversation_that_outgrows_the_window_is_cut_also_after_a_resume() {
    let mut run = talking(|step| step.work = agent(50));
    let read = |run: &mut Killed, call| {
        run.feed(uses(call, &["read"]));
        asked(&run.feed(returned(call, 0, 890)))
    };
    for call in 1..9 {
        assert_eq!(read(&mut run, call), [format!("model {}", call + 1)]);
    }
    // Nine turns take 8290 of 10000 tokens, and no more than 8000 are sent.
    let cut = "long results of the first 4 turns masked";
    assert_eq!(read(&mut run, 9), [format!("model 10, {cut}")]);
    run.resume();
    assert_eq!(asked(&run.feed(briefed("a"))), [format!("model 10, {cut}")]);
    assert_eq!(read(&mut run, 10), [format!("model 11, {cut}")]);
}

#[test]
fn a_result_that_is_too_long_by_itself_ends_the_agent() {
    let mut run = talking(|_| {});
    run.feed(uses(1, &["read"]));
    let ended = asked(&run.feed(returned(1, 0, 10_000)));
    assert!(ended[0].starts_with("end: the next model call may need 10170 tokens, and"), "{ended:?}");
}

#[test]
fn an_answer_comes_too_late_for_an_engine_that_has_died() {
    let mut run = talking(|_| {});
    run.resume();
    assert_eq!(asked(&run.feed(answers(1, None))), [""; 0]);
    run.feed(briefed("a"));
    let known = run.events.len();
    assert_eq!(collected(&mut run, WorkExit::Completed), [""; 0], "the agent is not done");
    assert_eq!(run.events.len(), known);
    assert_eq!(asked(&run.feed(answers(1, None))), ["end: done"]);
}

#[test]
fn a_cancelled_agent_makes_no_further_call() {
    let mut run = talking(|_| {});
    assert_eq!(asked(&run.cancel()), ["kill"]);
    let stopped = run.feed(replied("a", 1, ModelCallOutcome::Stopped, None));
    assert_eq!(asked(&stopped), ["end: cancelled"]);
    // An answer that was faster than the request to stop is paid, and used no more.
    let mut run = talking(|_| {});
    run.cancel();
    assert_eq!(asked(&run.feed(uses(1, &["read"]))), ["end: cancelled"]);
    assert_eq!(run.machine.ledger().tokens, FIRST + 20);
    let is_tool = |fact: &EventKind| matches!(fact, EventKind::ToolCallStarted(_));
    assert!(!run.events.iter().any(|event| is_tool(&event.fact)));
    // A call that was under way when the engine died is not made again.
    let mut run = talking(|_| {});
    run.cancel();
    assert_eq!(asked(&run.resume()), ["watch", "kill"]);
    assert_eq!(asked(&run.feed(briefed("a"))), ["end: cancelled"]);
}
