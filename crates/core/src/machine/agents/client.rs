//! Programs that work as agents: clients of the gateway, such as a coding agent.
//!
//! Such a program decides itself what it asks a model. Each request is recorded before the model gets it, and each reply
//! before the program gets it; a tool call that was refused is not in the reply. After a crash the program begins anew.
//!
//! An invalid answer is repaired once in an attempt, as of any other agent: the program is begun again, in the same attempt
//! and with the same budget, and is told its answer and the mistake. The fact that it is comes first, so that a crash neither
//! loses the repair nor allows a second one.

use crate::machine::{
    agents::agent,
    state::{Run, TaskIx},
    words::{
        AgentRecord, AgentTurn, Attempt, CallEffort, ClientCall, ClientRepair, ClientTurn, Effect, EventKind,
        InvalidAnswer, ModelCallEnd, ModelCallOutcome, ModelCallStart, ToolCallEnd, ToolRecord, WorkExit,
        agents::agent_record::AgentStep,
    },
};
use wf_base::digest::Sha256Digest;
use wf_model::EngineFailure;

/// Lets the program of an agent go on.
pub(in crate::machine) fn serve_client(run: &mut Run, task: TaskIx, attempt: &Attempt) {
    let Some(record) = run.agent_record(task) else {
        return;
    };
    let refusals = record.turns.last().map(AgentTurn::refusals).unwrap_or_default();
    let repairs = record.repaired_answer().cloned();
    let (attempt, call) = (attempt.clone(), record.call());
    run.push_effect(Effect::ServeClient(ClientTurn { attempt, call, refusals, repairs }));
}

/// Begins the model call that the program of an agent asks for.
pub(in crate::machine) fn on_client_call(
    run: &mut Run,
    attempt: &Attempt,
    call: ClientCall,
    tools: Vec<ToolCallEnd>,
) {
    let Some(task) = served_agent(run, attempt) else {
        return;
    };
    for end in tools {
        let record = run.agent_record(task);
        let turn =
            record.filter(|record| record.call() == end.id.call).and_then(|record| record.turns.last());
        let tool = turn.and_then(|turn| turn.tools.get(end.id.position as usize));
        if tool == Some(&ToolRecord::Started) {
            run.emit(EventKind::ToolCallEnded(end));
        }
    }
    if let Some(exit) = run.forced_exit(task) {
        return agent::end_agent(run, attempt, exit, None);
    }
    let calls = run.agent_record(task).map_or(0, AgentRecord::call);
    let start = ModelCallStart { client: Some(call), ..ModelCallStart::after(attempt, calls, None) };
    agent::begin_call(run, task, start);
}

/// Ends an agent whose program ended, unless it may repair the mistake in its answer.
pub(in crate::machine) fn on_client_end(
    run: &mut Run,
    attempt: &Attempt,
    exit: WorkExit,
    answer: Option<Sha256Digest>,
    mistake: Option<String>,
) {
    let Some(task) = served_agent(run, attempt) else {
        return;
    };
    if let Some(mistake) = mistake.filter(|_| run.forced_exit(task).is_none())
        && repair_client(run, task, attempt, InvalidAnswer { mistake, answer })
    {
        return serve_client(run, task, attempt);
    }
    let answer = answer.filter(|_| exit.is_success());
    // A program that was told to end may end with any code.
    match run.forced_exit(task) {
        Some(forced) if !exit.is_success() => agent::end_agent(run, attempt, forced, None),
        _ => agent::end_agent(run, attempt, exit, answer),
    }
}

/// Returns the end of a call whose program died with the engine.
pub(in crate::machine) fn lost_call(run: &Run, task: TaskIx, attempt: &Attempt) -> Option<ModelCallEnd> {
    let record = run.agent_record(task).filter(|record| record.engine.is_client())?;
    (record.next_step() == AgentStep::AwaitModel).then(|| ModelCallEnd {
        attempt: attempt.clone(),
        call: record.call(),
        outcome: ModelCallOutcome::Failed {
            reason: "the engine was interrupted".into(),
            failure_class: EngineFailure::Cancelled.class(),
        },
        answered_by: None,
        effort: CallEffort::of_one_request(),
    })
}

/// Returns the task of an agent whose program is awaited.
fn served_agent(run: &Run, attempt: &Attempt) -> Option<TaskIx> {
    let task = run.awaiting_agent(attempt)?;
    (run.agent_record(task)?.next_step() == AgentStep::Serve).then_some(task)
}

/// Lets the program of an agent repair its answer; false if it has tried before.
fn repair_client(run: &mut Run, task: TaskIx, attempt: &Attempt, invalid: InvalidAnswer) -> bool {
    let first = run.agent_record(task).is_some_and(|record| record.client_repair.is_none());
    if first {
        let attempt = attempt.clone();
        run.emit(EventKind::ClientRepairStarted(ClientRepair { attempt, invalid }));
    }
    first
}
