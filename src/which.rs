use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, StateReader};
use wf_base::name::{RunId, TaskPath};

/// The message about tables differing from the log.
const DIFFERS: &str = "warning: the tables of the state do not agree with its log about this run; the answer is from the \
    log · what differs: wf audit verify · to rebuild the tables: wf doctor --repair\n";

/// A run: by a prefix of its id, or the latest one.
#[derive(Args, Clone, Debug)]
pub struct RunArg {
    /// Run ID or unique prefix
    #[arg(value_name = "RUN", required_unless_present = "last")]
    run: Option<String>,
    /// The latest run; a check or a repair that a slot of a goal began counts only where there is
    /// no other
    #[arg(long, conflicts_with = "run")]
    last: bool,
}

/// A run and perhaps a step of it.
#[derive(Args, Clone, Debug)]
pub struct StepArg {
    /// Run ID or unique prefix (not with --last), and the step: `build`, `fetch[2]`, `fetch[eu]#3`
    /// or `outer/inner`
    #[arg(value_names = ["RUN", "STEP"], num_args = 0..=2)]
    pub names: Vec<String>,
    /// The latest run; a check or a repair that a slot of a goal began counts only where there is
    /// no other
    #[arg(long)]
    pub last: bool,
}

/// A run and perhaps the step of it with a pending approval.
#[derive(Args, Clone, Debug)]
pub struct PendingApprovalArg {
    /// Run ID or unique prefix (not with --last), and the step that waits, if several do; `run` is
    /// the run itself
    #[arg(value_names = ["RUN", "STEP"], num_args = 0..=2)]
    names: Vec<String>,
    /// The latest run; a check or a repair that a slot of a goal began counts only where there is
    /// no other
    #[arg(long)]
    last: bool,
}

impl RunArg {
    /// A run given by name.
    pub fn by_name(name: &str) -> Self {
        Self { run: Some(name.to_owned()), last: false }
    }

    /// Returns the prefix of its id; `None`: the latest run.
    pub fn prefix(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// Resolves the named run.
    pub fn resolve(&self, state: &StateReader) -> Result<RunId, CommandError> {
        state.find_run(self.run.as_deref())
    }
}

impl StepArg {
    /// Resolves the named run, and the step as named.
    pub fn resolve(&self, state: &StateReader) -> Result<(RunId, Option<TaskPath>), CommandError> {
        let (run, step) = split_names(self.last, &self.names)?;
        let subject = step.map(str::parse::<TaskPath>).transpose();
        let subject = subject.map_err(|error| usage_error(&error.to_string()))?;
        Ok((state.find_run(run)?, subject))
    }
}

impl PendingApprovalArg {
    /// Returns the named run, and the step as named.
    pub fn names(&self) -> Result<RunAndStepNames<'_>, CommandError> {
        split_names(self.last, &self.names)
    }

    /// Resolves the named run, and the step as named.
    pub fn resolve(&self, state: &StateReader) -> Result<(RunId, Option<&str>), CommandError> {
        let (run, step) = split_names(self.last, &self.names)?;
        Ok((state.find_run(run)?, step))
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

/// Opens the state for what is shown of a run that is named somehow, from the log where the tables beside it hold something
/// else, and says so.
pub fn open_run<N>(
    ui: &Ui,
    resolve: impl Fn(&StateReader) -> Result<(RunId, N), CommandError>,
) -> Result<(StateReader, RunId, N), CommandError> {
    let (state, run, name) = StateReader::of_run(&ui.host.workspace(), resolve)?;
    if state.is_from_log() {
        ui.print_message(DIFFERS);
    }
    Ok((state, run, name))
}
