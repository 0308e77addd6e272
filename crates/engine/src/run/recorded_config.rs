//! The facts about a run in its recorded configuration, which are known also once other runs are pruned: its lineage,
//! and the worktree it has for itself.
//!
//! The lineage of a run is the first run and those that retry it, one after another. The idempotency keys of its steps are
//! those of the first run.

use serde_json::Value;

use wf_base::name::RunId;
use wf_store::{StoreError, StoreReader};

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

/// True if a run worked in a worktree where a session does not work. The files here have other inodes and times than those there.
pub(crate) fn is_elsewhere(session: &EngineSession, run: &RunId) -> Result<bool, StoreError> {
    let config = session.store.log_reader()?.runs().config(run)?;
    let folder = config.get(WORKTREE).and_then(|worktree| worktree.get(WORKTREE_FOLDER)?.as_str());
    Ok(folder.is_some_and(|folder| !session.root.starts_with(folder)))
}
