use clap::{Args, ValueEnum};

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    records::{RunList, RunListQuery, RunStateChoice},
};
use wf_base::name::{PlanId, SessionName};
use wf_core::machine::RunOutcome;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf runs                          the latest twenty
  wf runs -n 5 --state-is failed   the latest five that failed
  wf runs --plan nightly --json    for a program")]
pub struct RunsArgs {
    /// Number of runs
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Only runs of this plan, by its id
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<String>,
    /// Only runs in this state
    #[arg(long, value_name = "STATE")]
    pub state_is: Option<RunStateArg>,
    /// Only runs of this session
    #[arg(long, value_name = "NAME")]
    session: Option<SessionName>,
    /// Include nested runs
    #[arg(long)]
    pub all: bool,
    /// The summaries of runs that were pruned, instead
    #[arg(long, conflicts_with_all = ["all", "session"])]
    pruned: bool,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The states to filter runs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunStateArg {
    /// Not ended, and not only waiting for approvals.
    Running,
    /// Waiting for an approval.
    Waiting,
    /// Ended successfully.
    Succeeded,
    /// Ended with a failure.
    Failed,
    /// Cancelled by a user or a signal.
    Cancelled,
    /// Failed, and the controller had nothing left to try.
    Abandoned,
}

impl RunStateArg {
    /// Returns its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
        }
    }
}

/// Lists runs.
pub fn run(ui: &Ui, args: &RunsArgs) -> Result<CliExitCode, CommandError> {
    let state = ui.host.workspace().state;
    let word = state.file_name().and_then(|name| name.to_str()).unwrap_or("");
    if !state.exists() && RunStateArg::from_str(word, true).is_ok() {
        let message = format!("--state expects a directory; {word} not found");
        let error = CommandError::new(CliExitCode::Usage, message);
        return Err(error.hint(format!("to filter runs by state: --state-is {word}")));
    }
    let runs = RunList::read(&ui.host, &query(args)?)?;
    if args.json {
        let document = serde_json::json!({ "v": 1, "runs": runs.documents() });
        ui.print_json(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"))?;
    } else if runs.is_empty() {
        let chosen = args.plan.is_some() || args.state_is.is_some() || args.session.is_some();
        ui.print_info(if args.pruned && !chosen {
            "no run was pruned\n"
        } else if chosen {
            "no matching runs\n"
        } else {
            "no runs yet · start with: wf run PLAN\n"
        });
    } else {
        ui.print(&runs.table(ui.host.now())?)?;
    }
    Ok(CliExitCode::Ok)
}

fn query(args: &RunsArgs) -> Result<RunListQuery, CommandError> {
    let plan = args.plan.as_deref().map(PlanId::parse).transpose();
    let plan = plan.map_err(|error| CommandError::new(CliExitCode::Usage, format!("--plan: {error}")))?;
    let state = args.state_is.map(|state| match state {
        RunStateArg::Running => RunStateChoice::Running,
        RunStateArg::Waiting => RunStateChoice::Waiting,
        RunStateArg::Succeeded => RunStateChoice::Ended(RunOutcome::Succeeded),
        RunStateArg::Failed => RunStateChoice::Ended(RunOutcome::Failed),
        RunStateArg::Cancelled => RunStateChoice::Ended(RunOutcome::Cancelled),
        RunStateArg::Abandoned => RunStateChoice::Ended(RunOutcome::Abandoned),
    });
    let session = args.session.clone();
    Ok(RunListQuery { plan, state, session, nested: args.all, pruned: args.pruned, limit: args.limit })
}
