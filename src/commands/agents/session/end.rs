use clap::Args;

use super::runs::{OpenRuns, short_names};
use crate::Ui;
use crate::commands::agents::memory::{find_note, promote_notes};
use wf_app::sessions::{change_session, named_or_current};
use wf_app::{CliExitCode, CommandError};
use wf_base::name::{RunId, SessionName};
use wf_base::units::plural;
use wf_core::memory::MemoryNote;
use wf_core::session::{SessionChange, SessionRefusal};
use wf_store::{StoreError, StoreReader};

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

/// Ends a session whose runs have all ended, and shares notes of it.
pub(super) fn complete(ui: &Ui, args: &SessionCompleteArgs) -> Result<CliExitCode, CommandError> {
    let (reader, name) = find_open(ui, args.name.as_ref())?;
    let runs = OpenRuns::of(&reader, &name)?;
    require_none(&name, &runs.all(), "have not ended", "resume or cancel them first: wf runs --session")?;
    let chosen: Result<Vec<MemoryNote>, CommandError> =
        args.promote.iter().map(|id| note_of(ui, &name, id)).collect();
    promote_notes(ui, chosen?, args.yes)?;
    change_session(ui, &name, SessionChange::Complete)?;
    ui.print_info_line(&format!("session {name} is completed"));
    let own = reader.notes()?;
    let own = own.iter().filter(|note| note.session.as_ref() == Some(&name) && !note.is_shared()).count();
    if own > 0 {
        let notes = plural(own, "note");
        ui.print_info_line(&format!(
            "{notes} in it alone: wf memory search --session {name}, wf memory promote ID"
        ));
    }
    Ok(CliExitCode::Ok)
}

/// Ends a session as failed.
pub(super) fn fail(ui: &Ui, args: &SessionFailArgs) -> Result<CliExitCode, CommandError> {
    let (reader, name) = find_open(ui, args.name.as_ref())?;
    let runs = OpenRuns::of(&reader, &name)?;
    require_none(&name, &runs.live(), "are under way", "suspend it first: wf session suspend")?;
    change_session(ui, &name, SessionChange::Fail { reason: args.reason.clone() })?;
    ui.print_info_line(&format!("session {name} is failed"));
    Ok(CliExitCode::Ok)
}

/// Returns the session that a command ends; it must not have ended before anything is done.
fn find_open(ui: &Ui, name: Option<&SessionName>) -> Result<(StoreReader, SessionName), CommandError> {
    let reader = StoreReader::open(&ui.host.workspace().state)?;
    let session = named_or_current(&reader, name)?;
    if session.state.is_over() {
        let refusal = SessionRefusal::Over { name: session.name, state: session.state };
        return Err(StoreError::Session(refusal).into());
    }
    Ok((reader, session.name))
}

fn require_none(name: &SessionName, runs: &[&RunId], what: &str, remedy: &str) -> Result<(), CommandError> {
    if runs.is_empty() {
        return Ok(());
    }
    let message = format!("runs of session `{name}` {what}: {}", short_names(runs));
    Err(CommandError::new(CliExitCode::Usage, message).hint(format!("{remedy} {name}")))
}

fn note_of(ui: &Ui, name: &SessionName, id: &str) -> Result<MemoryNote, CommandError> {
    let note = find_note(&ui.host, id)?;
    if note.session.as_ref() == Some(name) {
        return Ok(note);
    }
    let message = format!("note {} was not written in session `{name}`", note.id.short());
    Err(CommandError::new(CliExitCode::Usage, message)
        .hint(format!("its notes: wf memory search --session {name}")))
}
