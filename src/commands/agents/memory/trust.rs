use clap::{Args, ValueEnum};

use super::rows::line;
use crate::{Ui, commands::goals::goal::author};
use wf_app::{
    CliExitCode, CommandError,
    approve::confirmed,
    memory::{MemoryReader, confirm_megram, set_note_trust},
};
use wf_core::memory::{Megram, MemoryNote, NoteConfirmation, NoteTrust};

/// Change the trust in a note, or in a claim of an imported file
#[derive(Args, Debug)]
#[command(after_help = "\
Agents and imports add entries with working trust; only people raise it. A note from outside
becomes verified only so, and constitutional never. A megram of an imported file is a claim until
then: a verified one is an outcome that counts from its import, a constitutional one a law.

Examples:
  wf memory trust 3fa2 verified
  wf memory trust 3fa2 working --yes")]
pub struct MemoryTrustArgs {
    /// Note or megram ID, or unique prefix
    #[arg(value_name = "ID")]
    id: String,
    /// New level of trust
    #[arg(value_name = "TRUST")]
    trust: NoteTrustArg,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// The degrees of trust.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum NoteTrustArg {
    /// Stated, and not confirmed
    Working,
    /// Confirmed by you
    Verified,
    /// A rule that applies to everything
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

/// Changes the trust in a note, or in a claim of a file.
pub(super) fn run(ui: &Ui, args: &MemoryTrustArgs) -> Result<CliExitCode, CommandError> {
    let mut bundle = MemoryReader::open(&ui.host)?.find_entry(&args.id)?;
    let trust = NoteTrust::from(args.trust);
    match (bundle.megrams.pop(), bundle.notes.pop()) {
        (Some(megram), _) => trust_megram(ui, args, megram, trust),
        (None, Some(note)) => trust_note(ui, args, note, trust),
        (None, None) => Ok(CliExitCode::Ok),
    }
}

fn trust_note(
    ui: &Ui,
    args: &MemoryTrustArgs,
    note: MemoryNote,
    trust: NoteTrust,
) -> Result<CliExitCode, CommandError> {
    let id = note.id;
    let outside = if note.external { ", text from outside" } else { "" };
    let source = line(&note.source);
    ui.print_message(&format!("{} ({source}{outside}): {}\n", id.short(), line(&note.text)));
    let who = author(&ui.host).map_or_else(|| "user".to_owned(), |key| key.name);
    let changed = note.trusted(trust, NoteConfirmation { who, at: ui.host.now() }).map_err(|error| {
        CommandError::new(CliExitCode::Usage, error.to_string()).hint("the note is unchanged")
    })?;
    confirm(ui, args, trust)?;
    set_note_trust(ui, changed, trust)?;
    ui.print_line(&format!("note {} is {trust}", id.short()))?;
    Ok(CliExitCode::Ok)
}

fn trust_megram(
    ui: &Ui,
    args: &MemoryTrustArgs,
    megram: Megram,
    trust: NoteTrust,
) -> Result<CliExitCode, CommandError> {
    let id = megram.id;
    let (state, tags) = (megram.state, line(&megram.tags.to_string()));
    ui.print_message(&format!("{} ({state}, {tags}): {}\n", id.short(), line(&megram.content)));
    let changed = megram.confirmed(trust).map_err(|error| {
        CommandError::new(CliExitCode::Usage, error.to_string())
            .hint("to contradict a rule: wf memory feedback; to delete an entry: wf memory forget")
    })?;
    confirm(ui, args, trust)?;
    let level = changed.level;
    confirm_megram(ui, &changed, trust)?;
    ui.print_line(&format!("megram {} is {trust}: its level is {level}", id.short()))?;
    Ok(CliExitCode::Ok)
}

fn confirm(ui: &Ui, args: &MemoryTrustArgs, trust: NoteTrust) -> Result<(), CommandError> {
    if confirmed(ui, args.yes, &format!("Make it {trust}?"))? {
        return Ok(());
    }
    Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was changed"))
}
