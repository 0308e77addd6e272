use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use super::{
    about::{RunAbout, about},
    failure::{RunFailures, failures},
    files::{RunFileList, files},
    graph::{RunGraph, graph_of},
    steps::{RunSteps, steps},
    timeline::{TimelineView, timeline},
};
use crate::{
    CommandError,
    names::task_name,
    state::{reader::StateReader, record::load_record_head},
    views::{
        log::{RunOutputQuery, RunOutputView, run_output_view},
        requests::{RequestView, open_requests_of},
    },
};
use wf_base::{keyword::Keyword, keywords, name::RunId, time::Moment};
use wf_core::{
    machine::{StepState, TaskId},
    undo::UndoOffer,
};
use wf_model::Plan;
use wf_report::{
    draw::{TimelineRange, rounds_plot},
    record::{ModelSpending, RunRecord},
};
use wf_store::{StepOrder, StoreReader, WorkEnd};

/// The most nested runs of a page.
pub(super) const PAGE_NESTED: usize = 200;

/// The largest plan to draw, in bytes: a larger one alone would take longer to read than all else of a page.
const MAX_DRAWN_BYTES: u64 = 2_000_000;

keywords! {
    /// A tab of the page of a run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RunTab {
        #[default]
        Timeline = "timeline",
        Graph = "graph",
        Steps = "steps",
        /// The output of all steps.
        Logs = "logs",
        /// The rounds of the controller.
        Rounds = "rounds",
        /// The calls of models.
        Agents = "agents",
        Files = "files",
        About = "about",
    }
}

/// A choice of what is shown of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSelection {
    pub tab: RunTab,
    /// The only state of the steps; `None`: all.
    pub state: Option<StepState>,
    pub order: StepOrder,
    /// The number of the page of the steps, from 0.
    pub page: usize,
    /// The unfolded group of steps in the picture of a large plan.
    pub open: Option<usize>,
    /// The part of the time in the timeline; `None`: all of it.
    pub range: Option<TimelineRange>,
    pub output: RunOutputQuery,
}

impl RunSelection {
    /// Returns a choice by the words of an address; an unknown word chooses nothing. Without a tab, it is the one that
    /// the other words are about.
    pub fn of(tab: &str, state: &str, order: &str, page: usize, open: Option<usize>) -> Self {
        let state = StepState::from_word(state);
        let implied = if open.is_some() {
            RunTab::Graph
        } else if state.is_some() || page > 0 {
            RunTab::Steps
        } else {
            RunTab::default()
        };
        let order = StepOrder::from_word(order).unwrap_or_default();
        Self { tab: RunTab::from_word(tab).unwrap_or(implied), state, order, page, open, ..Self::default() }
    }
}

impl RunSelection {
    /// Chooses the part of the time in the timeline, by the seconds in an address; all of it if they are no part.
    pub fn show_times(&mut self, from: &str, to: &str) {
        self.range = TimelineRange::parse(from, to);
    }
}

/// A run, with one of its tabs.
#[derive(Debug, Serialize)]
pub struct RunView {
    /// The run as `wf show --json` has it, without attempts and checks, and with the tasks, the rounds, the calls and the
    /// decisions that the tab shows.
    pub record: Value,
    /// The title of its plan; absent: it has none, or is not read.
    pub title: Option<String>,
    /// The time at which it is read.
    pub now: Moment,
    /// True if a process has it: its time goes on.
    pub has_process: bool,
    /// The time in which it was worked on, in milliseconds; absent: it has ended, goes on, or nobody knows it.
    pub worked_ms: Option<u64>,
    /// The word for the shown tab.
    pub tab: &'static str,
    /// The words for the tabs that it has.
    pub tabs: Vec<&'static str>,
    /// The open requests of the run.
    pub requests: Vec<RequestView>,
    /// The tasks that failed; absent: none did.
    pub failures: Option<RunFailures>,
    /// The means to undo it, and until when; absent: it cannot be undone, or not any more.
    pub undo: Option<UndoOffer>,
    /// True if a run of the same plan was recorded before it.
    pub has_earlier: bool,
    /// False if its plan is too large for a picture.
    pub is_drawn: bool,
    pub timeline: Option<TimelineView>,
    /// Its plan as a picture, if that is still a valid plan.
    pub graph: Option<RunGraph>,
    pub steps: Option<RunSteps>,
    /// The output of its steps.
    pub output: Option<RunOutputView>,
    /// The rounds of its controller as an SVG picture.
    pub plot: Option<String>,
    /// Its model calls and those of nested runs, by caller and model.
    pub spending: Vec<ModelSpending>,
    pub files: Option<RunFileList>,
    pub about: Option<RunAbout>,
}

