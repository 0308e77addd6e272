use clap::{Args, ValueEnum};

use super::accept;
use crate::{
    Ui,
    execute::{OutputArgs, observer},
};
use wf_app::{
    CliExitCode, CommandError, GitRevision, StateReader,
    approve::awaited_acceptance,
    goals::{
        self, GoalSource, ObserverFactory, ReconciliationRequest, ReconciliationResult, adopt_reconciliation,
        find_path, run_deployed, send_notifications, start_reconciliation, wake_daemon,
    },
    load,
    load::LoadedPlan,
};
use wf_base::{
    time::Moment,
    untrusted::{BAD, BOLD, GOOD, WARN, paint},
};
use wf_core::goal::{ReconciliationCause, ReconciliationHealth, ReconciliationPart};

/// Reconcile a goal now: run its checks, and the repair if one fails
#[derive(Args, Debug)]
#[command(after_help = "\
Evaluates the checks of the goal. If one fails and the goal sets `on_failure: spawn_plan`, runs
the repair within the limits of its approval (`wf approve GOAL`), and evaluates the checks again.

Exit code 0 if the checks pass in the end, 1 if one fails or the state is unknown, 5 if a repair
waits for an approval.")]
pub struct GoalRunArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL", required_unless_present = "cycle")]
    goal: Option<String>,
    /// Write every event as a line of JSON
    #[arg(long)]
    json: bool,
    /// Run the goal as it is in this commit
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Scheduled time to run it for, which must be due
    #[arg(long, value_name = "INSTANT", hide = true)]
    slot: Option<Moment>,
    /// Cause of the scheduled time
    #[arg(long, hide = true, requires = "slot")]
    cause: Option<CauseArg>,
    /// Token of the daemon that decided about the scheduled time
    #[arg(long, hide = true, requires = "slot")]
    token: Option<u64>,
    /// Resume a reconciliation whose process died, by its first run
    #[arg(long, value_name = "RUN", hide = true, conflicts_with_all = ["slot", "commit"])]
    cycle: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum CauseArg {
    Schedule,
    CatchUp,
    Backfill,
    Person,
}

/// Runs a reconciliation.
pub fn run(ui: &Ui, args: &GoalRunArgs) -> Result<CliExitCode, CommandError> {
    let telling = OutputArgs { json: args.json, ..OutputArgs::default() };
    let observe = |loaded: &LoadedPlan| observer(ui, loaded, &telling);
    let workspace = ui.host.workspace();
    let ended = if let Some(run) = &args.cycle {
        let run = StateReader::open(&workspace)?.find_run(Some(run))?;
        adopt_reconciliation(ui, &run, &observe)?
    } else if let Some(ended) = deployed(ui, args, &observe)? {
        ended
    } else {
        cycle(ui, args, &observe)?
    };
    print_result(ui, &ended);
    // A daemon sees the end of what it started, and sends what follows: another goal does not wait for a recipient.
    if args.token.is_none() && args.cycle.is_none() {
        send_notifications(ui)?;
        wake_daemon(&workspace.state);
    }
    Ok(exit(ended.outcome.health))
}

/// Runs a reconciliation of a goal, with nothing else to say about it.
pub fn run_now(ui: &Ui, goal: &str) -> Result<CliExitCode, CommandError> {
    let goal = Some(goal.to_owned());
    run(
        ui,
        &GoalRunArgs { goal, json: false, commit: None, slot: None, cause: None, token: None, cycle: None },
    )
}

/// Reconciles a deployed goal, not started for a scheduled time here, on its backend.
fn deployed(
    ui: &Ui,
    args: &GoalRunArgs,
    observe: ObserverFactory<'_>,
) -> Result<Option<ReconciliationResult>, CommandError> {
    match (&args.goal, &args.commit, args.slot) {
        (Some(goal), None, None) => run_deployed(ui, goal, observe),
        _ => Ok(None),
    }
}

fn cycle(
    ui: &Ui,
    args: &GoalRunArgs,
    observe: ObserverFactory<'_>,
) -> Result<ReconciliationResult, CommandError> {
    let workspace = ui.host.workspace();
    let place = match &args.commit {
        None => GoalSource::Disk,
        Some(commit) => GoalSource::Commit(GitRevision::of(&workspace, commit, &ui.host.vars())?.into()),
    };
    let name = args.goal.as_deref().unwrap_or_default();
    let path = find_path(&ui.host, &workspace, &place, name)?;
    let files = place.files(&workspace);
    let lies_there = args.commit.is_none();
    // Starting it by hand accepts it; only a user at a terminal can have seen it.
    if lies_there && args.slot.is_none() && ui.terminal.is_interactive {
        accept::by_run(ui, &path)?;
    }
    let (loaded, goal) = load::load_goal(ui, &*files, workspace.clone(), &path, ReconciliationPart::Look)?;
    let request = ReconciliationRequest {
        slot: args.slot,
        cause: args.slot.map_or(ReconciliationCause::Person, |_| cause(args.cause)),
        token: args.token,
    };
    let waits = match args.slot.filter(|_| lies_there) {
        Some(_) => awaited_acceptance(ui, &loaded)?,
        None => None,
    };
    let result = match waits {
        Some(waits) => Err(CommandError::new(CliExitCode::Approval, format!("{path} {waits}"))),
        None => start_reconciliation(ui, &loaded, &goal, request, observe),
    };
    result.map_err(|error| goals::handle_start_failure(ui, &loaded, &goal, request, error))
}

fn cause(cause: Option<CauseArg>) -> ReconciliationCause {
    match cause {
        None | Some(CauseArg::Schedule) => ReconciliationCause::Schedule,
        Some(CauseArg::CatchUp) => ReconciliationCause::CatchUp,
        Some(CauseArg::Backfill) => ReconciliationCause::Backfill,
        Some(CauseArg::Person) => ReconciliationCause::Person,
    }
}

fn print_result(ui: &Ui, result: &ReconciliationResult) {
    let health = result.outcome.health;
    let style = match health {
        ReconciliationHealth::Healthy | ReconciliationHealth::Repaired | ReconciliationHealth::Reported => {
            GOOD
        }
        ReconciliationHealth::Failed | ReconciliationHealth::Cancelled => BAD,
        ReconciliationHealth::Waiting | ReconciliationHealth::Unknown => WARN,
    };
    let word = paint(style, health.as_str());
    let goal = paint(BOLD, result.goal.as_str());
    let reason = match result.outcome.reason.as_str() {
        "" => String::new(),
        reason => format!(" · {reason}"),
    };
    ui.print_message_line(&format!("{goal} is {word}{reason}"));
}

fn exit(health: ReconciliationHealth) -> CliExitCode {
    match health {
        ReconciliationHealth::Healthy | ReconciliationHealth::Repaired | ReconciliationHealth::Reported => {
            CliExitCode::Ok
        }
        ReconciliationHealth::Failed | ReconciliationHealth::Unknown => CliExitCode::RunFailed,
        ReconciliationHealth::Waiting => CliExitCode::Waiting,
        ReconciliationHealth::Cancelled => CliExitCode::Interrupted,
    }
}
