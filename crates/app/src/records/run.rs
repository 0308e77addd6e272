use std::{cell::RefCell, collections::HashMap, sync::Arc};

use serde_json::Value;

use crate::{
    CommandError, StateReader, Workspace, names::name_parent, specs::load::recorded_plan_if_valid,
    state::record,
};
use wf_base::name::RunId;
use wf_core::machine::Attempt;
use wf_exec::log::RunLogs;
use wf_model::JsonObject;
use wf_report::record::{RunRecord, trust};
use wf_store::StateFolder;

/// Reads the stored record of a run, and of those nested in it.
pub fn load_record(state: &StateReader, run: &RunId) -> Result<RunRecord, CommandError> {
    record::load_record(state.store(), run)
}

/// Reads the record of a run of a workspace that has just ended.
pub fn record_of_run(workspace: &Workspace, run: &RunId) -> Result<RunRecord, CommandError> {
    load_record(&StateReader::open(workspace)?, run)
}

/// Gives the attempt a recorded run is nested in the name users read.
pub fn name_parent_of(state: &StateReader, record: &mut RunRecord) -> Result<(), CommandError> {
    Ok(name_parent(state.store(), &mut record.run)?)
}

/// Returns a record as one document, with the trust in the values of its plan.
pub fn record_document(state: &StateReader, record: &RunRecord) -> Result<Value, CommandError> {
    let mut document = record.document();
    let plan = recorded_plan_if_valid(state.store(), &record.run.id)?;
    if let (Some(plan), Some(fields)) = (plan, document.as_object_mut()) {
        fields.insert("taint".into(), trust(&plan));
    }
    Ok(document)
}

/// Returns the parameters of a run from its start.
pub fn recorded_params(workspace: &Workspace, run: &RunId) -> Result<JsonObject, CommandError> {
    Ok(StateReader::open(workspace)?.store().runs().get(run)?.params)
}

/// The ends of the logs of attempts.
pub struct LogTails {
    folder: StateFolder,
    logs: RefCell<HashMap<RunId, Arc<RunLogs>>>,
}

impl LogTails {
    /// Returns those of a workspace.
    pub fn of_workspace(workspace: &Workspace) -> Self {
        Self { folder: StateFolder::new(&workspace.state), logs: RefCell::default() }
    }

    /// Returns the last lines of an attempt; none if they cannot be read.
    pub fn last_lines(&self, run: &RunId, attempt: &Attempt, count: usize) -> String {
        let mut logs = self.logs.borrow_mut();
        let logs = logs.entry(run.clone()).or_insert_with(|| RunLogs::new(self.folder.run(run)));
        logs.tail(attempt, count).unwrap_or_default()
    }
}
