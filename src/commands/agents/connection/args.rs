use clap::{Args, Subcommand};

use super::{add, approve, check, grant, list, remove};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ConnectionArgs {
    #[command(subcommand)]
    command: ConnectionCommand,
}

#[derive(Subcommand, Debug)]
enum ConnectionCommand {
    Add(add::ConnectionAddArgs),
    List(list::ConnectionListArgs),
    Show(list::ConnectionShowArgs),
    Check(check::ConnectionCheckArgs),
    Grant(grant::ConnectionGrantArgs),
    Approve(approve::ConnectionApproveArgs),
    Remove(remove::ConnectionRemoveArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &ConnectionArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        ConnectionCommand::Add(args) => add::run(ui, args),
        ConnectionCommand::List(args) => list::list(ui, args),
        ConnectionCommand::Show(args) => list::show(ui, args),
        ConnectionCommand::Check(args) => check::run(ui, args),
        ConnectionCommand::Grant(args) => grant::run(ui, args),
        ConnectionCommand::Approve(args) => approve::run(ui, args),
        ConnectionCommand::Remove(args) => remove::run(ui, args),
    }
}
