//! The commands to hand a goal over to its backend, record its events there, and take it back.

use clap::Args;

use crate::{
    Ui,
    execute::{OutputArgs, observer},
};
use wf_app::{
    CliExitCode, CommandError,
    goals::{GoalSyncOutcome, SyncEnd, SyncExtent, deploy_goal, forget_deployment, recall_goal, sync_goal},
    load::LoadedPlan,
};
use wf_base::{time::Moment, units::plural};

/// Deploy a goal: its backend schedules and runs it, without a daemon at the workspace
#[derive(Args, Debug)]
#[command(after_help = "\
The backend that the file of the goal names decides about its scheduled times, starts its checks
and repairs, and sends its notifications. Everything starts under the approval of the goal, which
is needed in advance: `wf approve GOAL --executions N --expires DURATION`. The runs start with the
files of the workspace as they are now, and with what repairs changed since; deploy the goal again
after a change.

`wf goal sync` and the daemon record here what happens there. `wf goal recall` takes the goal
back.")]
pub struct GoalDeployArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
}

/// Record what happened to a deployed goal on its backend
#[derive(Args, Debug)]
#[command(after_help = "\
Records the decisions about the goal, and its runs with all their events, as if they had happened
here. A run under way is shown and followed to its end; Ctrl-C leaves it alone. A daemon does all
of this automatically.")]
pub struct GoalSyncArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Continue until the goal is recalled
    #[arg(short, long)]
    follow: bool,
}

/// Take a deployed goal back from its backend
#[derive(Args, Debug)]
#[command(after_help = "\
The backend starts nothing more for the goal. What is under way there is followed to its end, and
recorded; then the workspace decides about the goal again. Ctrl-C leaves that to `wf goal sync`.")]
pub struct GoalRecallArgs {
    /// ID or file of the goal
    #[arg(value_name = "GOAL")]
    goal: String,
    /// Cancel what is under way
    #[arg(long)]
    cancel: bool,
    /// Do not contact the backend, because it is lost; if it is not, it continues with the goal
    #[arg(long, conflicts_with = "cancel")]
    forget: bool,
}

/// Deploys a goal.
pub fn deploy(ui: &Ui, args: &GoalDeployArgs) -> Result<CliExitCode, CommandError> {
    let outcome = deploy_goal(ui, &args.goal)?;
    let next = outcome.next.map_or("never".to_owned(), Moment::to_second);
    ui.print_info_line(&format!(
        "{} is deployed on {} · next {next}",
        outcome.goal, outcome.deployed.backend
    ));
    Ok(CliExitCode::Ok)
}

/// Records the events of a deployed goal.
pub fn sync(ui: &Ui, args: &GoalSyncArgs) -> Result<CliExitCode, CommandError> {
    let extent = if args.follow { SyncExtent::Future } else { SyncExtent::Present };
    let outcome = sync_goal(ui, &args.goal, extent, &|loaded| shown(ui, loaded))?;
    let records = plural(usize::try_from(outcome.count).unwrap_or(usize::MAX), "new record");
    ui.print_info_line(&format!("{} on {} · {records}", outcome.goal, outcome.backend));
    Ok(print_end(ui, &outcome))
}

/// Recalls a goal.
pub fn recall(ui: &Ui, args: &GoalRecallArgs) -> Result<CliExitCode, CommandError> {
    if args.forget {
        let goal = forget_deployment(ui, &args.goal)?;
        ui.print_info_line(&format!("{goal} is back, and its backend was not told"));
        return Ok(CliExitCode::Ok);
    }
    let outcome = recall_goal(ui, &args.goal, args.cancel, &|loaded| shown(ui, loaded))?;
    Ok(print_end(ui, &outcome))
}

fn print_end(ui: &Ui, outcome: &GoalSyncOutcome) -> CliExitCode {
    let GoalSyncOutcome { goal, backend, end, .. } = outcome;
    match end {
        SyncEnd::UpToDate => CliExitCode::Ok,
        SyncEnd::Recalled => {
            ui.print_info_line(&format!("{goal} is back from {backend}: its daemon decides about it"));
            CliExitCode::Ok
        }
        SyncEnd::Interrupted => {
            ui.print_info_line(&format!(
                "{goal} continues on {backend}; to record what happens: wf goal sync {goal}"
            ));
            CliExitCode::Interrupted
        }
    }
}

fn shown(ui: &Ui, loaded: &LoadedPlan) -> Box<dyn wf_core::observe::RunObserver + Send> {
    observer(ui, loaded, &OutputArgs::default())
}
