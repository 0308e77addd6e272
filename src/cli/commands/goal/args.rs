use clap::{Args, Subcommand};

use super::{
    accept, autonomy, backfill, feedback, history, list, next, pause, run as goal_run, tighten,
};
use crate::cli::{Exit, Failure, Ui, goals};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct GoalArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    List(list::ListArgs),
    Next(next::NextArgs),
    Run(goal_run::RunArgs),
    Accept(accept::AcceptArgs),
    Pause(pause::PauseArgs),
    Resume(pause::ResumeArgs),
    History(history::HistoryArgs),
    Backfill(backfill::BackfillArgs),
    Autonomy(autonomy::AutonomyArgs),
    Feedback(feedback::FeedbackArgs),
    Tighten(tighten::TightenArgs),
    /// Tell people what they are still to be told
    #[command(hide = true)]
    Tell,
    /// Write down the goals that there are, for a daemon
    #[command(hide = true)]
    Read {
        /// As they are in this commit
        #[arg(long)]
        commit: Option<String>,
    },
}

/// Does what is asked for.
pub fn run(ui: &Ui, args: &GoalArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::List(args) => list::run(ui, args),
        What::Next(args) => next::run(ui, args),
        What::Run(args) => goal_run::run(ui, args),
        What::Accept(args) => accept::run(ui, args),
        What::Pause(args) => pause::pause(ui, args),
        What::Resume(args) => pause::resume(ui, args),
        What::History(args) => history::run(ui, args),
        What::Backfill(args) => backfill::run(ui, args),
        What::Autonomy(args) => autonomy::run(ui, args),
        What::Feedback(args) => feedback::run(ui, args),
        What::Tighten(args) => tighten::run(ui, args),
        What::Tell => goals::tell(ui).map(|()| Exit::Ok),
        What::Read { commit } => goals::write(ui, commit.as_deref()).map(|()| Exit::Ok),
    }
}
