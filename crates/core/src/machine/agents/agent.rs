//! The loop of an agent: a model call, the tool calls that it asks for, and again, until the model answers.
//!
//! **Invariant:** no call is made before the fact that it begins is durable. **Invariant:** a call whose end is
//! recorded is never made again. **Invariant:** a tool call that was refused is never executed. **Invariant:** a
//! model call begins only where its reserve fits the budget beside those of the calls under way, so limits are kept as
//! far as reserves are right. **Invariant:** an agent ends once nothing that it asked for is under way.

use crate::{
    agent::ContextCut,
    machine::{
        agents::{
            children, client, compaction, exchange,
            tool_approval::{self, ToolEntry},
        },
        state::{
            Run, TaskIx,
            budget_limits::{self, BUDGET_SPENT_PREFIX},
            follow_up::FollowUp,
            in_flight::TaskRequest,
        },
        words::{
            AgentBriefing, AgentEnding, AgentExit, AgentRecord, AgentTurn, Attempt, Effect, EventKind,
            GatePoint, ModelCall, ModelCallEnd, ModelCallStart, ToolCallEnd, ToolCallId, ToolCallRefusal,
            ToolCallStart, ToolOrder, WorkExit, agents::agent_record::AgentStep,
        },
    },
};
use wf_base::digest::Sha256Digest;
use wf_model::{EngineFailure, FailureClass};

/// Lets an agent begin, or go on after a resume; `mistake` is the one in its last answer.
pub(in crate::machine) fn on_briefing(run: &mut Run, briefing: AgentBriefing, mistake: Option<String>) {
    let attempt = briefing.attempt.clone();
    let Some(task) = run.working_agent(&attempt) else {
        return;
    };
    if run.flight.request(task) != Some(TaskRequest::Briefing) {
        return;
    }
    run.flight.set(task, None);
    if run.agent_record(task).is_none() {
        run.emit(EventKind::AgentBriefed(Box::new(briefing)));
    }
    // The program of an agent died with its engine, and with it the request that it waited for.
    if let Some(end) = client::lost_call(run, task, &attempt) {
        run.emit(EventKind::ModelCallEnded(Box::new(end)));
    }
    // What was under way when the engine died is asked for again, unless it shall end.
    match run.agent_record(task).map(AgentRecord::next_step) {
        Some(AgentStep::AwaitModel | AgentStep::AwaitTool(_)) if let Some(exit) = run.forced_exit(task) => {
            end_agent(run, &attempt, exit, None);
        }
        Some(AgentStep::AwaitModel) => call_model(run, task, &attempt),
        Some(AgentStep::AwaitTool(position)) => call_tool(run, task, &attempt, position),
        _ => advance_agent(run, task, &attempt, mistake),
    }
}

/// Applies the end of a model call; `mistake` is the one in its answer.
pub(in crate::machine) fn on_model_reply(run: &mut Run, end: ModelCallEnd, mistake: Option<String>) {
    let Some(task) = run.awaiting_agent(&end.attempt) else {
        return;
    };
    let record = run.agent_record(task);
    let open =
        record.is_some_and(|record| record.next_step() == AgentStep::AwaitModel && record.call() == end.call);
    if open {
        let attempt = end.attempt.clone();
        run.emit(EventKind::ModelCallEnded(Box::new(end)));
        advance_agent(run, task, &attempt, mistake);
    }
}

/// Applies the end of a tool call.
pub(in crate::machine) fn on_tool_end(run: &mut Run, end: ToolCallEnd) {
    let Some(task) = run.awaiting_agent(&end.id.attempt) else {
        return;
    };
    let record = run.agent_record(task);
    let open = record.is_some_and(|record| {
        record.next_step() == AgentStep::AwaitTool(end.id.position) && record.call() == end.id.call
    });
    if open {
        let attempt = end.id.attempt.clone();
        let waited = run.waited(task);
        run.emit(EventKind::ToolCallEnded(end));
        // A wait for child runs does not count.
        if let Some(activity) = run.state().activity(task).filter(|_| run.waited(task) != waited) {
            run.agent_timer(task, &attempt, activity.since);
        }
        advance_agent(run, task, &attempt, None);
    }
}

