use std::time::Duration;

use clap::{Args, Subcommand};

use super::{add, approve, check, grant, list, remove};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::name::PlanId;

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

/// Parses the name of a connection.
pub(super) fn name(text: &str) -> Result<PlanId, String> {
    PlanId::parse(text).map_err(|error| error.to_string())
}

/// Parses a duration.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    wf_base::time::parse_duration(text).map_err(|error| error.to_string())
}
