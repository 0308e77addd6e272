//! The history of a retried run, restored from its record.

use std::sync::Arc;

use serde_json::Value;

use crate::{CommandError, specs::load};
use wf_base::name::{RunId, TaskPath};
use wf_engine::reuse::{RepeatChoice, RepeatRequest, RepeatedRun};
use wf_model::{JsonObject, Plan, StepWork};
use wf_store::{RunRow, StoreReader};

/// Returns the run repeated by a run, and the results it reuses, by the plan it was recorded
/// with. `None` if it repeats none.
pub fn retried_run(
    reader: &StoreReader,
    row: &RunRow,
    current_plan: &Arc<Plan>,
) -> Result<Option<RepeatedRun>, CommandError> {
    let Some(old) = &row.retry_of else {
        return Ok(None);
    };
    let repeated_run = repeated_run(reader, old, current_plan, &reader.runs().config(&row.id)?, &row.params)?;
    Ok(Some(as_recorded(reader, repeated_run, &row.id)?))
}

/// Returns a recorded run as one repeats it that has a plan, a configuration with the user's choice, and parameters.
pub fn repeated_run(
    reader: &StoreReader,
    old: &RunId,
    latest_plan: &Arc<Plan>,
    config: &Value,
    params: &JsonObject,
) -> Result<RepeatedRun, CommandError> {
    let request = RepeatRequest {
        run: Some(old.clone()),
        earlier_plan: load::recorded_plan_if_valid(reader, old)?,
        current_plan: Arc::clone(latest_plan),
        choice: RepeatChoice::recorded(config),
    };
    Ok(RepeatedRun::from_request(reader, request, params)?)
}

/// Returns the results a run reuses, as decided when it started: files may have changed since.
fn as_recorded(
    reader: &StoreReader,
    repeated_run: RepeatedRun,
    run: &RunId,
) -> Result<RepeatedRun, CommandError> {
    let events = reader.events().of_run(run, 0)?;
    Ok(repeated_run.as_recorded(events.iter().map(|(_, event)| event)))
}

/// Does the same for a run that may be nested in another. Also `None` where the record does not
/// tell any more.
pub fn retried_run_of_nested(reader: &StoreReader, run: &RunId) -> Result<Option<RepeatedRun>, CommandError> {
    let row = reader.runs().get(run)?;
    let Some((above, attempt)) = &row.parent else {
        let Some(now) = load::recorded_plan_if_valid(reader, run)? else {
            return Ok(None);
        };
        return retried_run(reader, &row, &now);
    };
    let Some(outer) = retried_run_of_nested(reader, above)? else {
        return Ok(None);
    };
    // The child run of an agent repeats nothing.
    let subject = attempt.parse::<TaskPath>().ok().filter(|subject| subject.above.is_empty());
    let Some(subject) = subject else {
        return Ok(None);
    };
    let spot = subject.spot;
    let item = spot.item.and_then(|item| item.parse::<u32>().ok());
    let rows = reader.steps().of_run(above)?;
    let step_row = rows.into_iter().find(|row| row.step == spot.step && row.item == item);
    let key = step_row.and_then(|row| row.item_key);
    let uses = outer.plan().find(spot.step.as_str());
    let uses = uses.is_some_and(|ix| matches!(outer.plan().step(ix).work, StepWork::Uses(_)));
    if !uses {
        return Ok(None);
    }
    let nested = outer.nested(reader, &spot.step, key.as_deref(), Some(&row.params))?;
    let nested = nested.map(|nested| as_recorded(reader, nested, run));
    nested.transpose()
}

/// The outermost run a run is part of; itself, if it is not nested.
pub fn outermost_run(reader: &StoreReader, run: &RunId) -> Result<RunId, CommandError> {
    let mut top = run.clone();
    while let Some((above, _)) = reader.runs().get(&top)?.parent {
        top = above;
    }
    Ok(top)
}
