//! The output of a run on its page: the merged outputs of its attempts, or of those of one step.

use std::collections::{BTreeMap, btree_map::Entry};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    LineTimes, LogHits, LogOutput, LogPattern,
    merged::{LineOfLog, MergedLogs, RunLogLine},
    search::SearchDeadline,
};
use crate::{
    Caller, CliExitCode, CommandError,
    names::task_name,
    views::{StateReader, run_reader},
};
use wf_base::{
    name::{Name, RunId},
    time::Moment,
};
use wf_core::machine::{Attempt, ChildId, TaskId};
use wf_exec::log::RunLogs;
use wf_store::{AttemptRow, RunState};

/// The most attempts to merge, and the most bytes of their outputs.
const MAX_ATTEMPTS: usize = 500;
const MAX_BYTES: u64 = 64 << 20;

/// The most attempts to count, with those that are not shown.
const MAX_COUNTED: usize = 50_000;

/// The lines of a page.
const PAGE_LINES: u64 = 500;

/// The most lines of one answer.
const MAX_LINES: u64 = 2_000;

/// The number of colours of steps.
const HUES: usize = 6;

/// The most steps to choose from.
const MAX_LISTED_STEPS: usize = 200;

/// A choice of lines of the output of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOutputQuery {
    /// The only step; empty: all.
    pub step: String,
    /// The first line, from 1; `None`: the last lines.
    pub from: Option<u64>,
    pub times: LineTimes,
}

/// The output of a run, as its page shows it.
#[derive(Debug, Serialize)]
pub struct RunOutputView {
    /// The only step; empty: all.
    pub step: String,
    /// The steps to choose from.
    pub steps: Vec<String>,
    #[serde(flatten)]
    pub shown: RunLogLines,
    /// The word for the times before its lines.
    pub times: &'static str,
    /// The first line of the page before, and of the next one; absent: there is none.
    pub earlier: Option<u64>,
    pub later: Option<u64>,
    /// The number of attempts left out, since they are too many or their output is too long.
    pub left_out: usize,
}

/// Lines of the output of a run, from one on.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct RunLogLines {
    /// The number of the first one, from 1.
    pub first: u64,
    /// The number of all lines.
    pub total: u64,
    /// True if the run has ended: no more can come.
    pub is_whole: bool,
    /// The time from which those of lines are counted: the beginning of the run.
    pub started: Moment,
    pub lines: Vec<RunLogLine>,
}

impl RunLogLines {
    /// Returns them as programs get them.
    pub fn document(&self) -> Value {
        let lines: Vec<Value> = self.lines.iter().map(RunLogLine::document).collect();
        let Self { first, total, is_whole, started, .. } = self;
        json!({"first": first, "total": total, "is_whole": is_whole, "started": started, "lines": lines})
    }
}

/// The output of a run, to be read by line.
pub struct RunOutput<'a> {
    reader: &'a StateReader,
    merged: MergedLogs,
    /// The places of the merged outputs, in the same order.
    places: Vec<OutputPlace>,
    /// The steps with attempts, in the order of their names.
    steps: Vec<Name>,
    left_out: usize,
    is_whole: bool,
    started: Moment,
}

/// The place of an attempt in a run, or in one nested in it.
struct OutputPlace {
    run: RunId,
    /// The tasks above it, as they are shown to people, each with a `/` behind it.
    above: String,
    /// The step of the outermost of these runs.
    step: Name,
}

/// Reads lines of the output of a run; `None`: there is no such run.
pub fn run_output_lines(
    caller: &dyn Caller,
    run: &str,
    query: &RunOutputQuery,
    count: u64,
) -> Result<Option<RunLogLines>, CommandError> {
    let Some((reader, run)) = run_reader(caller, run)? else {
        return Ok(None);
    };
    let output = RunOutput::open(&reader, &run, &query.step, caller.host().now())?;
    output.lines(query.from, count).map(Some)
}

/// Searches the output of a run for lines behind one; the reason, if it took too long. `None`: there is no such run.
pub fn search_run_output(
    caller: &dyn Caller,
    run: &str,
    step: &str,
    pattern: &LogPattern,
    after: u64,
    count: usize,
) -> Result<Option<Result<LogHits, String>>, CommandError> {
    let Some((reader, run)) = run_reader(caller, run)? else {
        return Ok(None);
    };
    let output = RunOutput::open(&reader, &run, step, caller.host().now())?;
    let deadline = SearchDeadline::of(caller);
    let is_over = || deadline.is_over(caller);
    let found =
        output.merged.search(after, count, |log, behind| log.hits(pattern, behind, count, &is_over))?;
    Ok(Some(found.unless_given_up()))
}

/// Returns the output of a run as its page shows it.
pub(in crate::views) fn run_output_view(
    reader: &StateReader,
    run: &RunId,
    query: &RunOutputQuery,
    now: Moment,
) -> Result<RunOutputView, CommandError> {
    let output = RunOutput::open(reader, run, &query.step, now)?;
    let shown = output.lines(query.from, PAGE_LINES)?;
    let behind = shown.first + shown.lines.len() as u64;
    Ok(RunOutputView {
        step: query.step.clone(),
        steps: output.steps.iter().take(MAX_LISTED_STEPS).map(Name::to_string).collect(),
        times: query.times.as_str(),
        earlier: (shown.first > 1).then(|| shown.first.saturating_sub(PAGE_LINES).max(1)),
        later: (behind <= shown.total).then_some(behind),
        left_out: output.left_out,
        shown,
    })
}

