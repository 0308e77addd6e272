use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, sessions::session_checkpoint};
use wf_base::name::SessionName;

/// Show a session: its runs, open requests, answers, files and notes
#[derive(Args, Debug)]
pub struct SessionShowArgs {
    /// Name of the session [default: the current one]
    #[arg(value_name = "NAME")]
    name: Option<SessionName>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Shows a session.
pub(super) fn run(ui: &Ui, args: &SessionShowArgs) -> Result<CliExitCode, CommandError> {
    let checkpoint = session_checkpoint(&ui.host, args.name.as_ref())?;
    if args.json {
        ui.print_json(&(serde_json::to_string_pretty(&checkpoint).unwrap_or_default() + "\n"))?;
    } else {
        ui.print(&checkpoint.render())?;
    }
    Ok(CliExitCode::Ok)
}
