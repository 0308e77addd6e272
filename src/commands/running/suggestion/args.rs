use clap::{Args, Subcommand};

use super::{accept, dismiss, list};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
A plan with `suggests` has an output in which its runs suggest further ones. A suggestion does
nothing until a person accepts it; then its plan runs as with `wf run`, with the approvals that it
needs. The number of pending ones is limited, and none is repeated soon: see docs/suggestions.md."
)]
pub struct SuggestionArgs {
    #[command(subcommand)]
    command: SuggestionCommand,
}

#[derive(Subcommand, Debug)]
enum SuggestionCommand {
    List(list::SuggestionListArgs),
    Accept(accept::SuggestionAcceptArgs),
    Dismiss(dismiss::SuggestionDismissArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &SuggestionArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        SuggestionCommand::List(args) => list::run(ui, args),
        SuggestionCommand::Accept(args) => accept::run(ui, args),
        SuggestionCommand::Dismiss(args) => dismiss::run(ui, args),
    }
}
