//! The facts about a run in its recorded configuration, which are known also once other runs are pruned: its lineage,
//! and the worktree it has for itself.
//!
//! The lineage of a run is the first run and those that retry it, one after another. The idempotency keys of its steps are
//! those of the first run.

use serde_json::Value;

use wf_base::name::{Name, RunId};
use wf_core::machine::TaskId;
use wf_exec::environment::idempotency_key;
use wf_store::{StoreError, StoreReader};

use super::context::RunContext;
use crate::session::EngineSession;

/// The key for the worktree a run has for itself, in its recorded configuration.
pub const WORKTREE: &str = "worktree";

/// The key for its folder.
pub const WORKTREE_FOLDER: &str = "folder";

/// The key of the first run of the lineage; absent: it is the run itself.
const FIRST_RUN: &str = "first_run";

/// Adds the lineage of a run to the configuration of another that retries it.
pub fn continue_lineage(
    mut config: Value,
    reader: &StoreReader,
    retried: &RunId,
) -> Result<Value, StoreError> {
    let first = first_run(&reader.runs().config(retried)?, retried);
    if let Some(fields) = config.as_object_mut() {
        fields.insert(FIRST_RUN.into(), Value::String(first));
    }
    Ok(config)
}

/// Returns the first run of the lineage of a run with a configuration.
pub(crate) fn first_run(config: &Value, run: &RunId) -> String {
    let first = config.get(FIRST_RUN).and_then(Value::as_str);
    first.unwrap_or(run.as_str()).to_owned()
}

impl RunContext {
    /// Returns the idempotency key of a task, and of what is nested in it under a name.
    pub(crate) fn idempotency_key(&self, task: &TaskId, inside: Option<&Name>) -> String {
        let files = self.files();
        let item = task.item.and_then(|item| files.items.get(&task.step)?.get(item as usize));
        let key = idempotency_key(&self.key_scope, task.step.as_str(), item.map(|item| item.key.as_str()));
        inside.map_or_else(|| key.clone(), |name| idempotency_key(&key, name.as_str(), None))
    }
}

/// True if a run worked in a worktree where a session does not work. The files here have other inodes and times than those there.
pub(crate) fn is_elsewhere(session: &EngineSession, run: &RunId) -> Result<bool, StoreError> {
    let config = session.store.log_reader()?.runs().config(run)?;
    let folder = config.get(WORKTREE).and_then(|worktree| worktree.get(WORKTREE_FOLDER)?.as_str());
    Ok(folder.is_some_and(|folder| !session.root.starts_with(folder)))
}
