//! Gates of an agent's conversation: before a model call, after its reply, and after a tool call.
//!
//! **Invariant:** where gates are asked, a model call begins, a reply is acted on, and a result reaches the model only
//! once the fact that they let it pass is recorded. After a crash, what has no such fact is asked about again.

use serde_json::Value;

use crate::{
    gate::{self, GateOutcome, GateResult, GateRuling},
    machine::{
        agents::{agent, tool_approval},
        state::{
            self, Run, TaskIx, follow_up::FollowUp, in_flight::TaskRequest, plan_rules::has_gates, requests,
        },
        words::{
            AgentExit, AgentRecord, ApprovalRequest, Attempt, CallSupplement, EventKind, ExchangeGated,
            ExchangePart, ExchangeSubject, GatePoint, GatedExchange, ModelCallStart, ShownContent, WorkExit,
            agents::tool_subject::subject, reason::truncate_reason,
        },
    },
};
use wf_model::{EngineFailure, FailureClass};

/// Asks the gates about the new parts of a conversation: a result, a reply, then the next model call.
/// True if it did.
pub(in crate::machine) fn gate_news(
    run: &mut Run,
    task: TaskIx,
    attempt: &Attempt,
    start: Option<&ModelCallStart>,
) -> bool {
    let Some(record) = run.agent_record(task) else {
        return false;
    };
    let Some((point, position)) = ungated(run, task, start) else {
        return false;
    };
    let part = ExchangePart { attempt: attempt.clone(), call: record.call(), position };
    let mut question = record.question(part, point, start);
    question.untrusted = run.state().task_record(task).and_then(|record| record.untrusted_source().cloned());
    run.flight.set(task, Some(TaskRequest::ToolGates));
    let (task, exchange) = (Some(task), Some(Box::new(question)));
    run.then(FollowUp::AskGates { task, point, exchange });
    true
}

/// Returns the first part that gates have not let pass, with the position of a result.
pub(in crate::machine) fn ungated(
    run: &Run,
    task: TaskIx,
    start: Option<&ModelCallStart>,
) -> Option<(GatePoint, Option<u32>)> {
    let record = run.agent_record(task).filter(|record| record.exit.is_none())?;
    let gated = |point| has_gates(run.plan(), Some(task), point);
    let parts = record.ungated(start);
    parts.into_iter().find(|(point, _)| gated(*point))
}

/// Applies the results of the gates about a part of a conversation.
pub(in crate::machine) fn on_exchange_gates(
    run: &mut Run,
    point: GatePoint,
    gated: &GateOutcome,
    exchange: GatedExchange,
) {
    let GatedExchange { part, start, mistake, revised, content, supplement } = exchange;
    let waits = |task: &TaskIx| run.flight.request(*task) == Some(TaskRequest::ToolGates);
    let Some(task) = run.working_agent(&part.attempt).filter(waits) else {
        return;
    };
    let gated_part = (point, part.position);
    let call = run.agent_record(task).map(AgentRecord::call);
    if call != Some(part.call) || ungated(run, task, start.as_ref()) != Some(gated_part) {
        return;
    }
    run.flight.set(task, None);
    let task_id = state::task_id(run.plan(), task);
    for result in &gated.results {
        run.emit(EventKind::GateEvaluated { task_id: Some(task_id.clone()), result: result.clone() });
    }
    let ExchangePart { attempt, call, position } = part;
    if let Some(exit) = run.forced_exit(task) {
        return agent::end_agent(run, &attempt, exit, None);
    }
    // An agent that is a program has seen the results of its tools: it cannot be given others.
    let is_client = run.agent_record(task).is_some_and(|record| record.engine.is_client());
    let revised = revised.filter(|_| point == GatePoint::Result && !is_client);
    let asking = gate::asking(&gated.results);
    let is_readable = asking.is_empty() || content.is_some();
    let rewrites_apply = gated.rewritten.is_empty() || revised.is_some();
    let ruling = gate::ruling(&gated.results);
    let failure_class = match &ruling {
        GateRuling::Block { failed: true, .. } => EngineFailure::Sensor.class(),
        _ => FailureClass::Logical,
    };
    let blocked = obstacle(point, ruling, rewrites_apply, is_readable);
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
        return ask_for_exchange(run, task, subject, &shown, asking);
    }
    let exit = exit_after(run, task, &fact, failure_class);
    run.emit(EventKind::ExchangeGated(fact));
    match (exit, start) {
        (Some(exit), _) => agent::end_agent(run, &attempt, exit, None),
        (None, Some(start)) => agent::begin_call(run, task, start),
        (None, None) => agent::advance_agent(run, task, &attempt, mistake),
    }
}

