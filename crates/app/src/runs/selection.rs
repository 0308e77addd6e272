//! The selection of steps to run again.

use crate::{CommandError, records::unknown_step, usage_error};
use wf_base::{
    diag::nearest,
    name::{RunId, TaskPath, TaskRef},
};
use wf_engine::reuse::{RepeatChoice, items, nested_run};
use wf_model::{Plan, Step, StepRepetition, StepWork};
use wf_store::StoreReader;

/// The selection of steps to run again besides those that did not succeed, as a person names them.
#[derive(Clone, Debug, Default)]
pub struct StepSelectionNames {
    /// True if every step runs again.
    pub all: bool,
    /// The steps to run again with all their dependents.
    pub from: Vec<String>,
    /// The steps to run again, and nothing else unselected.
    pub only: Vec<String>,
    /// The steps whose dependents run again, but not they.
    pub downstream: Vec<String>,
}

/// A plan in which steps are looked up.
struct StepLookup<'a> {
    reader: &'a StoreReader,
    run: Option<RunId>,
    plan: &'a Plan,
}

impl StepSelectionNames {
    /// Resolves the selection for a run, to be repeated by a plan.
    pub(super) fn resolve(
        &self,
        reader: &StoreReader,
        run: &RunId,
        plan: &Plan,
    ) -> Result<RepeatChoice, CommandError> {
        let paths = |texts: &[String]| {
            let paths = texts.iter().map(|text| {
                let run = Some(run.clone());
                task_path(text, StepLookup { reader, run, plan })
            });
            paths.collect::<Result<Vec<_>, _>>()
        };
        Ok(RepeatChoice {
            all: self.all,
            narrow: !self.only.is_empty(),
            from: paths(&self.from)?,
            only: paths(&self.only)?,
            downstream: paths(&self.downstream)?,
        })
    }
}

/// The path to a step, with the keys of the items on it.
fn task_path(text: &str, mut lookup: StepLookup<'_>) -> Result<Vec<TaskRef>, CommandError> {
    let task_path: TaskPath = text.parse().map_err(|error| usage_error(format!("{error}")))?;
    if task_path.attempt.is_some() {
        return Err(usage_error(format!("`{text}` names an attempt; name the step")));
    }
    let mut path = Vec::new();
    for spot in task_path.above {
        let (spot, step) = find_task(&lookup, spot)?;
        let StepWork::Uses(uses) = &step.work else {
            return Err(usage_error(format!("`{spot}` does not use a plan, so it has no inner steps")));
        };
        let run = match &lookup.run {
            Some(run) => nested_run(lookup.reader, run, &spot.step, spot.item.as_deref())?,
            None => None,
        };
        lookup = StepLookup { run, plan: &uses.plan, ..lookup };
        path.push(spot);
    }
    path.push(find_task(&lookup, task_path.spot)?.0);
    Ok(path)
}

/// A step of a plan, and the item by its key.
fn find_task<'a>(lookup: &StepLookup<'a>, task_ref: TaskRef) -> Result<(TaskRef, &'a Step), CommandError> {
    let id = task_ref.step.as_str();
    let Some(ix) = lookup.plan.find(id) else {
        return Err(unknown_step(lookup.plan, id));
    };
    let step = lookup.plan.step(ix);
    if step.on_escalation {
        return Err(usage_error(format!(
            "`{id}` runs only once a gate has blocked and escalated to it: it cannot be selected"
        )));
    }
    let Some(named) = &task_ref.item else {
        return Ok((task_ref, step));
    };
    if matches!(step.fan, StepRepetition::Once) {
        return Err(usage_error(format!("`{id}` has no items: it is not a repeated step")));
    }
    let rows = match &lookup.run {
        Some(run) => items(lookup.reader, run, &task_ref.step)?,
        None => Vec::new(),
    };
    let number: Option<u32> = named.parse().ok();
    let by_key = rows.iter().find(|row| row.item_key.as_ref() == Some(named));
    let by_number = || rows.iter().find(|row| number.is_some() && row.item == number);
    let item_key = by_key.or_else(by_number).and_then(|row| row.item_key.clone());
    let Some(key) = item_key else {
        let keys = rows.iter().filter_map(|row| row.item_key.as_deref());
        let near = nearest(named, keys);
        return Err(with_suggestion(usage_error(format!("`{id}` has no item `{named}`")), near));
    };
    let step_name = task_ref.step;
    Ok((TaskRef { step: step_name, item: Some(key) }, step))
}

fn with_suggestion(error: CommandError, near: Option<&str>) -> CommandError {
    match near {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    }
}
