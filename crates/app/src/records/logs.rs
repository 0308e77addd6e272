//! The logs of the attempts of a run, those of nested runs included.

use std::{collections::BTreeSet, sync::Arc};

use super::tasks::{ResolvedTask, find_step, require_task};
use crate::{
    Caller, CliExitCode, CommandError, StateReader,
    names::task_name,
    specs::load::recorded_plan,
    state::logs::{DamagedLog, damaged_logs},
};
use wf_base::{
    name::{RunId, TaskPath},
    remedy::UserAction,
};
use wf_core::machine::{Attempt, ChildId, TaskId};
use wf_exec::log::RunLogs;
use wf_store::{AttemptRow, RunState, StoreReader};

/// The depth to which nested runs are shown.
const DEPTH: usize = 32;

/// The log of an attempt.
pub struct AttemptLog {
    run: RunId,
    pub logs: Arc<RunLogs>,
    pub attempt: Attempt,
    /// The task, if it belongs to the run itself.
    task: Option<TaskId>,
    /// The task as it is shown to users, below those above it.
    pub name: String,
}

/// The logs of a run, or of one of its tasks.
pub struct LogSelection {
    /// The run; a nested one if a task of that was named.
    pub run: RunId,
    /// The selected task; `None`: all of the run.
    pub task: Option<ResolvedTask>,
    state: StateReader,
}

impl LogSelection {
    /// Finds the logs of a run, or of the named task of it.
    pub fn find(
        caller: &dyn Caller,
        state: StateReader,
        run: RunId,
        task_path: Option<&TaskPath>,
    ) -> Result<Self, CommandError> {
        let task = task_path.map(|subject| find_step(&state, run.clone(), subject)).transpose()?;
        let run = task.as_ref().map_or(run, |task| task.run.clone());
        if let Some(task) = &task
            && !state.store().attempts().of_run(&run)?.iter().any(|row| is_attempt_of(row, &task.task_id))
        {
            let plan = recorded_plan(caller, state.store(), &run)?;
            require_task(&plan, &task.task_id)?;
        }
        Ok(Self { run, task, state })
    }

    /// Returns their state.
    pub fn state(&self) -> &StateReader {
        &self.state
    }

    /// Returns the logs of the selected attempts, each before those of the run nested in it.
    pub fn attempts(&self) -> Result<Vec<AttemptLog>, CommandError> {
        let mut entries = Vec::new();
        self.collect(&self.run, self.selected_attempts()?, "", DEPTH, &mut entries)?;
        Ok(entries)
    }

    /// True if a log is that of the selected task itself, not of a run nested in it.
    pub fn is_selected(&self, log: &AttemptLog) -> bool {
        self.task.as_ref().is_some_and(|task| log.task.as_ref() == Some(&task.task_id))
    }

    fn reader(&self) -> &StoreReader {
        self.state.store()
    }

    fn selected_attempts(&self) -> Result<Vec<Attempt>, CommandError> {
        let attempt_rows = self.reader().attempts().of_run(&self.run)?;
        let Some(task) = &self.task else {
            return Ok(attempt_rows.iter().map(attempt).collect());
        };
        let own = attempt_rows.iter().filter(|row| is_attempt_of(row, &task.task_id)).map(attempt);
        Ok(match task.attempt {
            Some(number) => own.filter(|attempt| attempt.attempt == number).collect(),
            None => last_of_each(own.collect()),
        })
    }

