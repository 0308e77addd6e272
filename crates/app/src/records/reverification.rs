//! The results of a run, verified again.

use std::sync::Arc;

use super::tasks::{ResolvedTask, find_in_store, require_task};
use crate::{
    Caller, CliExitCode, CommandError, StateReader,
    runs::{
        given::{approval_of_run, secrets_of_run},
        lineage::outermost_run,
        session::open_session,
    },
    specs::load::{load_recorded, recorded_plan},
    state::logs::{self, DamagedLog},
};
use wf_base::name::{RunId, TaskPath};
use wf_core::{
    machine::{ChildId, Event, EventKind, TaskId},
    observe::RunRef,
    verify::ReverifiedResult,
};
use wf_engine::{self as engine, GivenSecrets, Reverification, reuse};
use wf_report::{ItemNames, follow::CombinedObserver, record::all_pass};
use wf_store::StoreReader;

/// The depth to which nested runs are verified; deeper ones cannot be made.
const DEPTH: usize = 32;

/// A run with its results verified again.
pub struct VerifiedRun {
    /// The run, or the nested one of the named step.
    pub run: RunId,
    pub results: Vec<ReverifiedResult>,
    /// The keys of the items in the results.
    pub names: ItemNames,
    /// The logs differing from the record.
    pub damaged_logs: Vec<DamagedLog>,
}

impl VerifiedRun {
    /// True if all results still pass, and no log is damaged.
    pub fn holds(&self) -> bool {
        all_pass(&self.results) && self.damaged_logs.is_empty()
    }
}

/// Verifies the results of a run by the start of its id, of the latest one without it, or of one step of it.
pub fn verify_run(
    caller: &dyn Caller,
    prefix: Option<&str>,
    step: Option<&str>,
) -> Result<VerifiedRun, CommandError> {
    let state = StateReader::from_whole_log(&caller.host().workspace())?;
    let (reader, run) = (state.store(), state.find_run(prefix)?);
    let task = match step {
        Some(step) => Some(selected_tasks(step, &run, reader)?),
        None => None,
    };
    let (run, only_task) = match task {
        Some(ResolvedTask { run, task_id, .. }) => (run, Some(task_id)),
        None => (run, None),
    };
    let top = outermost_run(reader, &run)?;
    let loaded = load_recorded(caller, reader, &top)?;
    let events = reader.events().of_run(&top, 0)?;
    let mut search = ReverificationSearch { caller, reader, reverifications: Vec::new() };
    search.add(&ReverifiedRun { run: &run, path: path(reader, &run)?, only_task, depth: DEPTH })?;
    let runs = search.reverifications;
    check_step_exists(&runs)?;
    let names = names(reader, &top, &runs)?;
    // Where no check runs, only names and digests are printed.
    let secrets = if runs.iter().any(has_verdict) {
        secrets_of_run(reader, &top, &loaded.plan)?
    } else {
        GivenSecrets::default()
    };
    let approved = approval_of_run(reader, &top)?;
    let mut damaged_logs = Vec::new();
    for again in &runs {
        damaged_logs.extend(logs::damaged_logs(reader, &again.run.id, again.only.as_ref())?);
    }
    drop(state);
    let session = open_session(caller, &loaded, false, Box::new(CombinedObserver::default()))?;
    engine::recover(&session, &loaded.plan, approved.as_ref(), secrets)?;
    let outermost = engine::OutermostRun { run: &top, plan: &loaded.plan, events: &events };
    let results = engine::verify(&session, &outermost, runs)?;
    Ok(VerifiedRun { run, results, names, damaged_logs })
}

fn has_verdict(reverification: &Reverification) -> bool {
    let mut facts = reverification.events.iter().map(|(_, event)| &event.fact);
    facts.any(|fact| {
        matches!(
            fact,
            EventKind::CheckCompleted { .. } | EventKind::StepReused { .. } | EventKind::ItemReused(_)
        )
    })
}

fn selected_tasks(step: &str, run: &RunId, reader: &StoreReader) -> Result<ResolvedTask, CommandError> {
    let subject = step.parse::<TaskPath>();
    let subject = subject.map_err(|error| CommandError::new(CliExitCode::Usage, error.to_string()))?;
    find_in_store(run.clone(), &subject, reader)
}

/// Refuses a step unknown to the plan.
fn check_step_exists(reverifications: &[Reverification]) -> Result<(), CommandError> {
    match reverifications.first() {
        Some(Reverification { only: Some(place), plan, .. }) => require_task(plan, place),
        _ => Ok(()),
    }
}

/// Returns the steps above a run, outermost first.
fn path(reader: &StoreReader, run: &RunId) -> Result<Vec<String>, CommandError> {
    let mut path = Vec::new();
    let mut at = run.clone();
    while let Some((above, attempt)) = reader.runs().get(&at)?.parent {
        path.insert(0, place_of(&attempt).to_owned());
        at = above;
    }
    Ok(path)
}

