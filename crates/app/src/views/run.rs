use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::graph::{RunGraph, run_graph};
use super::log::{LogTailView, log_tail};
use super::requests::{RequestView, open_requests_of};
use crate::record::load_record;
use crate::{CommandError, load};
use wf_base::keyword::Keyword;
use wf_base::name::RunId;
use wf_base::time::Moment;
use wf_core::machine::{Attempt, ChildId, StepState, TaskId};
use wf_core::undo::refuse_second;
use wf_report::draw::rounds_plot;
use wf_report::record::{ModelSpending, NestedRunRecord, RunRecord};
use wf_store::{StepRow, StoreReader};

/// The most tasks of a page.
const PAGE_TASKS: usize = 200;

/// A choice of the tasks of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFilter {
    /// The only state; `None`: all.
    pub state: Option<StepState>,
    /// The number of the page, from 0.
    pub page: usize,
    /// The group of steps that is unfolded in the picture of a large plan.
    pub open: Option<usize>,
}

impl StepFilter {
    /// Returns a filter by the word for a state; another word filters nothing.
    pub fn of(state: &str, page: usize, open: Option<usize>) -> Self {
        Self { state: StepState::from_word(state), page, open }
    }
}

/// A run, with one page of its tasks.
#[derive(Debug, Serialize)]
pub struct RunView {
    /// The run as `wf show --json` has it, with the tasks of the page and their attempts and checks alone.
    pub record: Value,
    /// The number of tasks in each state.
    pub states: BTreeMap<&'static str, usize>,
    /// The number of tasks that the filter permits.
    pub found: usize,
    /// The number of the page, from 0.
    pub page: usize,
    /// The number of the last page.
    pub last_page: usize,
    /// The runs nested in it, as `wf runs --json` has them, each with the `attempt` that it is nested in.
    pub nested: Vec<Value>,
    /// The requests of the run that nobody has answered.
    pub requests: Vec<RequestView>,
    /// Its plan as a picture, if that is still a valid plan.
    pub graph: Option<RunGraph>,
    /// The rounds of its controller as an SVG picture, if it has any.
    pub plot: Option<String>,
    /// Its model calls and those of nested runs, by caller and model.
    pub spending: Vec<ModelSpending>,
    /// The moment until which it can be undone, unless it was, or is being undone.
    pub undo_until: Option<Moment>,
    /// True if a run of the same plan was recorded before it.
    pub has_earlier: bool,
}

/// Returns a run with a page of its tasks.
pub fn run_view(reader: &StoreReader, run: &RunId, filter: StepFilter) -> Result<RunView, CommandError> {
    let mut record = load_record(reader, run)?;
    let plan = load::recorded_plan_if_valid(reader, run)?;
    let graph = plan.map(|plan| run_graph(&plan, &record, filter.open));
    let mut states = BTreeMap::new();
    for row in &record.steps {
        *states.entry(row.state.as_str()).or_insert(0) += 1;
    }
    let is_found = |row: &StepRow| filter.state.is_none_or(|state| row.state == state);
    let found = record.steps.iter().filter(|row| is_found(row)).count();
    let last_page = found.saturating_sub(1) / PAGE_TASKS;
    let page = filter.page.min(last_page);
    let shown: Vec<StepRow> = record.steps.drain(..).filter(is_found).collect();
    record.steps = shown.into_iter().skip(page * PAGE_TASKS).take(PAGE_TASKS).collect();
    keep_tasks(&mut record);
    let spending = record.spending();
    let nested = take_nested(&mut record);
    record.agents.clear();
    let open = refuse_second(&record.undone_by).is_ok();
    let undo_until = record.run.undo.as_ref().filter(|_| open).map(|offer| offer.until);
    Ok(RunView {
        undo_until,
        states,
        found,
        page,
        last_page,
        nested,
        requests: open_requests_of(reader, run)?,
        graph,
        plot: rounds_plot(&record.held.rounds),
        spending,
        has_earlier: reader.run_before(run)?.is_some(),
        record: record.document(),
    })
}

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
}

/// Returns a task of a run, by its step and the number of its item: `probe[2]`; `None` if there is none.
pub fn task_view(reader: &StoreReader, run: &RunId, name: &str) -> Result<Option<TaskView>, CommandError> {
    let Ok(place) = name.parse::<TaskId>() else {
        return Ok(None);
    };
    let mut record = load_record(reader, run)?;
    record.steps.retain(|row| row.step == place.step && row.item == place.item);
    if record.steps.is_empty() {
        return Ok(None);
    }
    keep_tasks(&mut record);
    record.checks.retain(|row| row.step.is_some());
    record.agents.retain(|calls| calls.attempt.place == place);
    let attempts = record.attempts.iter().map(|row| Attempt { place: place.clone(), attempt: row.attempt });
    let logs = attempts.map(|attempt| log_tail(reader, run, &attempt)).collect::<Result<_, _>>()?;
    let name = record.task_display_name(&place);
    let own = |nested: &NestedRunRecord| {
        nested.attempt.parse::<ChildId>().map_or_else(
            |_| nested.attempt.rsplit_once('#').is_some_and(|(above, _)| above == place.to_string()),
            |child| child.attempt.place == place,
        )
    };
    record.nested.retain(own);
    let nested = take_nested(&mut record);
    Ok(Some(TaskView { record: record.document(), name, address: place.to_string(), logs, nested }))
}

/// Removes the nested runs from a record, and returns their rows.
fn take_nested(record: &mut RunRecord) -> Vec<Value> {
    let rows = record.nested.drain(..).map(|nested| {
        let mut document = nested.record.document();
        json!({"attempt": nested.attempt, "run": document.get_mut("run").map(Value::take)})
    });
    rows.collect()
}

/// Removes what belongs to other tasks than those that are left.
fn keep_tasks(record: &mut RunRecord) {
    let kept: BTreeSet<TaskId> =
        record.steps.iter().map(|row| TaskId { step: row.step.clone(), item: row.item }).collect();
    let is_kept = |step, item| kept.contains(&TaskId { step, item });
    record.attempts.retain(|row| is_kept(row.step.clone(), row.item));
    record.checks.retain(|row| row.step.clone().is_none_or(|step| is_kept(step, row.item)));
    record.artifacts.retain(|row| is_kept(row.step.clone(), row.item));
}