    fn collect(
        &self,
        run: &RunId,
        attempts: Vec<Attempt>,
        above: &str,
        depth: usize,
        attempt_logs: &mut Vec<AttemptLog>,
    ) -> Result<(), CommandError> {
        let children = self.reader().runs().children(run)?;
        let logs = RunLogs::new(self.reader().folder().run(run));
        for own in attempts {
            let own_name = task_name(self.reader(), run, &own.task_id)?;
            let name = format!("{above}{own_name}");
            attempt_logs.push(AttemptLog {
                run: run.clone(),
                task: above.is_empty().then(|| own.task_id.clone()),
                logs: Arc::clone(&logs),
                name: name.clone(),
                attempt: own.clone(),
            });
            for (child, of) in children.iter().filter(|_| depth > 0) {
                let above = match of.parse::<ChildId>() {
                    Ok(id) if id.attempt == own => format!("{name}/{}/", id.child),
                    Err(_) if *of == own.to_string() => format!("{name}/"),
                    _ => continue,
                };
                let inner = self.reader().attempts().of_run(child)?.iter().map(attempt).collect();
                self.collect(child, inner, &above, depth - 1, attempt_logs)?;
            }
        }
        Ok(())
    }

    /// Returns those of the given logs differing from the record of their attempts.
    pub fn damaged(&self, logs: &[AttemptLog]) -> Result<Vec<DamagedLog>, CommandError> {
        let runs: BTreeSet<&RunId> = logs.iter().map(|log| &log.run).collect();
        let mut damaged = Vec::new();
        for run in runs {
            damaged.extend(damaged_logs(self.reader(), run, None)?);
        }
        let is_given = |damaged: &DamagedLog| {
            logs.iter().any(|log| log.run == damaged.run && log.attempt == damaged.attempt)
        };
        damaged.retain(is_given);
        Ok(damaged)
    }

    /// True if no more output can come.
    pub fn is_over(&self) -> Result<bool, CommandError> {
        let row = self.reader().runs().get(&self.run)?;
        if row.state != RunState::Running {
            return Ok(true);
        }
        let alive = self.reader().leases().owner(&self.run)?.is_some_and(|owner| owner.alive);
        let Some(task) = &self.task else {
            return Ok(!alive && row.parent.is_none());
        };
        let steps = self.reader().steps().of_run(&self.run)?;
        let ended = steps
            .iter()
            .find(|row| row.step == task.task_id.step && row.item == task.task_id.item)
            .is_some_and(|row| row.state.is_final());
        Ok(ended || (!alive && row.parent.is_none()))
    }

    /// Returns the failure if there are no logs.
    pub fn no_logs(&self) -> CommandError {
        let run = self.run.short();
        match &self.task {
            None => CommandError::new(CliExitCode::Usage, format!("no step of run {run} has started")),
            Some(task) => {
                let place = task_name(self.reader(), &self.run, &task.task_id);
                let place = place.unwrap_or_else(|_| task.task_id.to_string());
                // Of a step that was reused as a whole, no item has a record here.
                let whole = TaskId::of_step(&task.task_id.step);
                let known = [&task.task_id, &whole].into_iter();
                let mut known =
                    known.filter_map(|id| self.reader().steps().find(&self.run, id).ok().flatten());
                if let Some(from) = known.find_map(|row| row.reused_from) {
                    let message = format!("`{place}` of run {run} was reused from run {}", from.short());
                    return CommandError::new(CliExitCode::Usage, message)
                        .remedy("for its output: ", UserAction::ShowLogs { run: from, step: place });
                }
                let message = match task.attempt {
                    Some(number) => format!("`{place}` of run {run} has no attempt {number}"),
                    None => format!("`{place}` of run {run} has no output: it did not start"),
                };
                CommandError::new(CliExitCode::Usage, message)
                    .remedy("for its state: ", UserAction::ShowRun(self.run.clone()))
            }
        }
    }
}

fn attempt(row: &AttemptRow) -> Attempt {
    Attempt { task_id: TaskId { step: row.step.clone(), item: row.item }, attempt: row.attempt }
}

/// True if an attempt is of a task; a repeated step stands for all its items.
fn is_attempt_of(row: &AttemptRow, task_id: &TaskId) -> bool {
    row.step == task_id.step && (task_id.item.is_none() || task_id.item == row.item)
}

fn last_of_each(attempts: Vec<Attempt>) -> Vec<Attempt> {
    let mut last: Vec<Attempt> = Vec::new();
    for attempt in attempts {
        last.retain(|other| other.task_id != attempt.task_id);
        last.push(attempt);
    }
    last
}