impl<'a> RunOutput<'a> {
    /// Opens the output of a run, or of one step of it.
    fn open(reader: &'a StateReader, run: &RunId, step: &str, now: Moment) -> Result<Self, CommandError> {
        let store = reader.store();
        let row = store.runs().get(run)?;
        let is_whole = row.state != RunState::Running;
        let attempts = store.attempts().of_run(run)?;
        let mut steps: Vec<Name> = attempts.iter().map(|row| row.step.clone()).collect();
        steps.sort_unstable();
        steps.dedup();
        let wanted = attempts.into_iter().filter(|row| step.is_empty() || row.step.as_str() == step);
        let mut placed = Vec::new();
        add_attempts(reader, run, wanted.collect(), None, &mut placed)?;
        let (count, mut outputs, mut places, mut size) = (placed.len(), Vec::new(), Vec::new(), 0);
        for (place, row) in placed.into_iter().take(MAX_ATTEMPTS) {
            let logs = RunLogs::new(store.folder().run(&place.run));
            let output =
                LogOutput::of_attempt(&place.run, attempt_of(&row), &logs, reader.log_indexes(), &row)?;
            size += output.log_bytes().length();
            if size > MAX_BYTES && !outputs.is_empty() {
                break;
            }
            outputs.push(output);
            places.push(place);
        }
        let left_out = count - outputs.len();
        let merged = MergedLogs::of(outputs, (!is_whole).then_some(now)).map_err(|error| {
            CommandError::new(CliExitCode::State, format!("cannot read the output of run {run}: {error}"))
        })?;
        Ok(Self { reader, merged, places, steps, left_out, is_whole, started: row.created })
    }

    /// Returns at most `count` lines, from one on or the last ones.
    fn lines(&self, from: Option<u64>, count: u64) -> Result<RunLogLines, CommandError> {
        let (total, count) = (self.merged.total(), count.min(MAX_LINES));
        let first = from.unwrap_or_else(|| (total + 1).saturating_sub(count)).max(1);
        let lines = self.merged.lines(first, count)?;
        let mut keys = BTreeMap::new();
        let lines =
            lines.into_iter().map(|line| self.name_task(line, &mut keys)).collect::<Result<_, _>>()?;
        Ok(RunLogLines { first, total, is_whole: self.is_whole, started: self.started, lines })
    }

    /// Returns a line with the names of its task. `keys` has the known keys of items, by their logs.
    fn name_task(
        &self,
        LineOfLog { log, own, line }: LineOfLog,
        keys: &mut BTreeMap<usize, Option<String>>,
    ) -> Result<RunLogLine, CommandError> {
        let attempt = self.merged.logs().get(log).map(LogOutput::attempt);
        let (Some(Attempt { task_id, attempt }), Some(place)) = (attempt, self.places.get(log)) else {
            return Err(CommandError::new(CliExitCode::Bug, "a line has no log"));
        };
        let key = match keys.entry(log) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let row = self.reader.store().steps().find(&place.run, task_id)?;
                unknown.insert(row.and_then(|row| row.item_key))
            }
        };
        let hue = self.steps.binary_search(&place.step).unwrap_or_default() % HUES;
        let task = format!("{}{}", place.above, task_id.display_name(key.as_deref()));
        let (run, address) = (place.run.clone(), task_id.to_string());
        Ok(RunLogLine { line, task, run, address, attempt: *attempt, own, hue })
    }
}

fn attempt_of(row: &AttemptRow) -> Attempt {
    let task_id = TaskId { step: row.step.clone(), item: row.item };
    Attempt { task_id, attempt: row.attempt }
}

/// Adds attempts of a run, each before those of the runs nested in it. `above` is the place of the run itself.
fn add_attempts(
    reader: &StateReader,
    run: &RunId,
    attempts: Vec<AttemptRow>,
    above: Option<&OutputPlace>,
    placed: &mut Vec<(OutputPlace, AttemptRow)>,
) -> Result<(), CommandError> {
    let store = reader.store();
    let children = store.runs().children(run)?;
    for row in attempts {
        // There may be more of them than are shown.
        if placed.len() > MAX_COUNTED {
            break;
        }
        let attempt = attempt_of(&row);
        let (prefix, step) = match above {
            Some(place) => (place.above.clone(), place.step.clone()),
            None => (String::new(), row.step.clone()),
        };
        let own = OutputPlace { run: run.clone(), above: prefix.clone(), step: step.clone() };
        placed.push((own, row));
        for (child, of) in &children {
            let name = || task_name(store, run, &attempt.task_id);
            let prefix = match of.parse::<ChildId>() {
                Ok(id) if id.attempt == attempt => format!("{prefix}{}/{}/", name()?, id.child),
                Err(_) if *of == attempt.to_string() => format!("{prefix}{}/", name()?),
                _ => continue,
            };
            let place = OutputPlace { run: child.clone(), above: prefix, step: step.clone() };
            add_attempts(reader, child, store.attempts().of_run(child)?, Some(&place), placed)?;
        }
    }
    Ok(())
}
