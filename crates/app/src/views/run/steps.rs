//! The steps of a run, a page at a time: those with a record, and those that have not begun.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::view::{RunScope, RunSelection};
use crate::CommandError;
use wf_core::machine::StepState;
use wf_store::{StepRow, StepSelection};

/// The most tasks of a page.
const PAGE_TASKS: usize = 200;

/// The steps of a run.
#[derive(Debug, Serialize)]
pub struct RunSteps {
    /// The word for the only shown state; `None`: every state.
    pub state: Option<&'static str>,
    /// The word for their order.
    pub order: &'static str,
    /// The number of tasks in each state.
    pub states: BTreeMap<&'static str, usize>,
    /// The number of the page, from 0.
    pub page: usize,
    pub last_page: usize,
    /// The first steps that have not begun, on the first page of all states.
    pub unbegun: Vec<UnbegunStep>,
    /// The number of the others.
    pub more_unbegun: usize,
}

/// A step without a record.
#[derive(Debug, Serialize)]
pub struct UnbegunStep {
    pub step: String,
    /// The steps it needs that have not ended.
    pub needs: Vec<String>,
}

/// Reads a page of the tasks of a run into `rows`.
pub(super) fn steps(
    scope: &RunScope<'_>,
    selection: &RunSelection,
    rows: &mut Vec<StepRow>,
) -> Result<RunSteps, CommandError> {
    let life = scope.record.life;
    let states = selection.state.map(|state| life.recorded_states(state));
    let mut tasks = StepSelection {
        states: states.clone(),
        offset: selection.page.saturating_mul(PAGE_TASKS),
        limit: PAGE_TASKS,
        order: selection.order,
    };
    let table = scope.store().steps();
    let mut read = table.page(scope.run, &tasks)?;
    let is_found = |state: &StepState| states.as_ref().is_none_or(|states| states.contains(state));
    let found =
        read.states.iter().filter(|(state, _)| is_found(state)).map(|(_, count)| count).sum::<usize>();
    let last_page = found.saturating_sub(1) / PAGE_TASKS;
    let page = selection.page.min(last_page);
    if page < selection.page {
        tasks.offset = page * PAGE_TASKS;
        read = table.page(scope.run, &tasks)?;
    }
    let mut shown = BTreeMap::new();
    for (state, count) in &read.states {
        *shown.entry(life.shown_state(*state).as_str()).or_insert(0) += count;
    }
    *rows = read.steps;
    let is_first = page == 0 && selection.state.is_none();
    let mut unbegun = if is_first { unbegun_steps(scope)? } else { Vec::new() };
    let more_unbegun = unbegun.len().saturating_sub(PAGE_TASKS);
    unbegun.truncate(PAGE_TASKS);
    Ok(RunSteps {
        state: selection.state.map(StepState::as_str),
        order: selection.order.as_str(),
        states: shown,
        page,
        last_page,
        unbegun,
        more_unbegun,
    })
}

/// Returns the steps of the plan that have no record, with what they wait for.
fn unbegun_steps(scope: &RunScope<'_>) -> Result<Vec<UnbegunStep>, CommandError> {
    let Some(plan) = scope.plan else {
        return Ok(Vec::new());
    };
    let times = scope.store().steps().times(scope.run)?;
    let begun: BTreeSet<&str> = times.iter().map(|row| row.step.as_str()).collect();
    let has_ended = |state: StepState| {
        matches!(state, StepState::Succeeded | StepState::Failed | StepState::Skipped | StepState::Cancelled)
    };
    let ended: BTreeSet<&str> =
        times.iter().filter(|row| has_ended(row.state)).map(|row| row.step.as_str()).collect();
    let unbegun = plan.steps().iter().filter(|step| !begun.contains(step.id.as_str()));
    let needs = |step: &wf_model::Step| {
        let needed = step.depends_on.iter().filter_map(|at| plan.steps().get(at.index()));
        let open = needed.map(|needed| needed.id.as_str()).filter(|id| !ended.contains(id));
        open.map(str::to_owned).collect()
    };
    Ok(unbegun.map(|step| UnbegunStep { step: step.id.to_string(), needs: needs(step) }).collect())
}
