//! The selection of steps to run again.

use crate::records::unknown_step;
use crate::{CommandError, usage_error};
use wf_base::diag::nearest;
use wf_base::name::{RunId, TaskPath, TaskRef};
use wf_engine::reuse::{RepeatChoice, items, nested_run};
use wf_model::{Plan, Step, StepRepetition, StepWork};
use wf_store::StoreReader;

/// The selection of steps to run again besides those that did not succeed, as a person names them.
#[derive(Clone, Debug, Default)]
pub struct StepSelectionNames {
    /// True if every step runs again.
    pub all: bool,
    /// The steps that run again with all their dependents.
    pub from: Vec<String>,
    /// The steps that run again, and nothing else that is not selected.
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
    /// Resolves the selection for a run that a plan is to repeat.
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
fn task_path(text: &str, mut place: StepLookup<'_>) -> Result<Vec<TaskRef>, CommandError> {
    let subject: TaskPath = text.parse().map_err(|error| usage_error(format!("{error}")))?;
    if subject.attempt.is_some() {
        return Err(usage_error(format!("`{text}` names an attempt; name the step")));
    }
    let mut path = Vec::new();
    for spot in subject.above {
        let (spot, step) = find_task(&place, spot)?;
        let StepWork::Uses(uses) = &step.work else {
            return Err(usage_error(format!("`{spot}` does not use a plan, so it has no inner steps")));
        };
        let run = match &place.run {
            Some(run) => nested_run(place.reader, run, &spot.step, spot.item.as_deref())?,
            None => None,
        };
        place = StepLookup { run, plan: &uses.plan, ..place };
        path.push(spot);
    }
    path.push(find_task(&place, subject.spot)?.0);
    Ok(path)
}

/// A step of a plan, and the item by its key.
fn find_task<'a>(place: &StepLookup<'a>, spot: TaskRef) -> Result<(TaskRef, &'a Step), CommandError> {
    let id = spot.step.as_str();
    let Some(ix) = place.plan.find(id) else {
        return Err(unknown_step(place.plan, id));
    };
    let step = place.plan.step(ix);
    if step.on_escalation {
        return Err(usage_error(format!(
            "`{id}` runs only once a gate has blocked and escalated to it: it cannot be selected"
        )));
    }
    let Some(named) = &spot.item else {
        return Ok((spot, step));
    };
    if matches!(step.fan, StepRepetition::Once) {
        return Err(usage_error(format!("`{id}` has no items: it is not a repeated step")));
    }
    let rows = match &place.run {
        Some(run) => items(place.reader, run, &spot.step)?,
        None => Vec::new(),
    };
    let number: Option<u32> = named.parse().ok();
    let by_key = rows.iter().find(|row| row.item_key.as_ref() == Some(named));
    let by_number = || rows.iter().find(|row| number.is_some() && row.item == number);
    let found = by_key.or_else(by_number).and_then(|row| row.item_key.clone());
    let Some(key) = found else {
        let keys = rows.iter().filter_map(|row| row.item_key.as_deref());
        let near = nearest(named, keys);
        return Err(with_suggestion(usage_error(format!("`{id}` has no item `{named}`")), near));
    };
    let step_name = spot.step;
    Ok((TaskRef { step: step_name, item: Some(key) }, step))
}

fn with_suggestion(failure: CommandError, near: Option<&str>) -> CommandError {
    match near {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    }
}
