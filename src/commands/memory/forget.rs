use clap::Args;

use super::rows::{find_megram, rows, store, table, tags};
use crate::Ui;
use wf_app::approve::confirmed;
use wf_app::{CliExitCode, CommandError, Host, watch};
use wf_base::units::plural;
use wf_core::memory::Megram;
use wf_store::feed::WorkspaceAction;
use wf_store::{MegramSelection, Store};

/// Delete entries from memory, and their text from the log
#[derive(Args, Debug)]
#[command(after_help = "\
Shows the entries first. Their text leaves the database: the log keeps the hashes of the events that had
it, so that it can still be verified. Not reached: backups, exports, the record and the logs of the run
that an entry came from (`retention` prunes these), and a rule that was made from it, which is an entry
of its own. The whole database is written anew, which takes a moment if it is large. Examples:
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
    /// Megram ID or unique prefix
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Everything in a space
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

/// Deletes entries.
pub(super) fn run(ui: &Ui, args: &MemoryForgetArgs) -> Result<CliExitCode, CommandError> {
    let megrams = matching_megrams(&ui.host, args)?;
    if megrams.is_empty() {
        ui.print_info("no matching memory entries\n");
        // An earlier try may have left something.
        if ui.host.workspace().state.exists() {
            scrub(&store(&ui.host)?)?;
        }
        return Ok(CliExitCode::Ok);
    }
    ui.print_message(&table(&megrams));
    let count = plural(megrams.len(), "megram");
    if !confirmed(ui, args.yes, &format!("Delete {count}, and their text from the log?"))? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was deleted"));
    }
    // The listed entries are deleted, and none that came meanwhile.
    let ids = megrams.iter().map(|megram| megram.id).collect();
    let store = store(&ui.host)?;
    let gone = store.forget(ids).wait()?;
    let megrams = gone as u64;
    watch::record_quietly(ui, WorkspaceAction::MemoryForgotten { megrams });
    ui.print_line(&format!("deleted {}", plural(gone, "megram")))?;
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

fn matching_megrams(host: &Host, args: &MemoryForgetArgs) -> Result<Vec<Megram>, CommandError> {
    let ForgetTargetArgs { id, space, .. } = &args.what;
    match (id, space, &args.entity) {
        (Some(id), ..) => Ok(vec![find_megram(host, id)?]),
        (_, Some(space), Some(entity)) => rows(host, &MegramSelection::Cluster(tags(space, entity)?)),
        (_, Some(space), None) => rows(host, &MegramSelection::Space(space.clone())),
        _ => rows(host, &MegramSelection::All),
    }
}
