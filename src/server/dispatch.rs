use std::path::PathBuf;

use clap::Args;

use super::{answers, looking, running};
use crate::{Ui, args::CliCommand};
use wf_app::{CliExitCode, CommandError, server::ServerClient, usage_error};

/// The server whose workspace a command is about.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerArgs {
    /// Use the workspace that `wf serve` serves at this address, instead of this one
    #[arg(long, value_name = "URL", global = true, help_heading = "Global options")]
    pub server: Option<String>,
    /// File with the key for --server, which only its owner can read; else the variable `WF_SERVER_KEY` has it
    #[arg(long, value_name = "FILE", global = true, help_heading = "Global options")]
    pub server_key: Option<PathBuf>,
}

/// Runs a command with a server. The command line has refused commands and options that do not work so.
pub fn run(
    ui: &Ui,
    server: &str,
    args: &ServerArgs,
    command: &CliCommand,
) -> Result<CliExitCode, CommandError> {
    let client = ServerClient::new(&ui.host, server, args.server_key.as_deref())?;
    match command {
        CliCommand::List(args) => looking::list(ui, &client, args),
        CliCommand::Runs(args) => looking::runs(ui, &client, args),
        CliCommand::Show(args) => looking::show(ui, &client, args),
        CliCommand::Logs(args) => looking::logs(ui, &client, args),
        CliCommand::Inbox(args) => looking::inbox(ui, &client, args),
        CliCommand::Run(args) => running::run(ui, &client, args),
        CliCommand::Retry(args) => running::retry(ui, &client, args),
        CliCommand::Resume(args) => running::resume(ui, &client, args),
        CliCommand::Cancel(args) => running::cancel(ui, &client, args),
        CliCommand::Approve(args) => answers::approve(ui, &client, args),
        CliCommand::Deny(args) => answers::deny(ui, &client, args),
        CliCommand::Answer(args) => answers::answer(ui, &client, args),
        _ => Err(usage_error("this command does not work with --server")),
    }
}
