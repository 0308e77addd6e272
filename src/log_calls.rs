//! The calls of agents, printed.

use serde_json::Value;

use crate::Ui;
use crate::which::{ResolvedTask, find_step};
use wf_app::{CliExitCode, CommandError};
use wf_base::digest::Sha256Digest;
use wf_base::name::{CallAddress, RunId};
use wf_report::record::{AgentCalls, ShownModelCall, exchange_text};
use wf_store::{CallBodyStore, StateFolder, StoreDurability, StoreReader};

/// Prints the exchanges of the agents of a run, or of a task, with their models and tools.
pub fn print_calls(
    ui: &Ui,
    reader: &StoreReader,
    run: &RunId,
    selected: Option<&ResolvedTask>,
) -> Result<(), CommandError> {
    let store = body_store(ui, run);
    let agents = AgentCalls::from_events(&reader.facts(run, &AgentCalls::EVENTS)?);
    let is_selected = |calls: &&AgentCalls| {
        selected.is_none_or(|found| {
            let task = &calls.attempt.place;
            let same = task.step == found.place.step;
            let item = found.place.item.is_none() || found.place.item == task.item;
            same && item && found.attempt.is_none_or(|attempt| attempt == calls.attempt.attempt)
        })
    };
    let shown: Vec<&AgentCalls> = agents.iter().filter(is_selected).collect();
    if shown.is_empty() {
        let message = format!("run {} has no calls of agents to print", run.short());
        return Err(CommandError::new(CliExitCode::Usage, message));
    }
    for (at, calls) in shown.into_iter().enumerate() {
        let gap = if at == 0 { "" } else { "\n" };
        ui.print(&format!("{gap}{}", exchange_text(calls, &|digest| body(&store, digest))))?;
    }
    Ok(())
}

/// A call of an agent, as a document and as a person reads it.
pub struct CallView {
    pub document: Value,
    pub text: String,
}

/// Returns a model call or a tool call of an agent, by its address below a run.
pub fn view_call(
    ui: &Ui,
    reader: &StoreReader,
    run: RunId,
    address: &CallAddress,
) -> Result<CallView, CommandError> {
    let found = find_step(run, &address.task, reader)?;
    let store = body_store(ui, &found.run);
    let bodies = |digest: &Sha256Digest| body(&store, digest);
    let agents = AgentCalls::from_events(&reader.facts(&found.run, &AgentCalls::EVENTS)?);
    let is_named = |calls: &&AgentCalls| {
        calls.attempt.place == found.place && found.attempt.is_none_or(|named| named == calls.attempt.attempt)
    };
    let named = agents.iter().rfind(is_named);
    let missing = || no_call(&found.run, address);
    let call =
        named.and_then(|calls| ShownModelCall::of(calls, address.call, &bodies)).ok_or_else(missing)?;
    Ok(match address.tool {
        None => CallView { document: serde_json::to_value(&call).unwrap_or_default(), text: call.text() },
        Some(number) => {
            let tool = call.tool(number, &bodies).ok_or_else(missing)?;
            CallView { document: serde_json::to_value(&tool).unwrap_or_default(), text: tool.text() }
        }
    })
}

fn no_call(run: &RunId, address: &CallAddress) -> CommandError {
    let run = run.short();
    CommandError::new(CliExitCode::Usage, format!("run {run} has no call `{address}`"))
        .hint(format!("for its calls: wf logs {run} --calls"))
}

fn body_store(ui: &Ui, run: &RunId) -> CallBodyStore {
    let folder = StateFolder::new(&ui.host.workspace().state).calls(run);
    CallBodyStore::new(folder, StoreDurability::Normal)
}

/// Reads a body.
pub fn body(store: &CallBodyStore, digest: &Sha256Digest) -> Result<Value, String> {
    let bytes = store.read(digest).map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", store.path(digest).display()))
}
