use clap::Args;

use super::rows::{counts, short_line, table, tags};
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError, Host,
    approve::confirmed,
    memory::{MemoryCounts, MemoryReader, erase_forgotten, forget_entries},
};
use wf_core::memory::MemoryBundle;

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
    target: ForgetTargetArgs,
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
    let bundle = matching_entries(&ui.host, args)?;
    if bundle == MemoryBundle::default() {
        ui.print_info("no matching memory entries\n");
        // An earlier try may have left something.
        erase_forgotten(&ui.host)?;
        return Ok(CliExitCode::Ok);
    }
    if !bundle.megrams.is_empty() {
        ui.print_message(&table(&bundle.megrams));
    }
    for note in &bundle.notes {
        ui.print_message(&format!("{} {}\n", note.id.short(), short_line(&note.text)));
    }
    let count = counts(bundle.megrams.len(), bundle.notes.len());
    if !confirmed(ui, args.yes, &format!("Delete {count}, and their text from the log?"))? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was deleted"));
    }
    // The listed entries are deleted, and none that came meanwhile.
    let MemoryCounts { megrams, notes } = forget_entries(ui, &bundle)?;
    ui.print_line(&format!("deleted {}", counts(megrams, notes)))?;
    erase_forgotten(&ui.host)?;
    Ok(CliExitCode::Ok)
}

fn matching_entries(host: &Host, args: &MemoryForgetArgs) -> Result<MemoryBundle, CommandError> {
    let ForgetTargetArgs { id, space, .. } = &args.target;
    let memory = MemoryReader::open(host)?;
    let megrams = match (id, space, &args.entity) {
        (Some(id), ..) => return memory.find_entry(id),
        (_, Some(space), Some(entity)) => memory.of_cluster(tags(space, entity)?)?,
        (_, Some(space), None) => memory.of_space(space)?,
        _ => return memory.bundle(),
    };
    Ok(MemoryBundle { megrams, notes: Vec::new() })
}