/// Stops the work of a late agent. The answer ends it: the usage of a call is counted, and
/// nothing is collected while a tool still works.
pub(in crate::machine) fn on_agent_timeout(run: &mut Run, attempt: Attempt) {
    let Some(task) = run.working_agent(&attempt) else {
        return;
    };
    if run.is_agent_late(task) && !run.is_agent_done(task) && run.flight.note_overdue(task) {
        run.push_effect(Effect::Kill { attempt: Some(attempt), force: false });
    }
}

/// Takes the steps of an agent up to the first with an answer from outside.
pub(in crate::machine) fn advance_agent(
    run: &mut Run,
    task: TaskIx,
    attempt: &Attempt,
    mistake: Option<String>,
) {
    loop {
        let Some(record) = run.agent_record(task) else {
            return;
        };
        let (step, call) = (record.next_step(), record.call());
        let answer = record.answer;
        let stays = matches!(&step, AgentStep::End(own) if *own != WorkExit::Cancelled);
        if let Some(exit) = run.forced_exit(task).filter(|_| !stays && !run.is_agent_done(task)) {
            return end_agent(run, attempt, exit, None);
        }
        if exchange::gate_news(run, task, attempt, None) {
            return;
        }
        match step {
            AgentStep::AwaitModel | AgentStep::AwaitTool(_) => return,
            AgentStep::Tool(position, requested) => {
                let id = ToolCallId { attempt: attempt.clone(), call, position };
                let tool = requested.tool.clone();
                match tool_approval::tool_entry(run, task, &requested) {
                    ToolEntry::Refused(reason) => {
                        run.emit(EventKind::ToolCallRefused(ToolCallRefusal { id, tool, reason }));
                    }
                    ToolEntry::Asked => {
                        run.flight.set(task, Some(TaskRequest::ToolGates));
                        let (task, point) = (Some(task), GatePoint::Call);
                        return run.then(FollowUp::AskGates { task, point, exchange: None });
                    }
                    ToolEntry::Free => return begin_tool(run, task, ToolCallStart { id, tool }),
                }
            }
            AgentStep::Call => return begin_call(run, task, ModelCallStart::after(attempt, call, None)),
            AgentStep::Serve => return client::serve_client(run, task, attempt),
            AgentStep::Judge => return judge_answer(run, task, attempt, mistake),
            AgentStep::End(exit) => return end_agent(run, attempt, exit, answer),
        }
    }
}

/// Begins a tool call. A program of its own executes what it is given, once the reply reaches it.
pub(in crate::machine) fn begin_tool(run: &mut Run, task: TaskIx, start: ToolCallStart) {
    let (attempt, position) = (start.id.attempt.clone(), start.id.position);
    run.emit(EventKind::ToolCallStarted(start));
    if run.agent_record(task).is_some_and(|record| record.engine.is_client()) {
        return advance_agent(run, task, &attempt, None);
    }
    call_tool(run, task, &attempt, position);
}

/// Accepts the answer of a model, or lets it be repaired once (Silas 5.1.0).
fn judge_answer(run: &mut Run, task: TaskIx, attempt: &Attempt, mistake: Option<String>) {
    let repaired = run.agent_record(task).is_some_and(AgentRecord::has_repaired);
    match mistake {
        None => end_agent(run, attempt, WorkExit::Completed, None),
        Some(mistake) if !repaired => {
            let call = run.agent_record(task).map_or(0, AgentRecord::call);
            begin_call(run, task, ModelCallStart::after(attempt, call, Some(mistake)));
        }
        Some(mistake) => {
            let reason = format!("the model's answer is invalid, also after its repair: {mistake}");
            end_agent(run, attempt, WorkExit::Error { reason, failure_class: FailureClass::Logical }, None);
        }
    }
}

/// Begins the next model call, unless the limits of the agent or the budget do not allow it.
pub(in crate::machine) fn begin_call(run: &mut Run, task: TaskIx, mut start: ModelCallStart) {
    let attempt = start.attempt.clone();
    let context = run.agent_record(task).map(|record| record.next_context(&start));
    start.context = context.unwrap_or_default();
    if let Some(exit) = call_obstacle(run, task, &start) {
        return end_agent(run, &attempt, exit, None);
    }
    if compaction::ask_compactor(run, task, &start) || exchange::gate_news(run, task, &attempt, Some(&start))
    {
        return;
    }
    run.emit(EventKind::ModelCallStarted(start));
    call_model(run, task, &attempt);
}

