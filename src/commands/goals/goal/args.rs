use clap::{Args, Subcommand};

use super::{
    accept, autonomy, backfill, deploy, feedback, history, list, next, pause, run as goal_run, simulate,
    tighten,
};
use crate::Ui;
use wf_app::{CliExitCode, CommandError, goals};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct GoalArgs {
    #[command(subcommand)]
    command: GoalSubcommand,
}

#[derive(Subcommand, Debug)]
enum GoalSubcommand {
    List(list::GoalListArgs),
    Next(next::GoalNextArgs),
    Simulate(simulate::GoalSimulateArgs),
    Run(goal_run::GoalRunArgs),
    Accept(accept::GoalAcceptArgs),
    Pause(pause::GoalPauseArgs),
    Resume(pause::GoalResumeArgs),
    Deploy(deploy::GoalDeployArgs),
    Sync(deploy::GoalSyncArgs),
    Recall(deploy::GoalRecallArgs),
    History(history::GoalHistoryArgs),
    Backfill(backfill::GoalBackfillArgs),
    Autonomy(autonomy::GoalAutonomyArgs),
    Feedback(feedback::GoalFeedbackArgs),
    Tighten(tighten::GoalTightenArgs),
    /// Send pending notifications
    #[command(hide = true)]
    Tell,
    /// List the goals for a daemon
    #[command(hide = true)]
    Read {
        /// Read them from this commit
        #[arg(long)]
        commit: Option<String>,
    },
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &GoalArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        GoalSubcommand::List(args) => list::run(ui, args),
        GoalSubcommand::Next(args) => next::run(ui, args),
        GoalSubcommand::Simulate(args) => simulate::run(ui, args),
        GoalSubcommand::Run(args) => goal_run::run(ui, args),
        GoalSubcommand::Accept(args) => accept::run(ui, args),
        GoalSubcommand::Pause(args) => pause::pause(ui, args),
        GoalSubcommand::Resume(args) => pause::resume(ui, args),
        GoalSubcommand::Deploy(args) => deploy::deploy(ui, args),
        GoalSubcommand::Sync(args) => deploy::sync(ui, args),
        GoalSubcommand::Recall(args) => deploy::recall(ui, args),
        GoalSubcommand::History(args) => history::run(ui, args),
        GoalSubcommand::Backfill(args) => backfill::run(ui, args),
        GoalSubcommand::Autonomy(args) => autonomy::run(ui, args),
        GoalSubcommand::Feedback(args) => feedback::run(ui, args),
        GoalSubcommand::Tighten(args) => tighten::run(ui, args),
        GoalSubcommand::Tell => wf_app::goals::send_notifications(ui).map(|()| CliExitCode::Ok),
        GoalSubcommand::Read { commit } => {
            ui.print_json(&goals::goal_lines(ui, commit.as_deref())?)?;
            Ok(CliExitCode::Ok)
        }
    }
}
