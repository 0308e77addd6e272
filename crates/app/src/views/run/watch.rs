//! A run for a person who follows it in a terminal: its state, the rows that the screen has room for, and the output of one of
//! them.
//!
//! Each look reads as much as is shown, so a run with 25,000 steps is followed like any other.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    CommandError, Host, Workspace,
    approve::{RunApprovalRequest, approval_requests},
    state::reader::{StateReader, ViewResources, pooled_reader},
    views::log::{LogLines, LogOutput},
};
use wf_base::{name::RunId, time::Moment, units::plural};
use wf_core::machine::{Attempt, BudgetLedger, StepState, TaskId};
use wf_model::graph::export;
use wf_report::{record::RunLifecycle, state_word};
use wf_store::{StepOrder, StepRow, StepSelection, StepTimes};

/// The most rows of one look.
const MAX_ROWS: usize = 500;

/// The most steps of a plan whose layers are listed.
const MAX_LAYERED_STEPS: usize = 500;

/// A choice of what is shown of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WatchQuery {
    /// The first row, from 0.
    pub first: usize,
    pub rows: usize,
    /// True if only failed tasks are listed.
    pub only_failed: bool,
    /// True if the layers of the plan are shown.
    pub has_layers: bool,
}

/// A run at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WatchedRun {
    pub run: String,
    pub plan: String,
    pub title: Option<String>,
    pub life: RunLifecycle,
    /// The reason for its outcome; empty for success.
    pub reason: String,
    /// The time worked on it; `None`: nobody knows it.
    pub took: Option<Duration>,
    /// The number of tasks by the word for their state.
    pub states: BTreeMap<&'static str, usize>,
    /// The number of steps that have not begun.
    pub unbegun: usize,
    /// The number of rows in all.
    pub total: usize,
    /// The number of the first row that is here.
    pub first: usize,
    pub steps: Vec<WatchedStep>,
    /// The tokens and the cost so far; empty: nothing was used.
    pub spent: String,
    pub requests: Vec<WatchedRequest>,
    /// The steps of its plan in the layers of their order, if they are shown.
    pub layers: Vec<Vec<WatchedStep>>,
}

/// A task of a run, or a step of its plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedStep {
    /// The task, as it is shown to people.
    pub name: String,
    /// The task; `None`: it has not begun.
    pub task_id: Option<TaskId>,
    /// The word for its state.
    pub word: &'static str,
    /// The number of its attempts.
    pub attempts: u32,
    /// The time since its start, up to its end; `None`: it has not begun.
    pub took: Option<Duration>,
    pub reason: String,
    /// The run nested in it, which has its output; `None`: it has none.
    pub nested: Option<RunId>,
}

/// An open request of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedRequest {
    /// The waiting step, below those above it; `run`: the run itself.
    pub name: String,
    pub message: String,
    /// True if it asks a question, and false if it asks for an approval.
    pub is_question: bool,
    pub expires: Moment,
}

/// A reader of one run that looks at it again and again.
#[derive(Debug)]
pub struct RunWatcher {
    workspace: Workspace,
    resources: ViewResources,
    run: RunId,
}

impl RunWatcher {
    pub fn new(host: &Host, run: RunId) -> Self {
        Self { workspace: host.workspace(), resources: ViewResources::default(), run }
    }

    /// Reads the run as it is now; `None`: its state is gone.
    pub fn look(&self, query: WatchQuery, now: Moment) -> Result<Option<WatchedRun>, CommandError> {
        let Some(reader) = pooled_reader(&self.workspace, self.resources.clone())? else {
            return Ok(None);
        };
        self.read(&reader, query, now).map(Some)
    }

    /// Reads lines of the output of the last attempt of a task, `back` lines before the last ones; `None`: it has no
    /// attempt, or its state is gone.
    pub fn log(&self, step: &WatchedStep, back: u64, count: u64) -> Result<Option<LogLines>, CommandError> {
        let (Some(task_id), true) = (step.task_id.clone(), step.attempts > 0) else {
            return Ok(None);
        };
        let Some(reader) = pooled_reader(&self.workspace, self.resources.clone())? else {
            return Ok(None);
        };
        let output = LogOutput::open(&reader, &self.run, Attempt { task_id, attempt: step.attempts })?;
        let first = (output.line_count() + 1).saturating_sub(back.saturating_add(count)).max(1);
        output.lines(Some(first), count).map(Some)
    }

