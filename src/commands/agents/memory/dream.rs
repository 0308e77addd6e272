use clap::Args;

use super::rows::{document, table};
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError,
    memory::{MemoryReader, consolidate_memory},
};
use wf_base::untrusted::{BOLD, paint};
use wf_core::memory::{DreamChanges, Megram};

/// Consolidate memory: expire old entries, drop contradicted rules, derive new ones
#[derive(Args, Debug)]
pub struct MemoryDreamArgs {
    /// Only print what would change
    #[arg(long)]
    dry_run: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the Dreamer.
pub(super) fn run(ui: &Ui, args: &MemoryDreamArgs) -> Result<CliExitCode, CommandError> {
    let before = MemoryReader::open(&ui.host)?.all()?;
    let dreamt = consolidate_memory(ui, &before, args.dry_run)?;
    if args.json {
        ui.print_json(&document(&serde_json::json!({
            "v": 1,
            "dry_run": args.dry_run,
            "forgotten": dreamt.forget,
            "demoted": dreamt.demote,
            "promoted": dreamt.promote,
        })))?;
    } else if dreamt.is_empty() {
        ui.print_info("nothing to do\n");
    } else {
        ui.print(&text(&before, &dreamt, args.dry_run))?;
    }
    Ok(CliExitCode::Ok)
}

fn text(old_megrams: &[Megram], dreamt: &DreamChanges, dry: bool) -> String {
    // Entries that came in between are only counted: they were not there when this was read.
    let of = |ids: &[wf_base::digest::Sha256Digest]| -> Vec<Megram> {
        let megrams = old_megrams.iter().filter(|megram| ids.contains(&megram.id));
        megrams.cloned().collect()
    };
    let words = if dry {
        ["would be forgotten", "would be dropped as a rule", "would become a rule"]
    } else {
        ["forgotten", "dropped as a rule", "new rule"]
    };
    let parts = [
        (dreamt.demote.len(), of(&dreamt.demote)),
        (dreamt.forget.len(), of(&dreamt.forget)),
        (dreamt.promote.len(), dreamt.promote.clone()),
    ];
    let [forgotten, demoted, promoted] = words;
    let mut text = String::new();
    for ((count, megrams), word) in parts.into_iter().zip([demoted, forgotten, promoted]) {
        if count > 0 {
            text.push_str(&format!("{}\n", paint(BOLD, &format!("{word}: {count}"))));
            text.push_str(&table(&megrams));
        }
    }
    text
}
