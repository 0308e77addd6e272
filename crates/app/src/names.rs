//! The names of tasks and attempts as users read them.

use crate::StateReader;
use wf_base::name::RunId;
use wf_core::machine::TaskId;
use wf_store::{RunRow, StoreError, StoreReader};

/// Returns a task of a run as it is shown to users.
pub(crate) fn task_name(reader: &StoreReader, run: &RunId, task_id: &TaskId) -> Result<String, StoreError> {
    if task_id.item.is_none() {
        return Ok(task_id.to_string());
    }
    let step_row = reader.steps().find(run, task_id)?;
    Ok(task_id.display_name(step_row.and_then(|row| row.item_key).as_deref()))
}

/// Returns a task of a run as it is shown to users, by its text. The item keys of a deleted run are
/// unknown: the numbers stay.
pub(crate) fn task_name_from_text(reader: Option<&StoreReader>, run: &RunId, place: &str) -> String {
    let task = reader.zip(place.parse::<TaskId>().ok());
    let called = task.and_then(|(reader, place)| task_name(reader, run, &place).ok());
    called.unwrap_or_else(|| place.to_owned())
}

/// Does the same with a state, if it is open.
pub fn recorded_task_name(state: Option<&StateReader>, run: &RunId, place: &str) -> String {
    task_name_from_text(state.map(StateReader::store), run, place)
}

/// Gives the attempt a run is nested in the name users read. Of a run an agent dispatched it is the attempt
/// of the agent.
pub(crate) fn name_parent(reader: &StoreReader, row: &mut RunRow) -> Result<(), StoreError> {
    if let Some((above, attempt)) = &mut row.parent {
        let agent = row.dispatched.as_ref().map(|own| own.attempt.to_string());
        *attempt = attempt_name_from_text(reader, above, agent.as_deref().unwrap_or(attempt))?;
    }
    Ok(())
}

/// Returns an attempt of a run as it is shown to users, by its text: `build[linux]#2`.
pub(crate) fn attempt_name_from_text(
    reader: &StoreReader,
    run: &RunId,
    attempt: &str,
) -> Result<String, StoreError> {
    let (place, number) = attempt.rsplit_once('#').unwrap_or((attempt, ""));
    let shown = match place.parse::<TaskId>() {
        Ok(place) => task_name(reader, run, &place)?,
        Err(_) => place.to_owned(),
    };
    Ok(if number.is_empty() { shown } else { format!("{shown}#{number}") })
}
