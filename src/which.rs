use std::collections::BTreeSet;

use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::diag::nearest;
use wf_base::name::{RunId, TaskPath, TaskRef};
use wf_core::machine::TaskId;
use wf_model::Plan;
use wf_store::StoreReader;

/// The message about tables that do not agree with the log.
const DIFFERS: &str = "warning: the tables of the state do not agree with its log about this run; the answer is from the \
    log · what differs: wf audit verify · to rebuild the tables: wf doctor --repair\n";

/// A run: by a prefix of its id, or the latest one.
#[derive(Args, Clone, Debug)]
pub struct RunArg {
    /// Run ID or unique prefix
    #[arg(value_name = "RUN", required_unless_present = "last")]
    run: Option<String>,
    /// The latest run
    #[arg(long, conflicts_with = "run")]
    last: bool,
}

/// A run and perhaps a step of it.
#[derive(Args, Clone, Debug)]
pub struct StepArg {
    /// Run ID or unique prefix (not with --last), and the step: `build`, `fetch[2]`, `fetch[eu]#3`
    /// or `outer/inner`
    #[arg(value_names = ["RUN", "STEP"], num_args = 0..=2)]
    names: Vec<String>,
    /// The latest run
    #[arg(long)]
    last: bool,
}

/// A run and perhaps the step of it with a pending approval.
#[derive(Args, Clone, Debug)]
pub struct PendingApprovalArg {
    /// Run ID or unique prefix (not with --last), and the step that waits, if several do; `run` is
    /// the run itself
    #[arg(value_names = ["RUN", "STEP"], num_args = 0..=2)]
    names: Vec<String>,
    /// The latest run
    #[arg(long)]
    last: bool,
}

/// A step of a run, found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedTask {
    /// The run that the step belongs to; a nested run if it was named so.
    pub run: RunId,
    /// The step or item.
    pub place: TaskId,
    /// The attempt, if one was named.
    pub attempt: Option<u32>,
}

impl RunArg {
    /// A run given by name.
    pub fn by_name(name: &str) -> Self {
        Self { run: Some(name.to_owned()), last: false }
    }

    /// Resolves the named run.
    pub fn resolve(&self, reader: &StoreReader) -> Result<RunId, CommandError> {
        find_run(self.run.as_deref(), reader)
    }
}

impl StepArg {
    /// Resolves the named run, and the step as named.
    pub fn resolve(&self, reader: &StoreReader) -> Result<(RunId, Option<TaskPath>), CommandError> {
        let (run, step) = split_names(self.last, &self.names)?;
        let subject = step.map(str::parse::<TaskPath>).transpose();
        let subject = subject.map_err(|error| usage_error(&error.to_string()))?;
        Ok((find_run(run, reader)?, subject))
    }
}

impl PendingApprovalArg {
    /// Resolves the named run, and the step as named.
    pub fn resolve(&self, reader: &StoreReader) -> Result<(RunId, Option<&str>), CommandError> {
        let (run, step) = split_names(self.last, &self.names)?;
        Ok((find_run(run, reader)?, step))
    }
}

/// A run, `None` if it is the latest one, and a step.
type RunAndStepNames<'a> = (Option<&'a str>, Option<&'a str>);

/// Splits positional arguments: with `--last`, the first is the step.
pub fn split_names(last: bool, names: &[String]) -> Result<RunAndStepNames<'_>, CommandError> {
    match (last, names) {
        (true, []) => Ok((None, None)),
        (true, [step]) => Ok((None, Some(step))),
        (false, [run]) => Ok((Some(run), None)),
        (false, [run, step]) => Ok((Some(run), Some(step))),
        (true, _) => Err(usage_error("--last and RUN are mutually exclusive")),
        (false, _) => Err(usage_error("no run given: pass the start of its id, or --last")),
    }
}

fn usage_error(message: &str) -> CommandError {
    CommandError::new(CliExitCode::Usage, message)
}