    fn read(&self, reader: &StateReader, query: WatchQuery, now: Moment) -> Result<WatchedRun, CommandError> {
        let (store, run) = (reader.store(), &self.run);
        let row = store.runs().get(run)?;
        let life = RunLifecycle::of(&row, store.leases().owner(run)?);
        let limit = query.rows.min(MAX_ROWS);
        let states = query.only_failed.then(|| vec![StepState::Failed]);
        let selection = StepSelection { states, offset: query.first, limit, order: StepOrder::Start };
        let page = store.steps().page(run, &selection)?;
        let recorded = if query.only_failed {
            page.states.get(&StepState::Failed).copied().unwrap_or_default()
        } else {
            page.states.values().sum()
        };
        let nested = nested_runs(store.runs().children(run)?);
        let mut watched = WatchedRun {
            run: run.to_string(),
            plan: row.plan.clone(),
            life,
            took: row.worked(now),
            reason: row.reason.clone(),
            first: query.first,
            steps: page.steps.iter().map(|step| watched_step(step, life, now, &nested)).collect(),
            spent: self.spent(reader)?,
            ..WatchedRun::default()
        };
        for (state, count) in page.states {
            *watched.states.entry(life.shown_state(state).as_str()).or_insert(0) += count;
        }
        let times = store.steps().times(run)?;
        self.add_plan(reader, &mut watched, &times, query, recorded)?;
        if row.pending_approvals > 0 {
            let open = approval_requests(store, run)?.into_iter().filter(|request| request.outcome.is_none());
            watched.requests = open.map(|request| watched_request(&request)).collect();
        }
        Ok(watched)
    }

    /// Adds what the plan says: its title, the steps that have not begun, and its layers.
    fn add_plan(
        &self,
        reader: &StateReader,
        watched: &mut WatchedRun,
        times: &[StepTimes],
        query: WatchQuery,
        recorded: usize,
    ) -> Result<(), CommandError> {
        watched.total = recorded;
        let Some(plan) = reader.plan(&self.run)? else {
            return Ok(());
        };
        watched.title.clone_from(&plan.parts().title);
        let begun: BTreeMap<&str, &StepTimes> = times.iter().map(|row| (row.step.as_str(), row)).collect();
        let life = watched.life;
        // A repeated step counts by its items alone.
        for step in plan.steps().iter().filter(|step| step.is_repeated()) {
            let word = begun.get(step.id.as_str()).map(|row| life.shown_state(row.state).as_str());
            if let Some(count) = word.and_then(|word| watched.states.get_mut(word)) {
                *count = count.saturating_sub(1);
            }
        }
        watched.states.retain(|_, count| *count > 0);
        let is_unbegun = |name: &&str| !begun.contains_key(name);
        let names = || plan.steps().iter().map(|step| step.id.as_str());
        watched.unbegun = names().filter(is_unbegun).count();
        if !query.only_failed {
            watched.total += watched.unbegun;
            let room = query.rows.min(MAX_ROWS).saturating_sub(watched.steps.len());
            let passed = query.first.saturating_sub(recorded);
            watched.steps.extend(names().filter(is_unbegun).skip(passed).take(room).map(unbegun_step));
        }
        if query.has_layers && plan.steps().len() <= MAX_LAYERED_STEPS {
            let shown = |name: &str| match begun.get(name) {
                Some(row) => WatchedStep {
                    word: state_word(life.shown_state(row.state), row.standing),
                    ..unbegun_step(name)
                },
                None => unbegun_step(name),
            };
            let layers = export(&plan).layers.into_iter().map(|layer| {
                let steps = layer.iter().filter_map(|ix| plan.steps().get(ix.index()));
                steps.map(|step| shown(step.id.as_str())).collect()
            });
            watched.layers = layers.collect();
        }
        Ok(())
    }

    fn spent(&self, reader: &StateReader) -> Result<String, CommandError> {
        let events = reader.store().events().apart(&self.run, &BudgetLedger::EVENTS)?;
        let ledger = BudgetLedger::of_events(&events);
        if ledger.tokens == 0 && ledger.cost.is_zero() {
            return Ok(String::new());
        }
        let tokens = plural(usize::try_from(ledger.tokens).unwrap_or(usize::MAX), "token");
        Ok(if ledger.cost.is_zero() { tokens } else { format!("{tokens}, {}", ledger.cost) })
    }
}

/// Returns the last run that each task uses.
fn nested_runs(children: Vec<(RunId, String)>) -> BTreeMap<TaskId, RunId> {
    let task = |attempt: &str| attempt.rsplit_once('#')?.0.parse::<TaskId>().ok();
    children.into_iter().filter_map(|(run, attempt)| Some((task(&attempt)?, run))).collect()
}

fn watched_step(
    row: &StepRow,
    life: RunLifecycle,
    now: Moment,
    nested_runs: &BTreeMap<TaskId, RunId>,
) -> WatchedStep {
    let task_id = TaskId { step: row.step.clone(), item: row.item };
    let nested = nested_runs.get(&task_id).cloned();
    WatchedStep {
        name: task_id.display_name(row.item_key.as_deref()),
        task_id: Some(task_id),
        word: state_word(life.shown_state(row.state), row.standing),
        attempts: row.attempts,
        // Nobody knows until when it was at work if its run has no process.
        took: row
            .started
            .zip(row.ended.or((life != RunLifecycle::Interrupted).then_some(now)))
            .map(|(started, end)| end.since(started)),
        reason: row.reason.clone(),
        nested,
    }
}

fn unbegun_step(name: &str) -> WatchedStep {
    WatchedStep { name: name.to_owned(), word: StepState::Pending.as_str(), ..WatchedStep::default() }
}

fn watched_request(request: &RunApprovalRequest) -> WatchedRequest {
    WatchedRequest {
        name: request.name(),
        message: request.request.message.clone(),
        is_question: request.request.is_question(),
        expires: request.request.expires,
    }
}
