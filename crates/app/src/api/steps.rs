//! The steps of a run with their attempts, a page at a time: a run may have a hundred thousand of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Caller, CommandError, StateReader, usage_error,
    views::{run_listing, run_reader},
};
use wf_base::{keyword::Keyword as _, name::RunId, time::Moment};
use wf_core::machine::{StepState, TaskId, WorkExit};
use wf_model::JsonObject;
use wf_report::record::RunLifecycle;
use wf_store::{AttemptRow, StepOrder, StepRow, StepSelection};

/// The steps of a page if nothing is said, and the most.
const DEFAULT_STEPS: usize = 200;
const MAX_STEPS: usize = 1_000;

/// A choice of the steps of a run.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApiStepQuery {
    /// Only steps in this state.
    pub state: Option<String>,
    /// The number of steps before the page.
    pub offset: usize,
    /// The most steps: 200, and at most 1,000.
    pub limit: Option<usize>,
}

/// Some steps of a run, in the order in which they began.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "StepPage")]
pub struct ApiStepPage {
    pub steps: Vec<ApiStep>,
    /// The number of steps behind this page.
    pub more_steps: usize,
}

/// A step of a run, or one item of a repeated step. One that has not begun is not listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Step")]
pub struct ApiStep {
    /// The step as a path names it: `probe`, or `probe[2]` for an item.
    pub step: String,
    /// The step as people read it: with the key of its item.
    pub name: String,
    /// `pending`, `running`, `waiting`, `succeeded`, `failed`, `skipped`, `cancelled` and others.
    pub state: String,
    /// The standing of its result, how far it was confirmed.
    pub standing: String,
    pub started: Option<Moment>,
    pub ended: Option<Moment>,
    /// The time from its start to its end; absent: it has not ended.
    pub duration_ms: Option<u64>,
    /// The reason for its state.
    pub reason: String,
    pub failure_class: Option<String>,
    /// True if its failure lets the run continue.
    pub allowed_to_fail: bool,
    /// The run that did the work, if the result was reused.
    pub reused_from: Option<RunId>,
    pub outputs: JsonObject,
    pub attempts: Vec<ApiAttempt>,
}

/// An attempt of a step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Attempt")]
pub struct ApiAttempt {
    /// Its number, from 1.
    pub attempt: u32,
    pub started: Moment,
    pub ended: Option<Moment>,
    pub duration_ms: Option<u64>,
    /// The kind of its end: `code`, `signal`, `completed`, `timed_out`, `cancelled`, `error`, `denied`, `interrupted`;
    /// absent: it has not.
    pub end: Option<String>,
    pub exit_code: Option<i32>,
    pub failure_class: Option<String>,
}

/// Returns a page of the steps of a run; `None`: there is no such run.
pub fn api_steps(
    caller: &dyn Caller,
    run: &str,
    query: &ApiStepQuery,
) -> Result<Option<ApiStepPage>, CommandError> {
    let Some((reader, run)) = run_reader(caller, run)? else {
        return Ok(None);
    };
    let life = run_listing(&reader, reader.store().runs().get(&run)?)?.life();
    step_page(&reader, &run, life, query).map(Some)
}

/// Reads a page of the steps of a run in a state of its life.
pub(super) fn step_page(
    reader: &StateReader,
    run: &RunId,
    life: RunLifecycle,
    query: &ApiStepQuery,
) -> Result<ApiStepPage, CommandError> {
    let state = query.state.as_deref().map(|word| {
        let words: Vec<&str> = StepState::ALL.iter().map(|state| state.as_str()).collect();
        let unknown = || {
            usage_error(format!("`state`: there is no state `{word}`"))
                .hint(format!("the states are {}", words.join(", ")))
        };
        StepState::from_word(word).ok_or_else(unknown)
    });
    let state = state.transpose()?;
    let limit = query.limit.unwrap_or(DEFAULT_STEPS);
    if limit == 0 || limit > MAX_STEPS {
        return Err(usage_error(format!("`limit` is 1 to {MAX_STEPS}")));
    }
    let selection = StepSelection {
        states: state.map(|state| life.recorded_states(state)),
        offset: query.offset,
        limit,
        order: StepOrder::Start,
    };
    let page = reader.store().steps().page(run, &selection)?;
    let found: usize = page
        .states
        .iter()
        .filter(|(own, _)| state.is_none_or(|state| state == life.shown_state(**own)))
        .map(|(_, count)| count)
        .sum();
    let behind = query.offset.saturating_add(page.steps.len());
    let steps = page.steps.into_iter().map(|row| ApiStep::of(reader, run, life, row));
    Ok(ApiStepPage { steps: steps.collect::<Result<_, _>>()?, more_steps: found.saturating_sub(behind) })
}

impl ApiStep {
    fn of(reader: &StateReader, run: &RunId, life: RunLifecycle, row: StepRow) -> Result<Self, CommandError> {
        let task_id = TaskId { step: row.step.clone(), item: row.item };
        let attempts =
            if row.attempts > 0 { reader.store().attempts().of_task(run, &task_id)? } else { Vec::new() };
        Ok(Self {
            step: task_id.to_string(),
            name: task_id.display_name(row.item_key.as_deref()),
            state: life.shown_state(row.state).as_str().to_owned(),
            standing: row.standing.as_str().to_owned(),
            duration_ms: row.started.and_then(|started| duration(started, row.ended)),
            started: row.started,
            ended: row.ended,
            reason: row.reason,
            failure_class: row.failure_class.map(|class| class.as_str().to_owned()),
            allowed_to_fail: row.allowed_to_fail,
            reused_from: row.reused_from,
            outputs: row.outputs,
            attempts: attempts.iter().map(ApiAttempt::of).collect(),
        })
    }
}

impl ApiAttempt {
    fn of(row: &AttemptRow) -> Self {
        let (end, exit_code) = match &row.exit {
            None => (None, None),
            Some(WorkExit::Code { code }) => (Some("code"), Some(*code)),
            Some(WorkExit::Signal { .. }) => (Some("signal"), None),
            Some(WorkExit::Completed) => (Some("completed"), None),
            Some(WorkExit::TimedOut) => (Some("timed_out"), None),
            Some(WorkExit::Cancelled) => (Some("cancelled"), None),
            Some(WorkExit::Error { .. }) => (Some("error"), None),
            Some(WorkExit::Denied { .. }) => (Some("denied"), None),
            Some(WorkExit::Interrupted) => (Some("interrupted"), None),
        };
        Self {
            attempt: row.attempt,
            started: row.started,
            ended: row.ended,
            duration_ms: duration(row.started, row.ended),
            end: end.map(str::to_owned),
            exit_code,
            failure_class: row.failure_class.map(|class| class.as_str().to_owned()),
        }
    }
}

/// Returns the time up to an end, in milliseconds.
fn duration(started: Moment, ended: Option<Moment>) -> Option<u64> {
    ended.map(|ended| u64::try_from(ended.since(started).as_millis()).unwrap_or(u64::MAX))
}