/// Returns the run whose id begins with this prefix, or the latest one.
pub fn find_run(prefix: Option<&str>, reader: &StoreReader) -> Result<RunId, CommandError> {
    match prefix {
        Some(prefix) => Ok(reader.find_run(prefix)?),
        None => Ok(reader.last_run()?),
    }
}

/// Opens the state for what is shown of a run that is named somehow, from the log where the tables beside it hold something
/// else, and says so.
pub fn open_run<N>(
    ui: &Ui,
    resolve: impl Fn(&StoreReader) -> Result<(RunId, N), CommandError>,
) -> Result<(StoreReader, RunId, N), CommandError> {
    let state = ui.host.workspace().state;
    let (run, name) = match resolve(&StoreReader::open(&state)?) {
        Ok(found) => found,
        // The tables may have lost it.
        Err(unknown) => {
            StoreReader::from_log(&state).ok().and_then(|log| resolve(&log).ok()).ok_or(unknown)?
        }
    };
    let reader = StoreReader::of_run(&state, &run, u64::MAX)?;
    if reader.is_from_log() {
        ui.print_message(DIFFERS);
    }
    Ok((reader, run, name))
}

/// Finds a step below a run, in nested runs where it is named so.
pub fn find_step(run: RunId, subject: &TaskPath, reader: &StoreReader) -> Result<ResolvedTask, CommandError> {
    let mut run = run;
    let mut above = subject.above.iter();
    while let Some(spot) = above.next() {
        let task = find_task(&run, spot, reader)?.to_string();
        let mut nested = last_nested_run(&run, &task, reader)?;
        // A child run of an agent is named by its step and its own id.
        if let (None, Some(child)) = (&nested, above.clone().next()) {
            nested = last_nested_run(&run, &format!("{task}/{child}"), reader)?;
            above.next();
        }
        let none = || usage_error(&format!("no run is nested in `{task}` of run {}", run.short()));
        run = nested.ok_or_else(none)?;
    }
    Ok(ResolvedTask { place: find_task(&run, &subject.spot, reader)?, run, attempt: subject.attempt })
}

/// Refuses a step that a plan does not have.
pub fn require_step(plan: &Plan, step: &str) -> Result<(), CommandError> {
    plan.find(step).map(drop).ok_or_else(|| unknown_step(plan, step))
}

/// The failure of a step that a plan does not have.
pub fn unknown_step(plan: &Plan, step: &str) -> CommandError {
    let failure = usage_error(&format!("the plan `{}` has no step `{step}`", plan.id()));
    match nearest(step, plan.steps().iter().map(|step| step.id.as_str())) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure,
    }
}

/// The last run nested in a task.
fn last_nested_run(run: &RunId, name: &str, reader: &StoreReader) -> Result<Option<RunId>, CommandError> {
    let of = |attempt: &str| attempt.rsplit_once('#').is_some_and(|(place, _)| place == name);
    let children = reader.children(run)?;
    let found = children.into_iter().rfind(|(_, attempt)| of(attempt));
    Ok(found.map(|(child, _)| child))
}

/// A task by its step and the number or key of its item.
fn find_task(run: &RunId, spot: &TaskRef, reader: &StoreReader) -> Result<TaskId, CommandError> {
    let Some(item) = &spot.item else {
        return Ok(TaskId::of_step(&spot.step));
    };
    let steps = reader.steps(run)?;
    let own = steps.iter().filter(|row| row.step == spot.step);
    let by_key = own.filter(|row| row.item_key.as_ref() == Some(item)).find_map(|row| row.item);
    let items: BTreeSet<u32> =
        steps.iter().filter(|row| row.step == spot.step).filter_map(|row| row.item).collect();
    let by_number = || item.parse().ok().filter(|number| items.is_empty() || items.contains(number));
    // Names are read as they are shown: a key takes precedence over a number.
    let found = by_key.or_else(by_number);
    let none = || usage_error(&format!("`{}` has no item `{item}`", spot.step));
    Ok(TaskId { step: spot.step.clone(), item: Some(found.ok_or_else(none)?) })
}
