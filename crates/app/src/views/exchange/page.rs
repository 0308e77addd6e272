//! The page of a conversation: which turns it has, and what stands around them.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    text::ExchangeBriefing,
    totals::{ExchangeTotals, WrittenFiles, has_failed},
    turn::ExchangeTurn,
};
use crate::{
    CommandError,
    records::body,
    state::{reader::StateReader, record::load_record_head},
};
use wf_base::{digest::Sha256Digest, keywords, name::RunId, time::Moment};
use wf_core::machine::{Attempt, CheckRuling, Event, EventKind, TaskId};
use wf_report::record::{AgentCalls, RunLifecycle, RunRecord};
use wf_store::{CallBodyStore, CheckRow, StoreDurability};

/// The most turns of a page, and the number of bytes of texts after which it has no further turn.
const PAGE_TURNS: usize = 50;
const PAGE_BYTES: usize = 500_000;

keywords! {
    /// A choice among the turns and their parts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ExchangeFilter {
        #[default]
        All = "all",
        /// The tool calls alone.
        Tools = "tools",
        /// The turns in which something failed, with the failed tool calls alone.
        Errors = "errors",
    }
}

/// A choice of what a page shows of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeQuery {
    pub attempt: u32,
    pub filter: ExchangeFilter,
    /// The number of the first turn, from 1.
    pub from: usize,
}

/// A conversation of an agent in one attempt.
#[derive(Debug, Serialize)]
pub struct ExchangeView {
    pub run: RunId,
    pub plan: String,
    pub life: RunLifecycle,
    /// The task, as it is shown to people.
    pub name: String,
    /// The task, as an address names it.
    pub address: String,
    pub attempt: u32,
    /// The attempts of the task with a conversation, the latest first.
    pub attempts: Vec<u32>,
    /// The model of the step.
    pub model: String,
    /// True if the agent works, or will go on.
    pub is_open: bool,
    /// The end of its work, in words.
    pub exit: Option<String>,
    /// The source of its values, if that is not trusted.
    pub untrusted: Option<String>,
    pub briefing: ExchangeBriefing,
    /// The failed checks of the attempt before, of which it was told.
    pub feedback: Vec<CheckRow>,
    /// The checks of this attempt.
    pub checks: Vec<CheckRow>,
    pub filter: &'static str,
    pub turns: Vec<ExchangeTurn>,
    /// The number of turns that pass the filter.
    pub chosen: usize,
    /// The first turn of the page before; absent: there is none.
    pub earlier: Option<usize>,
    /// The first turn of the next page.
    pub later: Option<usize>,
    /// The first turn of the last page, if that is neither this one nor the next.
    pub last: Option<usize>,
    pub totals: ExchangeTotals,
    pub written: WrittenFiles,
}

/// A conversation as its parts are read from it.
pub(super) struct ExchangeScope<'a> {
    bodies: CallBodyStore,
    pub calls: &'a AgentCalls,
    /// The times at which requests of the run were decided, by their numbers.
    pub decided: &'a BTreeMap<u32, Moment>,
}

impl ExchangeScope<'_> {
    /// Reads a stored text; the reason, if it cannot be read.
    pub fn body<T: DeserializeOwned>(&self, digest: &Sha256Digest) -> Result<T, String> {
        let value = body(&self.bodies, digest).map_err(|error| error.to_string())?;
        serde_json::from_value(value).map_err(|error| error.to_string())
    }
}

/// Returns the conversation of an agent in an attempt of a task; `None` if there is none.
pub fn exchange_view(
    reader: &StateReader,
    run: &RunId,
    task: &str,
    query: ExchangeQuery,
) -> Result<Option<ExchangeView>, CommandError> {
    let Ok(place) = task.parse::<TaskId>() else {
        return Ok(None);
    };
    let store = reader.store();
    let Some(step) = store.steps().find(run, &place)? else {
        return Ok(None);
    };
    let mut record = load_record_head(reader, run)?;
    record.agents.retain(|calls| calls.attempt.task_id == place);
    record.steps = vec![step];
    let attempt = Attempt { task_id: place.clone(), attempt: query.attempt };
    let Some(calls) = record.agents.iter().rfind(|calls| calls.attempt == attempt) else {
        return Ok(None);
    };
    let checks = store.checks().of_task(run, &place)?;
    let events = store.events().apart(run, &["agent_briefed", "approval_resolved"])?;
    let decided = decision_times(&events);
    let bodies = CallBodyStore::new(store.folder().calls(run), StoreDurability::Normal);
    let scope = ExchangeScope { bodies, calls, decided: &decided };
    Ok(Some(view_of(&scope, &record, &checks, window_of(&events, &attempt), query)))
}

