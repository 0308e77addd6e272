use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    sessions::{change_session, leave_session},
};
use wf_base::name::SessionName;
use wf_core::session::SessionChange;

/// Make another session the current one, or none; the previous one stays active
#[derive(Args, Debug)]
pub struct SessionSwitchArgs {
    /// Name of the session
    #[arg(value_name = "NAME", required_unless_present = "none", conflicts_with = "none")]
    name: Option<SessionName>,
    /// Work outside of all sessions
    #[arg(long)]
    none: bool,
}

/// Makes another session current.
pub(super) fn run(ui: &Ui, args: &SessionSwitchArgs) -> Result<CliExitCode, CommandError> {
    if let Some(name) = &args.name {
        change_session(ui, name, SessionChange::Enter)?;
        ui.print_info_line(&format!("session {name} is current"));
    } else {
        leave_session(ui)?;
        ui.print_info_line("no session is current");
    }
    Ok(CliExitCode::Ok)
}
