//! The tool calls of an agent that gates, or the plan's rules for untrusted text, do not let begin at once, and its
//! questions to people: tool calls that only a person can answer.
//!
//! **Invariant:** a tool call that needs an approval begins only with one of exactly this call, which it uses up.
//! **Invariant:** a tool that untrusted text closes is not executed, whoever asks for it and after any crash: the
//! decision follows from facts alone.

use serde_json::{Value, json};

use crate::{
    gate::{self, GateOutcome, GateResult, GateRuling},
    machine::{
        agents::{agent, children},
        state::{
            self, Run, TaskIx, follow_up::FollowUp, in_flight::TaskRequest, plan_rules::has_gates, requests,
        },
        words::{
            ApprovalRequest, EventKind, GatePoint, RequestedTool, ShownContent, ToolCallId, ToolCallRefusal,
            ToolCallStart, ToolCallSubject, agents::agent_record::AgentStep, reason::truncate_reason,
            requests::approval_request::choices,
        },
    },
};
use wf_model::{
    AgentTool, AgentWork, JsonObject, Plan, StepIx, UntrustedRule,
    taint::{TaintLevel, taints},
};

/// The way of a tool call before it begins.
pub(in crate::machine) enum ToolEntry {
    /// It is not executed, for the given reason.
    Refused(String),
    /// Its gates are asked, and its arguments read, since an approval may be needed.
    Asked,
    /// It begins.
    Free,
}

/// Returns the way of the next tool call of an agent.
pub(in crate::machine) fn tool_entry(run: &Run, task: TaskIx, requested: &RequestedTool) -> ToolEntry {
    if let Some(mistake) = &requested.mistake {
        return ToolEntry::Refused(mistake.clone());
    }
    let request = requested.children.as_ref();
    if let Some(obstacle) = request.and_then(|request| children::child_obstacle(run, task, request)) {
        return ToolEntry::Refused(obstacle);
    }
    if run.agent_record(task).is_some_and(|record| record.approved) {
        return ToolEntry::Free;
    }
    match closed_tool(run, task, &requested.tool) {
        Some(ClosedTool { rule: UntrustedRule::Deny, source }) => ToolEntry::Refused(format!(
            "the plan does not allow `{}` after untrusted text was read ({source}); go on without it",
            requested.tool
        )),
        _ if let Some(reason) = question_obstacle(run, task, &requested.tool) => ToolEntry::Refused(reason),
        _ if is_question(run, task, &requested.tool) => ToolEntry::Asked,
        Some(ClosedTool { rule: UntrustedRule::Ask, .. }) => ToolEntry::Asked,
        None if has_gates(run.plan(), Some(task), GatePoint::Call) => ToolEntry::Asked,
        None => ToolEntry::Free,
    }
}

/// Applies the results of the gates before a tool call: nothing but a plain pass, or an approval, lets it begin.
pub(in crate::machine) fn on_tool_gates(
    run: &mut Run,
    call_id: &ToolCallId,
    gated: GateOutcome,
    arguments: Option<Box<ShownContent>>,
) {
    let waits = |task: &TaskIx| run.flight.request(*task) == Some(TaskRequest::ToolGates);
    let Some(task) = run.task_ix(&call_id.attempt.task_id).filter(waits) else {
        return;
    };
    let Some((id, tool)) = next_tool(run, task).filter(|(next, _)| next == call_id) else {
        return;
    };
    run.flight.set(task, None);
    let GateOutcome { results, rewritten, .. } = gated;
    for result in &results {
        let task_id = Some(id.attempt.task_id.clone());
        run.emit(EventKind::GateEvaluated { task_id, result: result.clone() });
    }
    if let Some(exit) = run.forced_exit(task) {
        return agent::end_agent(run, &id.attempt, exit, None);
    }
    let is_question = is_question(run, task, &tool);
    let is_closed = closed_tool(run, task, &tool).is_some();
    let is_free = !is_closed && !is_question;
    let refused = match gate::ruling(&results) {
        GateRuling::Block { gate, reason, .. } => Some(format!("gate `{gate}` blocked the call: {reason}")),
        _ if !rewritten.is_empty() => {
            Some("a gate rewrote the call, and calls of agents cannot be rewritten".into())
        }
        GateRuling::Continue if is_free => None,
        _ => match arguments {
            Some(arguments) => {
                let ShownContent { digest, shown } = *arguments;
                let show = JsonObject::from_iter([("tool".into(), json!(tool)), ("arguments".into(), shown)]);
                let approves = is_question && (is_closed || !gate::asking(&results).is_empty());
                let subject =
                    ToolCallSubject { is_question, approves, ..ToolCallSubject::of(&id, tool, digest) };
                return ask_for_tool(run, task, subject, show, gate::asking(&results));
            }
            None => Some("the call needs an approval, and its arguments cannot be read".into()),
        },
    };
    match refused {
        None => agent::begin_tool(run, task, ToolCallStart { id, tool }),
        Some(reason) => {
            let attempt = id.attempt.clone();
            run.emit(EventKind::ToolCallRefused(ToolCallRefusal { id, tool, reason }));
            agent::advance_agent(run, task, &attempt, None);
        }
    }
}

