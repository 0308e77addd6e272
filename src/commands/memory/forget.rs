use clap::Args;

use super::rows::{find_megram, rows, store, table, tags};
use crate::Ui;
use wf_app::approve::confirmed;
use wf_app::{CliExitCode, CommandError, Host, watch};
use wf_base::units::plural;
use wf_core::memory::Megram;
use wf_store::MegramSelection;
use wf_store::feed::WorkspaceAction;

/// Delete entries from memory; the log of events keeps their text
#[derive(Args, Debug)]
#[command(after_help = "\
Shows the entries first. Examples:
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
        return Ok(CliExitCode::Ok);
    }
    ui.print_message(&table(&megrams));
    let count = plural(megrams.len(), "megram");
    if !confirmed(ui, args.yes, &format!("Delete {count}? The log of events keeps their text."))? {
        return Err(CommandError::new(CliExitCode::Interrupted, "aborted, nothing was deleted"));
    }
    // The listed entries are deleted, and none that came meanwhile.
    let ids = megrams.iter().map(|megram| megram.id).collect();
    let gone = store(&ui.host)?.forget(ids).wait()?;
    let megrams = gone as u64;
    watch::record_quietly(ui, WorkspaceAction::MemoryForgotten { megrams });
    ui.print_line(&format!("deleted {}", plural(gone, "megram")))?;
    Ok(CliExitCode::Ok)
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
