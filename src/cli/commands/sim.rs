use clap::{Args, Subcommand};

use crate::cli::{Exit, Failure, Ui};

mod goals;

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct SimArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Goals(goals::GoalsArgs),
}

/// Tries something out.
pub fn run(ui: &Ui, args: &SimArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::Goals(args) => goals::run(ui, args),
    }
}
