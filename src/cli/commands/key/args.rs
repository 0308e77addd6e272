use clap::{Args, Subcommand};

use super::check_signature::{self, CheckArgs};
use crate::cli::{Exit, Failure, Ui};

/// Make, show and revoke the keys that sign approvals
#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Subcommand, Debug)]
enum KeyCommand {
    CheckSignature(CheckArgs),
}

/// Does what is asked of keys.
pub fn run(ui: &Ui, args: &KeyArgs) -> Result<Exit, Failure> {
    match &args.command {
        KeyCommand::CheckSignature(args) => check_signature::run(ui, args),
    }
}
