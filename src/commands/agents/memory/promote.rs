use clap::Args;

use super::rows::line;
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    approve::confirmed,
    memory::{MemoryReader, share_note},
};
use wf_base::{
    name::SessionName,
    units::plural,
    untrusted::{WARN, paint},
};
use wf_core::memory::MemoryNote;

/// Share notes of a session with all sessions
#[derive(Args, Debug)]
#[command(after_help = "\
A note that was written in a session is found there alone, unless it is a failure or a preference.
Who promotes it, and when, is recorded; shared notes that say something else are shown first, and
stay.

Examples:
  wf memory search --session feature-a       what was noted there
  wf memory promote 3fa2 9c01")]
pub struct MemoryPromoteArgs {
    /// Note ID or unique prefix
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// Promotes notes.
pub(super) fn run(ui: &Ui, args: &MemoryPromoteArgs) -> Result<CliExitCode, CommandError> {
    let memory = MemoryReader::open(&ui.host)?;
    let chosen: Result<Vec<MemoryNote>, CommandError> =
        args.ids.iter().map(|id| memory.find_note(id)).collect();
    promote_notes(ui, chosen?, args.yes)?;
    Ok(CliExitCode::Ok)
}

/// Shares notes with all sessions, once a person has seen the contradictions.
pub fn promote_notes(ui: &Ui, notes: Vec<MemoryNote>, yes: bool) -> Result<(), CommandError> {
    let memory_notes = MemoryReader::open(&ui.host)?.notes()?;
    let (shared, own): (Vec<MemoryNote>, Vec<MemoryNote>) =
        notes.into_iter().partition(MemoryNote::is_shared);
    for note in &shared {
        ui.print_message(&format!("note {} is shared already\n", note.id.short()));
    }
    if own.is_empty() {
        return Ok(());
    }
    for note in &own {
        let session = note.session.as_ref().map_or("", SessionName::as_str);
        ui.print_message(&format!("{} ({session}): {}\n", note.id.short(), line(&note.text)));
        for other in note.contradicted_by(&memory_notes) {
            let (warning, id) = (paint(WARN, "warning:"), other.id.short());
            ui.print_message(&format!(
                "{warning} note {id} of the same kind and tags says: {}\n",
                line(&other.text)
            ));
        }
    }
    let question = format!("Share {} with all sessions?", plural(own.len(), "note"));
    if !confirmed(ui, yes, &question)? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was changed"));
    }
    for note in own {
        let id = note.id;
        share_note(ui, note)?;
        ui.print_line(&format!("note {} is shared", id.short()))?;
    }
    Ok(())
}
