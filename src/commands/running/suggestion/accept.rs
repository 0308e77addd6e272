use clap::Args;

use crate::{
    Ui,
    approve::ApprovalArgs,
    cassette::CassetteArgs,
    execute::{OutputArgs, start_run},
};
use wf_app::{CliExitCode, CommandError, suggestions::suggestion_start};

/// Run the plan of a suggestion, with its parameters
#[derive(Args, Debug)]
pub struct SuggestionAcceptArgs {
    /// Number of the suggestion
    #[arg(value_name = "NUMBER")]
    number: u32,
    #[command(flatten)]
    approval: ApprovalArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Starts the plan of a suggestion.
pub(super) fn run(ui: &Ui, args: &SuggestionAcceptArgs) -> Result<CliExitCode, CommandError> {
    loop {
        let start = suggestion_start(ui, args.number)?;
        let announcement = format!("accepts suggestion {}\n", args.number);
        let cassette = CassetteArgs::default();
        let exit = start_run(ui, start, &announcement, &args.approval, &args.output, &cassette)?;
        if let Some(exit) = exit {
            return Ok(exit);
        }
    }
}
