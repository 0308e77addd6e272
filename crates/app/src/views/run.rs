use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    graph::{RunGraph, run_graph},
    log::{LogTailView, log_tail},
    requests::{RequestView, open_requests_of},
};
use crate::{
    CommandError,
    state::{reader::StateReader, record::load_record_head},
};
use wf_base::{
    keyword::Keyword,
    name::{Name, RunId},
    time::Moment,
};
use wf_core::{
    machine::{Attempt, ChildId, StepState, TaskId},
    undo::UndoOffer,
};
use wf_report::{
    draw::rounds_plot,
    record::{GapTrajectory, ModelSpending, NestedRunRecord, RunLifecycle, RunRecord},
};
use wf_store::StepSelection;

/// The most tasks of a page.
const PAGE_TASKS: usize = 200;

/// The most artifacts of a page, and the most nested runs.
const PAGE_ARTIFACTS: usize = 200;
const PAGE_NESTED: usize = 200;

/// The largest plan to draw, in bytes: a larger one alone would take longer to read than all else of a page.
const MAX_DRAWN_BYTES: u64 = 2_000_000;

/// A choice of the tasks of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepFilter {
    /// The only state; `None`: all.
    pub state: Option<StepState>,
    /// The number of the page, from 0.
    pub page: usize,
    /// The unfolded group of steps in the picture of a large plan.
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
    /// The run as `wf show --json` has it, with the tasks of the page and the first artifacts, without attempts and checks.
    pub record: Value,
    /// The word for the only shown state; `None`: every state.
    pub state: Option<&'static str>,
    /// The number of tasks in each state.
    pub states: BTreeMap<&'static str, usize>,
    /// The number of tasks permitted by the filter.
    pub found: usize,
    /// The number of the page, from 0.
    pub page: usize,
    pub last_page: usize,
    /// The runs nested in it, as `wf runs --json` has them, each with the `attempt` that it is nested in.
    pub nested: Vec<Value>,
    /// The number of the others.
    pub more_nested: usize,
    /// The number of further artifacts.
    pub more_artifacts: usize,
    /// The open requests of the run.
    pub requests: Vec<RequestView>,
    /// Its plan as a picture, if that is still a valid plan.
    pub graph: Option<RunGraph>,
    /// False if its plan is too large for a picture.
    pub is_drawn: bool,
    /// The rounds of its controller as an SVG picture, if it has any.
    pub plot: Option<String>,
    /// Its model calls and those of nested runs, by caller and model.
    pub spending: Vec<ModelSpending>,
    /// The first task that failed; absent: none did.
    pub failure: Option<TaskView>,
    /// The means to undo it, and until when; absent: it cannot be undone, or not any more.
    pub undo: Option<UndoOffer>,
    /// True if a run of the same plan was recorded before it.
    pub has_earlier: bool,
}

/// Returns a run with a page of its tasks.
pub fn run_view(
    reader: &StateReader,
    run: &RunId,
    filter: StepFilter,
    now: Moment,
) -> Result<RunView, CommandError> {
    let mut record = load_record_head(reader, run)?;
    let is_waiting = record.life == RunLifecycle::Waiting;
    let step_states = filter.state.map(|state| recorded_states(state, is_waiting));
    let mut selection = StepSelection {
        states: step_states.clone(),
        offset: filter.page.saturating_mul(PAGE_TASKS),
        limit: PAGE_TASKS,
    };
    let store = reader.store();
    let mut read = store.steps().page(run, &selection)?;
    let is_found = |state: &StepState| step_states.as_ref().is_none_or(|states| states.contains(state));
    let matching =
        read.states.iter().filter(|(state, _)| is_found(state)).map(|(_, count)| count).sum::<usize>();
    let last_page = matching.saturating_sub(1) / PAGE_TASKS;
    let page = filter.page.min(last_page);
    if page < filter.page {
        selection.offset = page * PAGE_TASKS;
        read = store.steps().page(run, &selection)?;
    }
    let mut states = BTreeMap::new();
    for (state, count) in &read.states {
        *states.entry(shown_state(*state, is_waiting).as_str()).or_insert(0) += count;
    }
    record.steps = read.steps;
    let mut record = record.with_waiting_tasks();
    let is_drawn = store.sources().size(run)? <= MAX_DRAWN_BYTES;
    let plan = if is_drawn { reader.plan(run)? } else { None };
    let times = store.steps().times(run)?;
    let graph = plan.map(|plan| run_graph(&plan, &record, &times, filter.open));
    let files = store.artifacts().first(run, PAGE_ARTIFACTS)?;
    let more_artifacts = files.total.saturating_sub(files.artifacts.len());
    record.artifacts = files.artifacts;
    let spending = record.spending();
    let nested = take_nested(&mut record);
    record.agents.clear();
    let failure = match &record.run.failed_step {
        Some(step) => first_failure(reader, run, step)?,
        None => None,
    };
    let offer = record.run.undo.as_ref().filter(|offer| offer.decide(&record.undone_by, now).is_ok());
    let undo = offer.cloned();
    Ok(RunView {
        undo,
        states,
        found: matching,
        page,
        last_page,
        state: filter.state.map(StepState::as_str),
        more_nested: nested.len().saturating_sub(PAGE_NESTED),
        nested: nested.into_iter().take(PAGE_NESTED).collect(),
        more_artifacts,
        failure,
        requests: if record.run.pending_approvals > 0 { open_requests_of(reader, run)? } else { Vec::new() },
        graph,
        is_drawn,
        plot: rounds_plot(&record.decisions.rounds),
        spending,
        has_earlier: store.runs().before(run)?.is_some(),
        record: record.document(),
    })
}

/// Returns the first task of a step that failed, with its last attempt; `None`: none of it was recorded.
fn first_failure(reader: &StateReader, run: &RunId, step: &Name) -> Result<Option<TaskView>, CommandError> {
    let selection = StepSelection { states: Some(vec![StepState::Failed]), offset: 0, limit: PAGE_TASKS };
    let failed = reader.store().steps().page(run, &selection)?.steps;
    let Some(row) = failed.into_iter().find(|row| row.step == *step) else {
        return Ok(None);
    };
    task_view(reader, run, &TaskId { step: row.step, item: row.item }.to_string())
}

/// Returns the state that is shown for a recorded one: in a run that waits, nothing runs.
pub(super) fn shown_state(state: StepState, is_waiting: bool) -> StepState {
    if is_waiting && state == StepState::Running { StepState::Waiting } else { state }
}

fn recorded_states(shown: StepState, is_waiting: bool) -> Vec<StepState> {
    [shown, StepState::Running].into_iter().filter(|state| shown_state(*state, is_waiting) == shown).collect()
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
    let logs = attempts.map(|attempt| log_tail(store, run, &attempt)).collect::<Result<_, _>>()?;
    let name = record.task_display_name(&place);
    let own = |nested: &NestedRunRecord| {
        nested.attempt.parse::<ChildId>().map_or_else(
            |_| nested.attempt.rsplit_once('#').is_some_and(|(above, _)| above == place.to_string()),
            |child| child.attempt.task_id == place,
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
