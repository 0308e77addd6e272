use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError, sessions::begin_session};
use wf_base::name::SessionName;

/// Create a session and make it the current one
#[derive(Args, Debug)]
pub struct SessionNewArgs {
    /// Name: lower-case words joined by hyphens
    #[arg(value_name = "NAME")]
    name: SessionName,
}

/// Begins a session.
pub(super) fn run(ui: &Ui, args: &SessionNewArgs) -> Result<CliExitCode, CommandError> {
    let session = begin_session(ui, &args.name)?;
    ui.print_info_line(&format!("session {} is {} and current", session.name, session.state));
    Ok(CliExitCode::Ok)
}
