use clap::{Args, Subcommand};

use super::{begin, end, list, pause, show, switch};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Runs, conversations of agents and notes belong to the session in which they were started: the
current one, or the one that --session names. Nothing of a session is found in another one until
it is promoted.
See docs/sessions.md."
)]
pub struct SessionArgs {
    #[command(subcommand)]
    command: SessionCommand,
}

#[derive(Subcommand, Debug)]
enum SessionCommand {
    New(begin::SessionNewArgs),
    List(list::SessionListArgs),
    Show(show::SessionShowArgs),
    Switch(switch::SessionSwitchArgs),
    Suspend(pause::SessionSuspendArgs),
    Resume(pause::SessionResumeArgs),
    Complete(end::SessionCompleteArgs),
    Fail(end::SessionFailArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &SessionArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        SessionCommand::New(args) => begin::run(ui, args),
        SessionCommand::List(args) => list::run(ui, args),
        SessionCommand::Show(args) => show::run(ui, args),
        SessionCommand::Switch(args) => switch::run(ui, args),
        SessionCommand::Suspend(args) => pause::suspend(ui, args),
        SessionCommand::Resume(args) => pause::resume(ui, args),
        SessionCommand::Complete(args) => end::complete(ui, args),
        SessionCommand::Fail(args) => end::fail(ui, args),
    }
}
