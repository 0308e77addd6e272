use clap::{Args, ValueEnum};

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    records::{RunList, RunListQuery},
};
use wf_base::name::{PlanId, SessionName};
use wf_report::record::RunLifecycle;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf runs                          the latest twenty
  wf runs -n 5 --state-is failed   the latest five that failed
  wf runs --no-checks              without those by which goals look
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
    #[command(flatten)]
    pub kinds: RunKindArgs,
    /// The summaries of runs that were pruned, instead
    #[arg(long, conflicts_with_all = ["all", "session", "no_checks"])]
    pruned: bool,
    /// Write one JSON document
    #[arg(long)]
    pub json: bool,
}

/// The kinds of runs to list.
#[derive(Args, Debug)]
pub struct RunKindArgs {
    /// Include nested runs
    #[arg(long)]
    pub all: bool,
    /// Leave out the checks of goals
    #[arg(long)]
    pub no_checks: bool,
}

/// The states to filter runs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunStateArg {
    /// A process works on it.
    Running,
    /// Waiting for people.
    Waiting,
    /// Not ended, and no process works on it: `wf resume` continues it.
    Interrupted,
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
            Self::Interrupted => "interrupted",
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
        ui.print(&runs.table()?)?;
    }
    Ok(CliExitCode::Ok)
}

fn query(args: &RunsArgs) -> Result<RunListQuery, CommandError> {
    let plan = args.plan.as_deref().map(PlanId::parse).transpose();
    let plan = plan.map_err(|error| CommandError::new(CliExitCode::Usage, format!("--plan: {error}")))?;
    let state = args.state_is.and_then(|state| RunLifecycle::from_word(state.word()));
    let session = args.session.clone();
    Ok(RunListQuery {
        plan,
        state,
        session,
        nested: args.kinds.all,
        no_checks: args.kinds.no_checks,
        pruned: args.pruned,
        limit: args.limit,
    })
}
