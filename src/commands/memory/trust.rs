use clap::{Args, ValueEnum};

use super::rows::{find_note, line, store};
use crate::Ui;
use crate::commands::goal::author;
use wf_app::approve::confirmed;
use wf_app::{CliExitCode, CommandError, watch};
use wf_core::memory::{NoteConfirmation, NoteTrust};
use wf_store::feed::WorkspaceAction;

/// Change the trust in a note
#[derive(Args, Debug)]
#[command(after_help = "\
Agents and imports add notes with working trust; only people raise it. Text from outside becomes
verified only so, and constitutional never. Examples:
  wf memory trust 3fa2 verified
  wf memory trust 3fa2 working --yes")]
pub struct MemoryTrustArgs {
    /// Note ID or unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// New trust
    #[arg(value_name = "TRUST")]
    trust: NoteTrustArg,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// The degrees of trust.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum NoteTrustArg {
    /// Somebody said so
    Working,
    /// You confirm it
    Verified,
    /// It is a rule for everything
    Constitutional,
}

impl From<NoteTrustArg> for NoteTrust {
    fn from(trust: NoteTrustArg) -> Self {
        match trust {
            NoteTrustArg::Working => Self::Working,
            NoteTrustArg::Verified => Self::Verified,
            NoteTrustArg::Constitutional => Self::Constitutional,
        }
    }
}

/// Changes the trust in a note.
pub(super) fn run(ui: &Ui, args: &MemoryTrustArgs) -> Result<CliExitCode, CommandError> {
    let note = find_note(&ui.host, &args.id)?;
    let (id, trust) = (note.id, NoteTrust::from(args.trust));
    let outside = if note.external { ", text from outside" } else { "" };
    ui.print_message(&format!("{} ({}{outside}): {}\n", id.short(), note.source, line(&note.text)));
    let who = author(&ui.host).map_or_else(|| "user".to_owned(), |key| key.name);
    let changed = note.trusted(trust, NoteConfirmation { who, at: ui.host.now() }).map_err(|bad| {
        CommandError::new(CliExitCode::Usage, bad.to_string()).hint("the note is unchanged")
    })?;
    if !confirmed(ui, args.yes, &format!("Make it {trust}?"))? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was changed"));
    }
    store(&ui.host)?.replace_note(changed).wait()?;
    watch::record_quietly(ui, WorkspaceAction::NoteTrusted { note: id, trust: trust.to_string() });
    ui.print_line(&format!("note {} is {trust}", id.short()))?;
    Ok(CliExitCode::Ok)
}