/// Returns the exit of an agent after a decision of gates or people; `None`: it goes on. A result that is withheld
/// ends only an agent that is a program, which has seen it.
fn exit_after(
    run: &Run,
    task: TaskIx,
    gated: &ExchangeGated,
    failure_class: FailureClass,
) -> Option<WorkExit> {
    let is_client = run.agent_record(task).is_some_and(|record| record.engine.is_client());
    let reason = gated.blocked.clone().filter(|_| gated.point != GatePoint::Result || is_client)?;
    Some(WorkExit::Error { reason, failure_class })
}

/// Returns the reason why a part goes no further; `None`: gates let it pass, or people may.
fn obstacle(point: GatePoint, ruling: GateRuling, rewrites_apply: bool, is_readable: bool) -> Option<String> {
    let subject = subject(point);
    match ruling {
        GateRuling::Block { gate, reason, .. } => Some(format!("gate `{gate}` blocked {subject}: {reason}")),
        _ if !rewrites_apply => Some(format!("a gate rewrote {subject}, which cannot be rewritten")),
        _ if !is_readable => Some(format!("{subject} needs an approval, and cannot be read")),
        GateRuling::Ask { .. } | GateRuling::Continue => None,
    }
}

/// Requests the approval of a part of a conversation: that of one gate after the other.
fn ask_for_exchange(
    run: &mut Run,
    task: TaskIx,
    subject: ExchangeSubject,
    shown: &Value,
    gates: Vec<GateResult>,
) {
    let ask = requests::draft_of_gates(run, Some(task), subject.passed.point, gates);
    let message = format!("{} · {}", subject.question(), ask.message);
    let message = truncate_reason(message);
    let show = shown.as_object().cloned().unwrap_or_default();
    requests::open(run, ApprovalRequest { exchange: Some(subject), show, message, ..ask });
}

/// Lets an agent go on with a part that was approved, unless a further gate asks other approvers.
pub(in crate::machine) fn on_exchange_approved(run: &mut Run, task: TaskIx, request: ApprovalRequest) {
    match request.exchange {
        Some(subject) if !request.deferred_results.is_empty() => {
            ask_for_exchange(run, task, subject, &Value::Object(request.show), request.deferred_results);
        }
        Some(subject) => {
            run.emit(EventKind::ExchangeGated(subject.passed));
            tool_approval::brief_again(run, task);
        }
        None => {}
    }
}

/// Withholds a refused result, and ends the agent of a refused call or reply.
pub(in crate::machine) fn on_exchange_denied(
    run: &mut Run,
    task: TaskIx,
    exchange: &ExchangeSubject,
    reason: &str,
) {
    let blocked = Some(format!("{} was not approved: {reason}", subject(exchange.passed.point)));
    let decided = ExchangeGated { revised: None, blocked, ..exchange.passed.clone() };
    let (attempt, exit) = (decided.attempt.clone(), exit_after(run, task, &decided, FailureClass::Logical));
    run.emit(EventKind::ExchangeGated(decided));
    // Its conversation is built anew before it ends, as after a crash.
    if let Some(exit) = exit {
        run.emit(EventKind::AgentEnded(AgentExit { attempt, exit, answer: None }));
    }
    tool_approval::brief_again(run, task);
}