/// Returns the keys of the items of runs, and of those that they are part of.
fn names(
    reader: &StoreReader,
    top: &RunId,
    reverifications: &[Reverification],
) -> Result<ItemNames, CommandError> {
    let mut names = ItemNames::default();
    let mut note = |run: &RunRef, events: &[(u64, Event)]| {
        for (_, event) in events {
            names.record(run, event);
        }
    };
    // A run that made results of another has its path; the items are numbered as in that, which comes first.
    for again in reverifications.iter().rev() {
        note(&again.run, &again.events);
    }
    let Some(first) = reverifications.first() else { return Ok(names) };
    let mut at = first.run.id.clone();
    while at != *top
        && let Some((above, _)) = reader.runs().get(&at)?.parent
    {
        let run = RunRef { id: above.clone(), path: path(reader, &above)?, ..first.run.clone() };
        note(&run, &reader.events().of_run(&above, 0)?);
        at = above;
    }
    Ok(names)
}

fn place_of(attempt: &str) -> &str {
    attempt.rsplit_once('#').map_or(attempt, |(place, _)| place)
}

/// True if a later nested run takes the place of an earlier one: it belongs to a further attempt.
fn is_replaced(attempt: &str, later: &str) -> bool {
    match (attempt.parse::<ChildId>(), later.parse::<ChildId>()) {
        (Ok(one), Ok(other)) => {
            one.attempt.task_id == other.attempt.task_id && one.attempt.attempt < other.attempt.attempt
        }
        _ => place_of(attempt) == place_of(later),
    }
}

/// A run with its collected results.
struct ReverifiedRun<'a> {
    run: &'a RunId,
    /// The steps above it, outermost first.
    path: Vec<String>,
    /// The only wanted task, or the step of the wanted items.
    only_task: Option<TaskId>,
    depth: usize,
}

/// The collector of the runs whose results are verified.
struct ReverificationSearch<'a> {
    caller: &'a dyn Caller,
    reader: &'a StoreReader,
    reverifications: Vec<Reverification>,
}

impl ReverificationSearch<'_> {
    /// Adds a run, those nested in the last attempts of its steps, and those that made the results it reused.
    fn add(&mut self, reverified: &ReverifiedRun<'_>) -> Result<(), CommandError> {
        let (reader, run) = (self.reader, reverified.run);
        let plan = recorded_plan(self.caller, reader, run)?;
        let children = reader.runs().children(run)?;
        let events = reader.events().of_run(run, 0)?;
        self.reverifications.push(Reverification {
            run: RunRef { id: run.clone(), plan: plan.id().clone(), path: reverified.path.clone() },
            plan,
            params: reader.runs().get(run)?.params,
            events: events.clone(),
            only: reverified.only_task.clone(),
        });
        let last = |(number, attempt): (usize, &str)| {
            let mut later = children.iter().skip(number + 1);
            !later.any(|(_, other)| is_replaced(attempt, other))
        };
        for (number, (child, attempt)) in children.iter().enumerate() {
            let task = attempt
                .parse()
                .map_or_else(|_| place_of(attempt).parse().ok(), |id: ChildId| Some(id.attempt.task_id));
            if reverified.wants(task.as_ref()) && last((number, attempt)) {
                self.add_nested(reverified, child, place_of(attempt))?;
            }
        }
        for (_, event) in &events {
            self.add_reused(reverified, &event.fact)?;
        }
        Ok(())
    }

    fn add_nested(&mut self, run: &ReverifiedRun<'_>, child: &RunId, name: &str) -> Result<(), CommandError> {
        if run.depth == 0 {
            return Ok(());
        }
        let path = [&run.path[..], &[name.to_owned()]].concat();
        self.add(&ReverifiedRun { run: child, path, only_task: None, depth: run.depth - 1 })
    }

    /// Adds the run that made the items of a reused step, or the run nested in a reused result.
    fn add_reused(&mut self, run: &ReverifiedRun<'_>, kind: &EventKind) -> Result<(), CommandError> {
        let (place, from) = match kind {
            EventKind::StepReused { step, reused_from, .. } => (TaskId::of_step(step), reused_from),
            EventKind::StepEnded { task_id, reused_from: Some(from), .. } => (task_id.clone(), from),
            _ => return Ok(()),
        };
        let plan = self
            .reverifications
            .iter()
            .rfind(|reverification| reverification.run.id == *run.run)
            .map(|again| Arc::clone(&again.plan));
        let Some(step) = plan.as_ref().and_then(|plan| Some(plan.step(plan.find(place.step.as_str())?)))
        else {
            return Ok(());
        };
        if !run.wants(Some(&place)) || run.depth == 0 {
            return Ok(());
        }
        if step.is_repeated() && place.item.is_none() {
            let only_task = run.only_task.clone().or(Some(place));
            return self.add(&ReverifiedRun {
                run: from,
                path: run.path.clone(),
                only_task,
                depth: run.depth - 1,
            });
        }
        let rows = reuse::items(self.reader, run.run, &place.step)?;
        let row = rows.iter().find(|row| row.item == place.item && place.item.is_some());
        let key = row.and_then(|row| row.item_key.as_deref());
        match reuse::nested_run(self.reader, run.run, &place.step, key)? {
            Some(child) => self.add_nested(run, &child, &place.to_string()),
            None => Ok(()),
        }
    }
}

impl ReverifiedRun<'_> {
    fn wants(&self, task_id: Option<&TaskId>) -> bool {
        let is_part =
            |only_task: &TaskId, task_id: &TaskId| only_task.contains(task_id) || task_id.contains(only_task);
        self.only_task.as_ref().is_none_or(|only| task_id.is_some_and(|task_id| is_part(only, task_id)))
    }
}
