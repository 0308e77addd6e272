//! The reasons for what became of the tasks of a run.

use std::sync::Arc;

use super::tasks::ResolvedTask;
use crate::{
    Caller, CommandError, RunOptions, StateReader,
    runs::lineage::{outermost_run, retried_run_of_nested},
    specs::load,
};
use wf_base::name::{PlanId, RunId};
use wf_core::{
    goal::ReconciliationPart,
    machine::{EventKind, Round},
};
use wf_engine::reuse::StepFate;
use wf_exec::cache::{differences, miss_reason};
use wf_model::Plan;
use wf_report::record::{CacheExplanation, RunRecord};

/// The reasons for the result of a task, besides those in the record of its run.
pub struct TaskReasons {
    /// The use of the cache, if it asked that.
    pub cache: Option<CacheExplanation>,
    /// The reason why it ran again, if its run repeats another.
    pub rerun: Option<String>,
}

impl TaskReasons {
    /// Reads them.
    pub fn read(state: &StateReader, record: &RunRecord, task: &ResolvedTask) -> Result<Self, CommandError> {
        Ok(Self { cache: cache(state, record, task)?, rerun: rerun_reason(state, task)? })
    }
}

/// Returns the recorded plan of a run.
pub fn recorded_plan(
    caller: &dyn Caller,
    state: &StateReader,
    run: &RunId,
) -> Result<Arc<Plan>, CommandError> {
    load::recorded_plan(caller, state.store(), run)
}

/// Returns the finished rounds of the controller of a run.
pub fn recorded_rounds(state: &StateReader, run: &RunId) -> Result<Vec<Box<Round>>, CommandError> {
    let events = state.store().events().of_kinds(run, &["round_completed"])?.into_iter();
    let rounds = events.filter_map(|event| match event.fact {
        EventKind::RoundCompleted(round) => Some(round),
        _ => None,
    });
    Ok(rounds.collect())
}

/// True if a run is the check run of a goal, which has no steps.
pub fn is_check_run(state: &StateReader, run: &RunId) -> Result<bool, CommandError> {
    Ok(state.store().runs().get(run)?.goal == Some(ReconciliationPart::Look))
}

fn rerun_reason(state: &StateReader, task: &ResolvedTask) -> Result<Option<String>, CommandError> {
    let repeated_run = retried_run_of_nested(state.store(), &task.run)?;
    let fate = repeated_run.as_ref().and_then(|repeated_run| repeated_run.fate(&task.task_id.step));
    Ok(match fate {
        Some(StepFate::Rerun(again)) => Some(again.reason.to_string()),
        _ => None,
    })
}

fn cache(
    state: &StateReader,
    record: &RunRecord,
    task: &ResolvedTask,
) -> Result<Option<CacheExplanation>, CommandError> {
    let (reader, step) = (state.store(), &task.task_id.step);
    let row = record.steps.iter().find(|row| row.step == *step && row.item == task.task_id.item);
    let key = row.and_then(|row| row.item_key.as_deref());
    let Some((hit, parts)) = reader.cache().lookup(&task.run, step, key)? else {
        return Ok(None);
    };
    let earlier = match PlanId::parse(&record.run.plan) {
        Ok(plan) if !hit => reader.cache().last_lookup(&plan, step, key, &task.run)?,
        _ => None,
    };
    let used = row.and_then(|row| row.cache_key.as_deref());
    let used = match used.and_then(|used| used.parse().ok()) {
        Some(used) => reader.cache().find(&used)?.and_then(Result::ok),
        None => None,
    };
    let top = outermost_run(reader, &task.run)?;
    Ok(Some(CacheExplanation {
        reuses: !RunOptions::recorded(&reader.runs().config(&top)?).no_cache,
        hit,
        producer: used.map(|entry| entry.run),
        changes: earlier.as_ref().map(|(_, old)| changes(old, &parts)).unwrap_or_default(),
        refused: miss_reason(&parts).map(str::to_owned),
        compared_run: earlier.map(|(run, _)| run),
    }))
}

/// The changes since another run queried the cache; if there are none, the reason it left no result.
fn changes(old: &serde_json::Value, new: &serde_json::Value) -> Vec<String> {
    match differences(old, new) {
        none if none.is_empty() => miss_reason(old).map(str::to_owned).into_iter().collect(),
        changes => changes,
    }
}
