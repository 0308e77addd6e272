use clap::Args;

use super::checkpoint::read_checkpoint;
use crate::Ui;
use wf_app::sessions::named_or_current;
use wf_app::{CliExitCode, CommandError};
use wf_base::name::SessionName;
use wf_store::StoreReader;

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
    let reader = StoreReader::open(&ui.host.workspace().state)?;
    let session = named_or_current(&reader, args.name.as_ref())?;
    let checkpoint = read_checkpoint(&reader, session)?;
    if args.json {
        ui.print_json(&(serde_json::to_string_pretty(&checkpoint).unwrap_or_default() + "\n"))?;
    } else {
        ui.print(&checkpoint.render())?;
    }
    Ok(CliExitCode::Ok)
}
