use clap::{Args, Subcommand};

use super::next;
use crate::cli::{Exit, Failure, Ui};

/// Look at goals: what is kept true on a schedule
#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub struct GoalArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Next(next::NextArgs),
}

/// Does what is asked for.
pub fn run(ui: &Ui, args: &GoalArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::Next(args) => next::run(ui, args),
    }
}
