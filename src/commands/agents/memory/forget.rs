use clap::Args;

use super::rows::{counts, find_entry, notes, rows, short_line, store, table, tags};
use crate::Ui;
use wf_app::approve::confirmed;
use wf_app::{CliExitCode, CommandError, Host, watch};
use wf_core::memory::MemoryBundle;
use wf_store::feed::WorkspaceAction;
use wf_store::{MegramSelection, Store};

/// Delete entries from memory, and their text from the log
#[derive(Args, Debug)]
#[command(after_help = "\
Shows the entries first. Their text leaves the database: the log keeps the hashes of the events
that had it, so that it can still be verified. Not reached: backups, exports, the record and the
logs of the run that an entry came from (`retention` prunes these), and a rule that was made from
it, which is an entry of its own. The whole database is written anew, which takes a moment if it
is large.

Examples:
  wf memory forget --id 3fa2
  wf memory forget --space tool:curl --entity path:api.example
  wf memory forget --all --yes")]
pub struct MemoryForgetArgs {
    #[command(flatten)]
    what: ForgetTargetArgs,
    /// Only this entity of the space
    #[arg(long, value_name = "ENTITY", requires = "space")]
    entity: Option<String>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// The selection: exactly one of these.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct ForgetTargetArgs {
    /// Megram or note ID, or unique prefix
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Every megram in a space
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

/// Deletes entries.
pub(super) fn run(ui: &Ui, args: &MemoryForgetArgs) -> Result<CliExitCode, CommandError> {
    let found = matching_entries(&ui.host, args)?;
    if found == MemoryBundle::default() {
        ui.print_info("no matching memory entries\n");
        // An earlier try may have left something.
        if ui.host.workspace().state.exists() {
            scrub(&store(&ui.host)?)?;
        }
        return Ok(CliExitCode::Ok);
    }
    if !found.megrams.is_empty() {
        ui.print_message(&table(&found.megrams));
    }
    for note in &found.notes {
        ui.print_message(&format!("{} {}\n", note.id.short(), short_line(&note.text)));
    }
    let count = counts(found.megrams.len(), found.notes.len());
    if !confirmed(ui, args.yes, &format!("Delete {count}, and their text from the log?"))? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was deleted"));
    }
    // The listed entries are deleted, and none that came meanwhile.
    let store = store(&ui.host)?;
    let megrams = store.forget(found.megrams.iter().map(|megram| megram.id).collect()).wait()?;
    let notes = store.forget(found.notes.iter().map(|note| note.id).collect()).wait()?;
    let action = WorkspaceAction::MemoryForgotten { megrams: megrams as u64, notes: notes as u64 };
    watch::record_quietly(ui, action);
    ui.print_line(&format!("deleted {}", counts(megrams, notes)))?;
    scrub(&store)?;
    Ok(CliExitCode::Ok)
}

/// Overwrites what is left of deleted text in the files of the database.
fn scrub(store: &Store) -> Result<(), CommandError> {
    let scrubbed = store.scrub();
    if matches!(scrubbed, Ok(true)) {
        return Ok(());
    }
    let cause = scrubbed.err().map_or_else(|| "another process reads it".into(), |error| error.to_string());
    let path = store.folder().database();
    let message =
        format!("deleted text may be left in unused parts of {} and its log: {cause}", path.display());
    Err(CommandError::new(CliExitCode::State, message)
        .hint("repeat the command, with the same selection, once no run and no daemon works"))
}

fn matching_entries(host: &Host, args: &MemoryForgetArgs) -> Result<MemoryBundle, CommandError> {
    let ForgetTargetArgs { id, space, .. } = &args.what;
    let (megrams, notes) = match (id, space, &args.entity) {
        (Some(id), ..) => return find_entry(host, id),
        (_, Some(space), Some(entity)) => {
            (rows(host, &MegramSelection::Cluster(tags(space, entity)?))?, Vec::new())
        }
        (_, Some(space), None) => (rows(host, &MegramSelection::Space(space.clone()))?, Vec::new()),
        _ => (rows(host, &MegramSelection::All)?, notes(host)?),
    };
    Ok(MemoryBundle { megrams, notes })
}
