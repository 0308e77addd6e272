//! The failures of a run: the first task with its check and the end of its output, and the others by what they say.
//!
//! Forty items that fail for one reason are one problem, and a person reads it once.

use serde::Serialize;

use crate::{
    CommandError,
    state::reader::StateReader,
    views::log::{LogTailView, log_tail},
};
use wf_base::name::RunId;
use wf_core::machine::{Attempt, CheckRuling, Standing, StepState, TaskId};
use wf_report::record::error_line;
use wf_store::{CheckRow, RunRow, StepOrder, StepRow, StepSelection};

/// The most failed tasks that are read.
const MAX_READ: usize = 200;
/// The most groups of a page, and the most named tasks of a group.
const MAX_GROUPS: usize = 5;
const MAX_NAMED: usize = 8;

/// The tasks of a run that failed.
#[derive(Debug, Serialize)]
pub struct RunFailures {
    /// One for each message, the first failed step first.
    pub groups: Vec<FailureGroup>,
    /// The number of tasks in no group.
    pub more: usize,
}

/// Tasks that failed with the same message.
#[derive(Debug, Serialize)]
pub struct FailureGroup {
    pub reason: String,
    pub failure_class: Option<String>,
    pub state: &'static str,
    pub standing: Standing,
    /// The number of its tasks.
    pub count: usize,
    /// The first of its tasks.
    pub tasks: Vec<FailureTask>,
    /// The checks without a pass, of the last attempt of the first task.
    pub checks: Vec<CheckRow>,
    /// The end of the output of that attempt.
    pub log: Option<LogTailView>,
}

/// A task that failed.
#[derive(Debug, Serialize)]
pub struct FailureTask {
    /// The task, as it is shown to people.
    pub name: String,
    /// The task, as an address names it.
    pub address: String,
}

/// Returns the tasks that failed, by message; `None`: none of them fails the run.
pub(super) fn failures(reader: &StateReader, run_row: &RunRow) -> Result<Option<RunFailures>, CommandError> {
    first_failures(reader, run_row, MAX_GROUPS)
}

/// Returns the reason of a failure in a line: what its first check without a pass found, or the line of the output that names an
/// error; `None`: there is nothing beyond its reason.
pub(in crate::views) fn failure_line(
    reader: &StateReader,
    run_row: &RunRow,
) -> Result<Option<String>, CommandError> {
    let failures = first_failures(reader, run_row, 1)?;
    Ok(failures.as_ref().and_then(|failures| failures.groups.first()).and_then(line_of_group))
}

fn line_of_group(group: &FailureGroup) -> Option<String> {
    let of_check = group.checks.first().map(|check| {
        let verdict = &check.verdict;
        let printed = error_line(&verdict.evidence).filter(|line| !verdict.found.contains(line));
        let printed = printed.map(|line| format!(": {line}")).unwrap_or_default();
        format!("check `{}`{printed} · {}", verdict.name, verdict.mismatch())
    });
    of_check.or_else(|| error_line(&group.log.as_ref()?.text))
}

/// Returns the tasks that failed, by message, in a number of groups.
fn first_failures(
    reader: &StateReader,
    run_row: &RunRow,
    max_groups: usize,
) -> Result<Option<RunFailures>, CommandError> {
    let store = reader.store();
    // A run that succeeded may have failures that its plan deals with.
    let first = run_row.failed_step.as_ref();
    if first.is_none() && run_row.ended.is_some() {
        return Ok(None);
    }
    let run = &run_row.id;
    let selection = StepSelection {
        states: Some(vec![StepState::Failed]),
        offset: 0,
        limit: MAX_READ,
        order: StepOrder::Start,
    };
    let page = store.steps().page(run, &selection)?;
    let total = page.states.get(&StepState::Failed).copied().unwrap_or_default();
    let mut rows: Vec<StepRow> = page.steps.into_iter().filter(|row| !row.allowed_to_fail).collect();
    // A repeated step fails because its items did: they say why.
    let with_items: Vec<_> =
        rows.iter().filter(|row| row.item.is_some()).map(|row| row.step.clone()).collect();
    rows.retain(|row| row.item.is_some() || !with_items.contains(&row.step));
    rows.sort_by_key(|row| Some(&row.step) != first);
    let mut more = total.saturating_sub(MAX_READ);
    let mut groups: Vec<Vec<StepRow>> = Vec::new();
    for row in rows {
        let has_room = groups.len() < max_groups;
        let alike = groups.iter().position(|group| group.iter().any(|own| is_alike(own, &row)));
        match alike.and_then(|at| groups.get_mut(at)) {
            Some(group) => group.push(row),
            None if has_room => groups.push(vec![row]),
            None => more += 1,
        }
    }
    let first_tasks = groups.iter().filter_map(|rows| rows.first()).map(task_id_of).collect();
    let checks = store.checks().of_tasks(run, &first_tasks)?;
    let groups: Vec<FailureGroup> =
        groups.iter().map(|rows| group_of(reader, run, rows, &checks)).collect::<Result<_, _>>()?;
    Ok((!groups.is_empty()).then_some(RunFailures { groups, more }))
}

/// True if two tasks failed in the same way.
fn is_alike(one: &StepRow, other: &StepRow) -> bool {
    (&one.reason, one.failure_class) == (&other.reason, other.failure_class)
}

fn group_of(
    reader: &StateReader,
    run: &RunId,
    rows: &[StepRow],
    checks: &[CheckRow],
) -> Result<FailureGroup, CommandError> {
    let mut group = FailureGroup {
        reason: String::new(),
        failure_class: None,
        state: StepState::Failed.as_str(),
        standing: Standing::default(),
        count: rows.len(),
        tasks: rows.iter().take(MAX_NAMED).map(task_of).collect(),
        checks: Vec::new(),
        log: None,
    };
    let Some(first) = rows.first() else {
        return Ok(group);
    };
    let task_id = task_id_of(first);
    group.reason.clone_from(&first.reason);
    group.failure_class = first.failure_class.map(|class| class.as_str().to_owned());
    group.standing = first.standing;
    let own = |check: &&CheckRow| {
        check.step.as_ref() == Some(&first.step)
            && check.item == first.item
            && check.attempt == Some(first.attempts)
            && check.verdict.ruling != CheckRuling::Pass
    };
    group.checks = checks.iter().filter(own).cloned().collect();
    if first.attempts > 0 {
        let log = log_tail(reader, run, Attempt { task_id, attempt: first.attempts })?;
        group.log = Some(log).filter(|log| !log.text.is_empty());
    }
    Ok(group)
}

fn task_id_of(row: &StepRow) -> TaskId {
    TaskId { step: row.step.clone(), item: row.item }
}

fn task_of(row: &StepRow) -> FailureTask {
    let task_id = task_id_of(row);
    FailureTask { name: task_id.display_name(row.item_key.as_deref()), address: task_id.to_string() }
}