/// Returns the tool call that is to begin next, and its tool.
fn next_tool(run: &Run, task: TaskIx) -> Option<(ToolCallId, String)> {
    match run.agent_record(task)?.next_step() {
        AgentStep::Tool(_, requested) => Some((run.next_tool_call(task)?, requested.tool)),
        _ => None,
    }
}

/// Requests the approval of a tool call: that of one gate after the other, as before a step. Where gates ask, their
/// approvers decide about untrusted text, too.
fn ask_for_tool(
    run: &mut Run,
    task: TaskIx,
    subject: ToolCallSubject,
    show: JsonObject,
    gates: Vec<GateResult>,
) {
    let closed = closed_tool(run, task, &subject.tool);
    let ask = requests::draft_of_gates(run, Some(task), GatePoint::Call, gates);
    let untrusted = closed.map(|closed| format!("untrusted text was read before ({})", closed.source));
    let question = match (subject.is_question, show.get("arguments")) {
        (true, Some(arguments)) => question_text(arguments),
        _ => format!("allow one call of `{}`?", subject.tool),
    };
    let parts = [question, ask.message.clone()];
    let parts = parts.into_iter().chain(untrusted).filter(|part| !part.is_empty());
    let message = truncate_reason(parts.collect::<Vec<_>>().join(" · "));
    requests::open(run, ApprovalRequest { tool_call: Some(subject), show, message, ..ask });
}

/// Lets an agent go on with a tool call that was approved, unless a further gate asks other approvers.
pub(in crate::machine) fn on_tool_approved(run: &mut Run, task: TaskIx, request: ApprovalRequest) {
    match request.tool_call {
        Some(subject) if !request.deferred_results.is_empty() => {
            ask_for_tool(run, task, subject, request.show, request.deferred_results);
        }
        _ => brief_again(run, task),
    }
}

/// Lets an agent go on without a tool call that was not approved.
pub(in crate::machine) fn on_tool_denied(
    run: &mut Run,
    task: TaskIx,
    subject: &ToolCallSubject,
    reason: &str,
) {
    let attempt = state::attempt(run.plan(), task, subject.attempt);
    let id = ToolCallId { attempt, call: subject.call, position: subject.position };
    let outcome = if subject.is_question { "nobody answered" } else { "the call was not approved" };
    let (tool, reason) = (subject.tool.clone(), format!("{outcome}: {reason}"));
    run.emit(EventKind::ToolCallRefused(ToolCallRefusal { id, tool, reason }));
    brief_again(run, task);
}

/// Lets an agent go on after a decision. One that waits for its lock goes on when it has it.
pub(in crate::machine) fn brief_again(run: &mut Run, task: TaskIx) {
    if !run.flight.is_returning(task) {
        run.then(FollowUp::ResumeActivity { task, approved: false });
    }
}

/// True if a tool call of the agent of a task is a question to people. A program of its own has no such tool.
pub(in crate::machine) fn is_question(run: &Run, task: TaskIx, tool: &str) -> bool {
    let is_own = |work: &AgentWork| !work.engine.is_client() && work.tools.contains(&AgentTool::Ask);
    tool == AgentTool::Ask.as_str() && run.agent_work(task).is_some_and(is_own)
}

/// Returns the reason why an agent may not ask once more; `None`: it may.
fn question_obstacle(run: &Run, task: TaskIx, tool: &str) -> Option<String> {
    let limit = run.agent_work(task).filter(|_| is_question(run, task, tool))?.max_questions;
    let asked = run.agent_record(task)?.questions;
    (asked >= limit).then(|| {
        format!("this attempt has asked {asked} of at most {limit} questions; go on with what you know")
    })
}

/// Returns the text of a question, with the answers to choose from.
fn question_text(arguments: &Value) -> String {
    let question = arguments.get("question").and_then(Value::as_str).unwrap_or_default();
    match choices(arguments).as_slice() {
        [] => format!("the agent asks: {question}"),
        choices => format!("the agent asks: {question} ({})", choices.join(", ")),
    }
}

/// A tool that untrusted text closes.
pub(in crate::machine) struct ClosedTool {
    pub(in crate::machine) rule: UntrustedRule,
    pub(in crate::machine) source: String,
}

/// Returns the source of a step's inputs that is not trusted; `None`: all are trusted, as the plan declares them.
pub fn untrusted_input(plan: &Plan, step: StepIx) -> Option<String> {
    let summary = taints(plan);
    let inputs = &summary.steps.get(plan.step(step).id.as_str())?;
    let mut all = inputs.inputs_taint.clone();
    all.mix_in(&inputs.item_taint);
    let from = all.from.filter(|_| all.taint == TaintLevel::External)?;
    Some(format!("its values, from {from}"))
}

/// Returns the rule that closes a tool now.
fn closed_tool(run: &Run, task: TaskIx, tool: &str) -> Option<ClosedTool> {
    let source = run.state().task_record(task)?.untrusted_source().cloned()?;
    let rule = run.agent_work(task)?.untrusted_rule(tool)?;
    Some(ClosedTool { rule, source })
}
