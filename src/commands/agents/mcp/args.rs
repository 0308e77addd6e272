use clap::{Args, Subcommand};

use super::{pin, serve};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct McpArgs {
    #[command(subcommand)]
    command: McpCommandName,
}

#[derive(Subcommand, Debug)]
enum McpCommandName {
    Serve(serve::McpServeArgs),
    Pin(pin::McpPinArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &McpArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        McpCommandName::Serve(args) => serve::run(ui, args),
        McpCommandName::Pin(args) => pin::run(ui, args),
    }
}
