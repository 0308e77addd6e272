use clap::{Args, Subcommand};

use crate::Ui;
use wf_app::{CliExitCode, CommandError};

mod goals;

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct SimArgs {
    #[command(subcommand)]
    what: SimCommand,
}

#[derive(Subcommand, Debug)]
enum SimCommand {
    Goals(goals::SimGoalsArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &SimArgs) -> Result<CliExitCode, CommandError> {
    match &args.what {
        SimCommand::Goals(args) => goals::run(ui, args),
    }
}
