use serde::Serialize;
use serde_json::{Value, json};

use super::view::name_tasks;
use crate::{
    CommandError,
    names::attempt_name_from_text,
    state::{reader::StateReader, record::load_record_head},
    views::log::{LogTailView, log_tail},
};
use wf_base::name::RunId;
use wf_core::machine::{Attempt, ChildId, Standing, StepState, TaskId};
use wf_report::record::{GapTrajectory, NestedRunRecord, RunRecord, row_display_name};
use wf_store::StoreReader;

/// A task of a run: all that was done for it.
#[derive(Debug, Serialize)]
pub struct TaskView {
    /// The run as `wf show --json` has it, with this task and its attempts and checks alone.
    pub record: Value,
    /// The task, as it is shown to people.
    pub name: String,
    /// The task, as an address names it.
    pub address: String,
    /// The end of the output of each attempt.
    pub logs: Vec<LogTailView>,
    /// The runs nested in it, as `wf runs --json` has them.
    pub nested: Vec<Value>,
    /// Its first items, if it is a repeated step: those that failed before all others.
    pub items: Vec<TaskItem>,
    /// True if it has more.
    pub has_more_items: bool,
}

/// An item of a repeated step.
#[derive(Debug, Serialize)]
pub struct TaskItem {
    /// Its name for people: `probe[windows]`.
    pub name: String,
    /// The same in an address: `probe[2]`.
    pub address: String,
    pub state: &'static str,
    pub standing: Standing,
    pub reason: String,
}

/// The most items of a step that its page leads to.
const MAX_ITEMS: usize = 100;

/// Returns a task of a run, by its step and the number of its item: `probe[2]`; `None` if there is none.
pub fn task_view(reader: &StateReader, run: &RunId, name: &str) -> Result<Option<TaskView>, CommandError> {
    let Ok(place) = name.parse::<TaskId>() else {
        return Ok(None);
    };
    let store = reader.store();
    let Some(step) = store.steps().find(run, &place)? else {
        return Ok(None);
    };
    let mut record = load_record_head(reader, run)?;
    record.steps = vec![step];
    let mut record = record.with_waiting_tasks();
    record.attempts = store.attempts().of_task(run, &place)?;
    record.checks = store.checks().of_task(run, &place)?;
    record.gaps = GapTrajectory::of_checks(&record.checks);
    record.artifacts = store.artifacts().of_task(run, &place)?;
    record.agents.retain(|calls| calls.attempt.task_id == place);
    let attempts = record.attempts.iter().map(|row| Attempt { task_id: place.clone(), attempt: row.attempt });
    let logs = attempts.map(|attempt| log_tail(reader, run, attempt)).collect::<Result<_, _>>()?;
    let name = record.task_display_name(&place);
    let own = |nested: &NestedRunRecord| {
        nested.attempt.parse::<ChildId>().map_or_else(
            |_| nested.attempt.rsplit_once('#').is_some_and(|(above, _)| above == place.to_string()),
            |child| child.attempt.task_id == place,
        )
    };
    record.nested.retain(own);
    let mut nested = nested_rows(&record);
    name_attempts(store, run, &mut nested)?;
    record.nested.clear();
    let mut items = if place.item.is_some() { Vec::new() } else { items_of(reader, &record, &place)? };
    let has_more_items = items.len() > MAX_ITEMS;
    items.truncate(MAX_ITEMS);
    let (mut record, address) = (record.document(), place.to_string());
    name_tasks(store, run, &mut record)?;
    Ok(Some(TaskView { record, name, address, logs, nested, items, has_more_items }))
}

/// Returns the first items of a step, and one more than are shown if there are so many.
fn items_of(reader: &StateReader, record: &RunRecord, place: &TaskId) -> Result<Vec<TaskItem>, CommandError> {
    let (table, run) = (reader.store().steps(), &record.run.id);
    let mut rows = table.items(run, &place.step, Some(StepState::Failed), MAX_ITEMS + 1)?;
    let others = table.items(run, &place.step, None, MAX_ITEMS + 1)?;
    rows.extend(others.into_iter().filter(|row| row.state != StepState::Failed));
    let items = rows.into_iter().map(|row| {
        let address = TaskId { step: row.step.clone(), item: row.item }.to_string();
        TaskItem {
            name: row_display_name(&row),
            address,
            state: record.life.shown_state(row.state).as_str(),
            standing: row.standing,
            reason: row.reason,
        }
    });
    Ok(items.collect())
}

/// Gives the attempts that runs are nested in the names that people read.
pub(super) fn name_attempts(
    store: &StoreReader,
    run: &RunId,
    nested_rows: &mut [Value],
) -> Result<(), CommandError> {
    for row in nested_rows {
        if let Some(attempt) = row["attempt"].as_str() {
            row["attempt"] = attempt_name_from_text(store, run, attempt)?.into();
        }
    }
    Ok(())
}

/// Returns the rows of the runs nested in a run.
pub(super) fn nested_rows(record: &RunRecord) -> Vec<Value> {
    let rows = record.nested.iter().map(|nested| {
        let mut document = nested.record.document();
        json!({"attempt": nested.attempt, "run": document.get_mut("run").map(Value::take)})
    });
    rows.collect()
}