/// A run as its tabs are read from it.
pub(super) struct RunScope<'a> {
    reader: &'a StateReader,
    pub run: &'a RunId,
    pub record: &'a RunRecord,
    pub plan: Option<&'a Plan>,
    pub now: Moment,
}

impl RunScope<'_> {
    pub fn store(&self) -> &StoreReader {
        self.reader.store()
    }
}

/// Returns a run with the chosen tab; another one is shown as the first, if the run has no such tab.
pub fn run_view(
    reader: &StateReader,
    run: &RunId,
    selection: &RunSelection,
    now: Moment,
) -> Result<RunView, CommandError> {
    let mut record = load_record_head(reader, run)?;
    let store = reader.store();
    let is_drawn = store.sources().size(run)? <= MAX_DRAWN_BYTES;
    let plan = if is_drawn { reader.plan(run)? } else { None };
    let tabs = tabs_of(&record);
    let tab = if tabs.contains(&selection.tab) { selection.tab } else { RunTab::default() };
    let offer = record.run.undo.as_ref().filter(|offer| offer.decide(&record.undone_by, now).is_ok());
    let mut view = RunView {
        record: Value::Null,
        title: plan.as_ref().and_then(|plan| plan.parts().title.clone()),
        now,
        has_process: record.run.work_end == WorkEnd::Open,
        worked_ms: worked_ms(&record, now),
        tab: tab.as_str(),
        tabs: tabs.into_iter().map(RunTab::as_str).collect(),
        requests: if record.run.pending_approvals > 0 { open_requests_of(reader, run)? } else { Vec::new() },
        failures: failures(reader, &record.run)?,
        undo: offer.cloned(),
        has_earlier: store.runs().before(run)?.is_some(),
        is_drawn,
        timeline: None,
        graph: None,
        steps: None,
        output: None,
        plot: None,
        spending: Vec::new(),
        files: None,
        about: None,
    };
    let scope = RunScope { reader, run, record: &record, plan: plan.as_deref(), now };
    let mut rows = Vec::new();
    match tab {
        RunTab::Timeline => view.timeline = Some(timeline(&scope, selection.range)?),
        RunTab::Graph => view.graph = graph_of(&scope, selection.open)?,
        RunTab::Steps => view.steps = Some(steps(&scope, selection, &mut rows)?),
        RunTab::Logs => view.output = Some(run_output_view(reader, run, &selection.output, now)?),
        RunTab::Rounds => view.plot = rounds_plot(&record.decisions.rounds),
        RunTab::Agents => view.spending = record.spending(),
        RunTab::Files => view.files = Some(files(&scope)?),
        RunTab::About => view.about = Some(about(&scope)?),
    }
    record.steps = rows;
    view.record = head_document(record, tab);
    name_tasks(store, run, &mut view.record)?;
    Ok(view)
}

/// Returns the time in which a run was worked on that has no process, in milliseconds, if it is known.
fn worked_ms(record: &RunRecord, now: Moment) -> Option<u64> {
    let run = &record.run;
    let worked = run.worked(now).filter(|_| run.ended.is_none() && run.work_end != WorkEnd::Open)?;
    Some(u64::try_from(worked.as_millis()).unwrap_or(u64::MAX))
}

/// Returns the tabs of a run.
fn tabs_of(record: &RunRecord) -> Vec<RunTab> {
    let has_rounds = !record.decisions.rounds.is_empty();
    let has_calls = !record.agents.is_empty() || !record.spending().is_empty();
    let is_shown = |tab: &&RunTab| match tab {
        RunTab::Rounds => has_rounds,
        RunTab::Agents => has_calls,
        _ => true,
    };
    RunTab::ALL.iter().filter(is_shown).copied().collect()
}

/// Gives the steps and the agents in the document of a run their names, as people read them.
pub(super) fn name_tasks(store: &StoreReader, run: &RunId, document: &mut Value) -> Result<(), CommandError> {
    for list in ["steps", "agents"] {
        for part in document.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Ok(task_id) = TaskId::deserialize(&*part) else { continue };
            let name = match part.get("item_key").and_then(Value::as_str) {
                Some(key) => task_id.display_name(Some(key)),
                None => task_name(store, run, &task_id)?,
            };
            part["name"] = name.into();
        }
    }
    Ok(())
}

/// Returns the document of a run without what another tab than the shown one has.
fn head_document(record: RunRecord, tab: RunTab) -> Value {
    let mut record = record.with_waiting_tasks();
    record.nested.clear();
    record.decisions.gates.clear();
    record.decisions.interactions.clear();
    if tab != RunTab::Rounds {
        record.decisions.rounds.clear();
    }
    if tab != RunTab::Agents {
        record.agents.clear();
    }
    if tab != RunTab::About {
        record.decisions.questions.clear();
    }
    record.document()
}
