//! The lineage of a run: the first run, and those that retry it, one after another. The idempotency keys of its steps are those
//! of the first run.
//!
//! It is part of the configuration that a run is recorded with, so it is known also once the first run is pruned.

use serde_json::Value;

use wf_base::name::{Name, RunId};
use wf_core::machine::TaskId;
use wf_exec::environment::idempotency_key;
use wf_store::{StoreError, StoreReader};

use super::context::RunContext;

/// The key of the first run of the lineage; absent: it is the run itself.
const FIRST_RUN: &str = "first_run";

/// Adds the lineage of a run to the configuration of another that retries it.
pub fn continue_lineage(
    mut config: Value,
    reader: &StoreReader,
    retried: &RunId,
) -> Result<Value, StoreError> {
    let first = first_run(&reader.config(retried)?, retried);
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
