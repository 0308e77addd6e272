use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, suggestions::dismiss_suggestion};

/// Dismiss a suggestion; its plan is not suggested during the `cooldown` of wf.yaml
#[derive(Args, Debug)]
pub struct SuggestionDismissArgs {
    /// Number of the suggestion
    #[arg(value_name = "NUMBER")]
    number: u32,
}

/// Dismisses a suggestion.
pub(super) fn run(ui: &Ui, args: &SuggestionDismissArgs) -> Result<CliExitCode, CommandError> {
    dismiss_suggestion(ui, args.number)?;
    ui.print_info_line(&format!("suggestion {} is dismissed", args.number));
    Ok(CliExitCode::Ok)
}
