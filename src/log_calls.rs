//! The calls of agents, printed.

use serde_json::Value;

use crate::Ui;
use crate::which::ResolvedTask;
use wf_app::{CliExitCode, CommandError};
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_report::record::{AgentCalls, exchange_text};
use wf_store::{BlobStore, StateFolder, StoreDurability, StoreReader};

/// Prints the exchanges of the agents of a run, or of a task, with their models and tools.
pub fn print_calls(
    ui: &Ui,
    reader: &StoreReader,
    run: &RunId,
    selected: Option<&ResolvedTask>,
) -> Result<(), CommandError> {
    let folder = StateFolder::new(&ui.host.workspace().state).calls(run);
    let store = BlobStore::new(folder, StoreDurability::Normal);
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

/// Reads a body.
fn body(store: &BlobStore, digest: &Sha256Digest) -> Result<Value, String> {
    let bytes = store.read(digest).map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", store.path(digest).display()))
}
