use clap::Args;

use super::rows::{document, rows, store, table};
use crate::bus::Act;
use crate::cli::{Exit, Failure, Ui, watch};
use crate::memory::{self, Dream, Megram};
use crate::report::{BOLD, paint};
use crate::store::Which;

/// Let the Dreamer work: forget what faded, take back rules that are contradicted, make new ones
#[derive(Args, Debug)]
pub struct DreamArgs {
    /// Only say what it would do
    #[arg(long)]
    dry_run: bool,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// Dreams.
pub(super) fn run(ui: &Ui, args: &DreamArgs) -> Result<Exit, Failure> {
    let before = rows(ui, &Which::All)?;
    let now = ui.env.now();
    let dreamt = if args.dry_run || before.is_empty() {
        memory::dream(&before, now)
    } else {
        store(ui)?.dream(now).wait()?
    };
    if !args.dry_run && !dreamt.is_empty() {
        let act = Act::MemoryDreamt {
            forgotten: dreamt.forget.len() as u64,
            demoted: dreamt.demote.len() as u64,
            promoted: dreamt.promote.len() as u64,
        };
        watch::note(ui, act);
    }
    if args.json {
        ui.print_json(&document(&serde_json::json!({
            "v": 1,
            "dry_run": args.dry_run,
            "forgotten": dreamt.forget,
            "demoted": dreamt.demote,
            "promoted": dreamt.promote,
        })))?;
    } else if dreamt.is_empty() {
        ui.note("there is nothing to do\n");
    } else {
        ui.print(&text(&before, &dreamt, args.dry_run))?;
    }
    Ok(Exit::Ok)
}

fn text(before: &[Megram], dreamt: &Dream, dry: bool) -> String {
    // What came in between is only counted: it was not there when this was read.
    let of = |ids: &[crate::digest::Digest]| -> Vec<Megram> {
        let all = before.iter().filter(|megram| ids.contains(&megram.id));
        all.cloned().collect()
    };
    let words = if dry {
        [
            "would be forgotten",
            "would be a rule no more",
            "would be a new rule",
        ]
    } else {
        ["forgotten", "a rule no more", "a new rule"]
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