fn call_model(run: &mut Run, task: TaskIx, attempt: &Attempt) {
    let Some(record) = run.agent_record(task) else {
        return;
    };
    let mut turns = record.turns.iter().rev();
    let open = turns.next();
    let repairs = open.and_then(|turn| turn.repairs.clone());
    let context = open.map_or(ContextCut::default(), |turn| turn.context.clone());
    // A program of its own was told of refusals with the reply.
    let continues = open.is_some_and(|turn| turn.client.is_none());
    let before = turns.next().filter(|_| continues);
    let refusals = before.map(AgentTurn::refusals).unwrap_or_default();
    let (attempt, call) = (attempt.clone(), record.call());
    let supplement = open.map(|turn| turn.supplement.clone()).unwrap_or_default();
    let supplement = Box::new(supplement);
    run.push_effect(Effect::CallModel(ModelCall { attempt, call, repairs, refusals, context, supplement }));
}

/// Executes a tool call, or lets it wait for child runs.
pub(in crate::machine) fn call_tool(run: &mut Run, task: TaskIx, attempt: &Attempt, position: u32) {
    let Some(record) = run.agent_record(task) else {
        return;
    };
    let id = ToolCallId { attempt: attempt.clone(), call: record.call(), position };
    let waited_ms = record.waited_ms;
    let answer = record.person_answer.clone().map(Box::new);
    let mut children = None;
    if let Some(request) = record.child_request(position).cloned() {
        let Some(report) = children::answer_child_request(run, task, &id, &request) else {
            return;
        };
        children = Some(Box::new(report));
    }
    let untrusted = run.state().task_record(task).is_some_and(|record| record.untrusted_source().is_some());
    run.push_effect(Effect::CallTool(ToolOrder { id, waited_ms, children, answer, untrusted }));
}

/// Ends an agent, once its child runs have ended; `answer` is the digest of the answer of a program of its own.
pub(in crate::machine) fn end_agent(
    run: &mut Run,
    attempt: &Attempt,
    exit: WorkExit,
    answer: Option<Sha256Digest>,
) {
    let task = run.task_ix(&attempt.task_id);
    let record = task.and_then(|task| run.agent_record(task));
    if record.is_some_and(|record| record.exit.is_none()) {
        let (attempt, exit) = (attempt.clone(), exit.clone());
        run.emit(EventKind::AgentEnded(AgentExit { attempt, exit, answer }));
    }
    if task.is_some_and(|task| children::stop_children(run, task, attempt)) {
        return;
    }
    let untrusted = task.and_then(|task| run.state().task_record(task)?.untrusted_source().cloned());
    run.push_effect(Effect::EndAgent(AgentEnding { attempt: attempt.clone(), exit, answer, untrusted }));
}

/// Returns the exit of an agent that may not make its next model call.
fn call_obstacle(run: &Run, task: TaskIx, start: &ModelCallStart) -> Option<WorkExit> {
    let (work, record) = (run.agent_work(task)?, run.agent_record(task)?);
    let logical = |reason| WorkExit::Error { reason, failure_class: FailureClass::Logical };
    if record.call() >= work.max_turns && start.repairs.is_none() {
        let most = work.max_turns;
        return Some(logical(format!(
            "the agent made {most} model calls, its `max_turns`, without an answer"
        )));
    }
    let reserve = record.reserve(start);
    let tokens = reserve.tokens;
    let window = record.limits.context_window;
    if tokens > window {
        return Some(logical(format!(
            "the next model call may need {tokens} tokens, and the context window of the model has {window}: \
             give it a shorter briefing or less to read at once, or take a model with a larger window"
        )));
    }
    let finally = run.plan().is_finally(task.ix());
    let short = budget_limits::shortage(run, reserve, run.open_reserves(), finally);
    let failure_class = EngineFailure::Budget.class();
    short.map(|reason| WorkExit::Error {
        reason: format!("{BUDGET_SPENT_PREFIX}: {reason}; {}", EngineFailure::Budget.remedy()),
        failure_class,
    })
}
