//! The tasks of a run, as a person names them.

use std::collections::BTreeSet;

use crate::{CliExitCode, CommandError, StateReader};
use wf_base::{
    diag::nearest,
    name::{RunId, TaskPath, TaskRef},
};
use wf_core::machine::TaskId;
use wf_model::Plan;
use wf_store::StoreReader;

/// A step of a run, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTask {
    /// The run the step belongs to; a nested run if it was named so.
    pub run: RunId,
    /// The step or item.
    pub task_id: TaskId,
    /// The attempt, if one was named.
    pub attempt: Option<u32>,
}

/// Finds a step below a run, in nested runs where it is named so.
pub fn find_step(
    state: &StateReader,
    run: RunId,
    task_path: &TaskPath,
) -> Result<ResolvedTask, CommandError> {
    find_in_store(run, task_path, state.store())
}

/// Returns the task of a run with a name, `probe[eu]` by the key of its item or `probe[2]` by its number; `None` if there is none.
pub(crate) fn named_task(
    state: &StateReader,
    run: &RunId,
    name: &str,
) -> Result<Option<TaskId>, CommandError> {
    let Some(TaskPath { above, spot, attempt: None }) = name.parse().ok() else {
        return Ok(None);
    };
    match find_task(run, &spot, state.store()) {
        Ok(task_id) if above.is_empty() => Ok(Some(task_id)),
        Err(error) if error.exit != CliExitCode::Usage => Err(error),
        _ => Ok(None),
    }
}

pub(super) fn find_in_store(
    run: RunId,
    task_path: &TaskPath,
    reader: &StoreReader,
) -> Result<ResolvedTask, CommandError> {
    let mut run = run;
    let mut above = task_path.above.iter();
    while let Some(spot) = above.next() {
        let task = find_task(&run, spot, reader)?.to_string();
        let mut nested = last_nested_run(&run, &task, reader)?;
        // A child run of an agent is named by its step and its own id.
        if let (None, Some(child)) = (&nested, above.clone().next()) {
            nested = last_nested_run(&run, &format!("{task}/{child}"), reader)?;
            above.next();
        }
        let none = || usage_error(&format!("no run is nested in `{task}` of run {}", run.short()));
        run = nested.ok_or_else(none)?;
    }
    Ok(ResolvedTask { task_id: find_task(&run, &task_path.spot, reader)?, run, attempt: task_path.attempt })
}

/// Refuses a task unknown to a plan: of another step, or an item of a step with a single task.
pub fn require_task(plan: &Plan, task_id: &TaskId) -> Result<(), CommandError> {
    let name = task_id.step.as_str();
    let step = plan.find(name).map(|ix| plan.step(ix)).ok_or_else(|| unknown_step(plan, name))?;
    match task_id.item {
        Some(item) if !step.is_repeated() => Err(unknown_item(name, &item.to_string())),
        _ => Ok(()),
    }
}

/// The failure of a step unknown to a plan.
pub fn unknown_step(plan: &Plan, step: &str) -> CommandError {
    let error = usage_error(&format!("the plan `{}` has no step `{step}`", plan.id()));
    match nearest(step, plan.steps().iter().map(|step| step.id.as_str())) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

/// The last run nested in a task.
fn last_nested_run(run: &RunId, name: &str, reader: &StoreReader) -> Result<Option<RunId>, CommandError> {
    let of = |attempt: &str| attempt.rsplit_once('#').is_some_and(|(place, _)| place == name);
    let children = reader.runs().children(run)?;
    let latest = children.into_iter().rfind(|(_, attempt)| of(attempt));
    Ok(latest.map(|(child, _)| child))
}

/// A task by its step and the number or key of its item.
fn find_task(run: &RunId, task_ref: &TaskRef, reader: &StoreReader) -> Result<TaskId, CommandError> {
    let Some(item) = &task_ref.item else {
        return Ok(TaskId::of_step(&task_ref.step));
    };
    let steps = reader.steps().of_run(run)?;
    let own = steps.iter().filter(|row| row.step == task_ref.step);
    let by_key = own.filter(|row| row.item_key.as_ref() == Some(item)).find_map(|row| row.item);
    let items: BTreeSet<u32> =
        steps.iter().filter(|row| row.step == task_ref.step).filter_map(|row| row.item).collect();
    let by_number = || item.parse().ok().filter(|number| items.is_empty() || items.contains(number));
    // Names are read as they are shown: a key takes precedence over a number.
    let item_index = by_key.or_else(by_number);
    let item_index = item_index.ok_or_else(|| unknown_item(task_ref.step.as_str(), item))?;
    Ok(TaskId { step: task_ref.step.clone(), item: Some(item_index) })
}

fn unknown_item(step: &str, item: &str) -> CommandError {
    usage_error(&format!("`{step}` has no item `{item}`"))
}

fn usage_error(message: &str) -> CommandError {
    CommandError::new(CliExitCode::Usage, message)
}
