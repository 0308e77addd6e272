use clap::Args;

use crate::{Ui, commands::agents::memory::promote_notes};
use wf_app::{
    CliExitCode, CommandError,
    sessions::{OpenedSession, change_session},
};
use wf_base::{name::SessionName, units::plural};
use wf_core::{memory::MemoryNote, session::SessionChange};

/// End a session as completed
#[derive(Args, Debug)]
#[command(after_help = "\
The notes of the session stay in it unless they are promoted. Examples:
  wf memory search --session feature-a
  wf session complete feature-a --promote 3fa2 --promote 9c01")]
pub struct SessionCompleteArgs {
    /// Name of the session [default: the current one]
    #[arg(value_name = "NAME")]
    name: Option<SessionName>,
    /// Note to share with all sessions
    #[arg(long, value_name = "ID")]
    promote: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// End a session as failed
#[derive(Args, Debug)]
pub struct SessionFailArgs {
    /// Name of the session [default: the current one]
    #[arg(value_name = "NAME")]
    name: Option<SessionName>,
    /// Reason, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// Ends a session after the end of all its runs, and shares notes of it.
pub(super) fn complete(ui: &Ui, args: &SessionCompleteArgs) -> Result<CliExitCode, CommandError> {
    let session = OpenedSession::find_active(&ui.host, args.name.as_ref())?;
    let name = &session.name;
    session.require_ended_runs()?;
    let chosen: Result<Vec<MemoryNote>, CommandError> =
        args.promote.iter().map(|id| session.find_note(id)).collect();
    promote_notes(ui, chosen?, args.yes)?;
    change_session(ui, name, SessionChange::Complete)?;
    ui.print_info_line(&format!("session {name} is completed"));
    let unshared = session.unshared_notes()?;
    if unshared > 0 {
        let notes = plural(unshared, "note");
        ui.print_info_line(&format!(
            "{notes} in it alone: wf memory search --session {name}, wf memory promote ID"
        ));
    }
    Ok(CliExitCode::Ok)
}

/// Ends a session as failed.
pub(super) fn fail(ui: &Ui, args: &SessionFailArgs) -> Result<CliExitCode, CommandError> {
    let session = OpenedSession::find_active(&ui.host, args.name.as_ref())?;
    session.require_no_live_runs()?;
    change_session(ui, &session.name, SessionChange::Fail { reason: args.reason.clone() })?;
    ui.print_info_line(&format!("session {} is failed", session.name));
    Ok(CliExitCode::Ok)
}