fn view_of(
    scope: &ExchangeScope<'_>,
    record: &RunRecord,
    checks: &[CheckRow],
    window: Option<u64>,
    query: ExchangeQuery,
) -> ExchangeView {
    let (calls, place) = (scope.calls, &scope.calls.attempt.task_id);
    let mut attempts: Vec<u32> = record.agents.iter().map(|calls| calls.attempt.attempt).collect();
    attempts.reverse();
    attempts.dedup();
    let chosen = chosen_turns(calls, query.filter);
    let begin = chosen.partition_point(|number| *number < query.from);
    let turns = turns_of(scope, chosen.get(begin..).unwrap_or_default(), query.filter);
    let end = begin + turns.len();
    let last_begin = chosen.len().saturating_sub(PAGE_TURNS);
    let checks_of =
        |attempt: Option<u32>| checks.iter().filter(move |check| check.attempt == attempt).cloned();
    let before = query.attempt.checked_sub(1);
    ExchangeView {
        run: record.run.id.clone(),
        plan: record.run.plan.clone(),
        life: record.life,
        name: record.task_display_name(place),
        address: place.to_string(),
        attempt: query.attempt,
        attempts,
        model: calls.model.to_string(),
        is_open: calls.exit.is_none() && matches!(record.life, RunLifecycle::Running | RunLifecycle::Waiting),
        exit: calls.exit.as_ref().map(ToString::to_string),
        untrusted: calls.untrusted.clone(),
        briefing: ExchangeBriefing::read(scope, &calls.request),
        feedback: checks_of(before).filter(|check| check.verdict.ruling != CheckRuling::Pass).collect(),
        checks: checks_of(Some(query.attempt)).collect(),
        filter: query.filter.as_str(),
        turns,
        earlier: (begin > 0).then(|| chosen.get(begin.saturating_sub(PAGE_TURNS)).copied()).flatten(),
        later: chosen.get(end).copied(),
        last: chosen.get(last_begin).copied().filter(|_| last_begin > end),
        chosen: chosen.len(),
        totals: ExchangeTotals::of_calls(calls, record, window),
        written: WrittenFiles::read(scope),
    }
}

/// Returns the numbers of the turns that pass a filter.
fn chosen_turns(calls: &AgentCalls, filter: ExchangeFilter) -> Vec<usize> {
    let turns = (1_usize..).zip(&calls.calls);
    let chosen = turns.filter(|(_, call)| match filter {
        ExchangeFilter::All => true,
        ExchangeFilter::Tools => !call.tools.is_empty(),
        ExchangeFilter::Errors => has_failed(call),
    });
    chosen.map(|(number, _)| number).collect()
}

/// Reads turns until the page is full.
fn turns_of(scope: &ExchangeScope<'_>, chosen: &[usize], filter: ExchangeFilter) -> Vec<ExchangeTurn> {
    let mut turns = Vec::new();
    let mut size = 0;
    for number in chosen.iter().take(PAGE_TURNS) {
        if size > PAGE_BYTES {
            break;
        }
        let Some(turn) = ExchangeTurn::read(scope, *number, filter) else {
            break;
        };
        size += turn.size();
        turns.push(turn);
    }
    turns
}

fn decision_times(events: &[Event]) -> BTreeMap<u32, Moment> {
    let decided = events.iter().filter_map(|event| match &event.fact {
        EventKind::ApprovalResolved { request, .. } => Some((*request, event.at)),
        _ => None,
    });
    decided.collect()
}

/// Returns the window of the model of an attempt.
fn window_of(events: &[Event], attempt: &Attempt) -> Option<u64> {
    let mut windows = events.iter().filter_map(|event| match &event.fact {
        EventKind::AgentBriefed(briefing) if briefing.attempt == *attempt => {
            Some(briefing.limits.context_window)
        }
        _ => None,
    });
    windows.next_back().filter(|window| *window > 0)
}
