//! The model calls of a run, as a person reads them.

use serde_json::Value;

use super::tasks::{ResolvedTask, find_step};
use crate::{CliExitCode, CommandError, StateReader};
use wf_base::{
    digest::Sha256Digest,
    name::{CallAddress, CallAsker, RunId},
    remedy::UserAction,
};
use wf_core::machine::TaskId;
use wf_report::record::{
    AgentCalls, AskedCall, CallBodyError, ShownAskedCall, ShownModelCall, exchange_text,
};
use wf_store::{CallBodyStore, StoreDurability};

/// Returns the text of the exchanges of a run, or of a task, with models: those of agents with their tools, then those of
/// judges, gates and planners.
pub fn exchanges_text(
    state: &StateReader,
    run: &RunId,
    selected_task: Option<&ResolvedTask>,
) -> Result<String, CommandError> {
    let (store, reader) = (body_store(state, run), state.store());
    let agents = AgentCalls::from_events(&reader.events().of_kinds(run, &AgentCalls::EVENTS)?);
    let all_calls = AskedCall::from_events(&reader.events().of_kinds(run, &AskedCall::EVENTS)?);
    let is_selected = |task_id: Option<&TaskId>, attempt: Option<u32>| {
        selected_task.is_none_or(|resolved| {
            let same = task_id.is_some_and(|task| {
                let item = resolved.task_id.item.is_none() || resolved.task_id.item == task.item;
                task.step == resolved.task_id.step && item
            });
            same && resolved.attempt.is_none_or(|named| attempt.is_none_or(|attempt| attempt == named))
        })
    };
    let bodies = |digest: &Sha256Digest| body(&store, digest);
    let agents =
        agents.iter().filter(|calls| is_selected(Some(&calls.attempt.task_id), Some(calls.attempt.attempt)));
    let asked_calls = all_calls.iter().filter(|call| is_selected(call.task_id.as_ref(), call.attempt));
    let agents = agents.map(|calls| exchange_text(calls, &bodies));
    let shown: Vec<String> = agents.chain(asked_calls.map(|call| call.exchange_text(&bodies))).collect();
    if shown.is_empty() {
        let message = format!("run {} has no model calls to print", run.short());
        return Err(CommandError::new(CliExitCode::Usage, message));
    }
    Ok(shown.join("\n"))
}

/// A call, as a document and as a person reads it.
pub struct CallView {
    pub document: Value,
    pub text: String,
}

/// Returns a model call, or a tool call of an agent, by its address below a run.
pub fn view_call(state: &StateReader, run: RunId, address: &CallAddress) -> Result<CallView, CommandError> {
    if let Some(asker) = &address.asker {
        return view_asked_call(state, run, address, asker);
    }
    let task = find_step(state, run, &address.task)?;
    let store = body_store(state, &task.run);
    let bodies = |digest: &Sha256Digest| body(&store, digest);
    let agents = AgentCalls::from_events(&state.store().events().of_kinds(&task.run, &AgentCalls::EVENTS)?);
    let is_named = |calls: &&AgentCalls| {
        calls.attempt.task_id == task.task_id
            && task.attempt.is_none_or(|named| named == calls.attempt.attempt)
    };
    let named = agents.iter().rfind(is_named);
    let missing = || no_call(&task.run, address);
    let call = named
        .and_then(|calls| ShownModelCall::from_calls(calls, address.call, &bodies))
        .ok_or_else(missing)?;
    Ok(match address.tool {
        None => CallView { document: serde_json::to_value(&call).unwrap_or_default(), text: call.text() },
        Some(number) => {
            let tool = call.tool(number, &bodies).ok_or_else(missing)?;
            CallView { document: serde_json::to_value(&tool).unwrap_or_default(), text: tool.text() }
        }
    })
}

/// Returns a call of a judge, a gate or a planner. In place of a step, `run` is the run itself.
fn view_asked_call(
    state: &StateReader,
    run: RunId,
    address: &CallAddress,
    asker: &CallAsker,
) -> Result<CallView, CommandError> {
    let task = find_step(state, run, &address.task)?;
    let calls = AskedCall::from_events(&state.store().events().of_kinds(&task.run, &AskedCall::EVENTS)?);
    let is_run = |call: &AskedCall| call.task_id.is_none() && task.task_id.to_string() == "run";
    let is_of_task = |call: &AskedCall| call.task_id.as_ref() == Some(&task.task_id) || is_run(call);
    let is_named = |call: &&AskedCall| {
        let attempt = task.attempt.is_none() || call.attempt == task.attempt;
        call.asker == *asker && call.number == address.call && attempt && is_of_task(call)
    };
    let call = calls.iter().rfind(is_named).ok_or_else(|| no_call(&task.run, address))?;
    let store = body_store(state, &task.run);
    let call = ShownAskedCall::from_call(call, &|digest| body(&store, digest));
    Ok(CallView { document: serde_json::to_value(&call).unwrap_or_default(), text: call.text() })
}

fn no_call(run: &RunId, address: &CallAddress) -> CommandError {
    CommandError::new(CliExitCode::Usage, format!("run {} has no call `{address}`", run.short()))
        .remedy("for its calls: ", UserAction::ShowCalls(run.clone()))
}

fn body_store(state: &StateReader, run: &RunId) -> CallBodyStore {
    CallBodyStore::new(state.store().folder().calls(run), StoreDurability::Normal)
}

/// Reads a body.
pub(crate) fn body(store: &CallBodyStore, digest: &Sha256Digest) -> Result<Value, CallBodyError> {
    let bytes = store.read(digest)?;
    serde_json::from_slice(&bytes).map_err(|cause| CallBodyError::NotJson { path: store.path(digest), cause })
}
