use clap::{Args, ValueEnum};

use crate::Ui;
use wf_app::names::name_parent;
use wf_app::views::run_documents;
use wf_app::{CliExitCode, CommandError};
use wf_base::name::{PlanId, SessionName};
use wf_core::machine::RunOutcome;
use wf_report::record::{RunLifecycle, runs};
use wf_store::{RunFilter, RunOwner, RunRow, RunState, StoreReader, allow_no_state};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf runs                          the latest twenty
  wf runs -n 5 --state-is failed   the latest five that failed
  wf runs --plan nightly --json    for a program")]
pub struct RunsArgs {
    /// Number of runs
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Only runs of this plan, by its id
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Only runs in this state
    #[arg(long, value_name = "STATE")]
    state_is: Option<RunStateArg>,
    /// Only runs of this session
    #[arg(long, value_name = "NAME")]
    session: Option<SessionName>,
    /// Include nested runs
    #[arg(long)]
    all: bool,
    /// The summaries of runs that were pruned, instead
    #[arg(long, conflicts_with_all = ["all", "session"])]
    pruned: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// The states to filter runs by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RunStateArg {
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

/// Lists runs.
pub fn run(ui: &Ui, args: &RunsArgs) -> Result<CliExitCode, CommandError> {
    let state = ui.host.workspace().state;
    let word = state.file_name().and_then(|name| name.to_str()).unwrap_or("");
    if !state.exists() && RunStateArg::from_str(word, true).is_ok() {
        let message = format!("--state expects a directory; {word} not found");
        let failure = CommandError::new(CliExitCode::Usage, message);
        return Err(failure.hint(format!("to filter runs by state: --state-is {word}")));
    }
    let filter = filter(args)?;
    let reader = allow_no_state(StoreReader::open(&state))?;
    let rows = reader.map_or_else(|| Ok(Vec::new()), |reader| rows(&reader, args, &filter))?;
    if args.json {
        ui.print_json(&json(&rows))?;
    } else if rows.is_empty() {
        let chosen = args.plan.is_some() || args.state_is.is_some() || args.session.is_some();
        ui.print_info(if args.pruned && !chosen {
            "no run was pruned\n"
        } else if chosen {
            "no matching runs\n"
        } else {
            "no runs yet · start with: wf run PLAN\n"
        });
    } else {
        ui.print(&runs(&rows, ui.host.now()))?;
    }
    Ok(CliExitCode::Ok)
}

fn filter(args: &RunsArgs) -> Result<RunFilter, CommandError> {
    let plan = args.plan.as_deref().map(PlanId::parse).transpose();
    let plan = plan.map_err(|error| CommandError::new(CliExitCode::Usage, format!("--plan: {error}")))?;
    let state = args.state_is.map(|state| match state {
        RunStateArg::Running | RunStateArg::Waiting => RunState::Running,
        RunStateArg::Succeeded => RunState::Ended(RunOutcome::Succeeded),
        RunStateArg::Failed => RunState::Ended(RunOutcome::Failed),
        RunStateArg::Cancelled => RunState::Ended(RunOutcome::Cancelled),
        RunStateArg::Abandoned => RunState::Ended(RunOutcome::Abandoned),
    });
    Ok(RunFilter { plan, state, session: args.session.clone(), nested: args.all })
}

fn rows(
    reader: &StoreReader,
    args: &RunsArgs,
    filter: &RunFilter,
) -> Result<Vec<(RunRow, Option<RunOwner>)>, CommandError> {
    if args.pruned {
        let pruned = reader.pruned_runs(args.limit, filter)?;
        return Ok(pruned.into_iter().map(|row| (row, None)).collect());
    }
    let mut rows = Vec::new();
    let going = filter.state == Some(RunState::Running);
    let limit = if going { usize::MAX } else { args.limit };
    for mut row in reader.runs(limit, filter)? {
        if !args.json {
            name_parent(reader, &mut row)?;
        }
        let owner = match row.state {
            RunState::Running => reader.owner(&row.id)?,
            RunState::Ended(_) => None,
        };
        let waits = RunLifecycle::of(&row, owner) == RunLifecycle::Waiting;
        if !going || waits == (args.state_is == Some(RunStateArg::Waiting)) {
            rows.push((row, owner));
        }
    }
    rows.truncate(args.limit);
    Ok(rows)
}

fn json(rows: &[(RunRow, Option<RunOwner>)]) -> String {
    let document = serde_json::json!({ "v": 1, "runs": run_documents(rows) });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}
