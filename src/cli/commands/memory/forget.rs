use clap::Args;

use super::rows::{found, rows, store, table, tags};
use crate::bus::Act;
use crate::cli::approve::asked;
use crate::cli::{Exit, Failure, Ui, watch};
use crate::memory::Megram;
use crate::report::plural;
use crate::store::Which;

/// Forget something now, for good
#[derive(Args, Debug)]
#[command(after_help = "\
What goes is shown first. Examples:
  wf memory forget --id 3fa2
  wf memory forget --space tool:curl --entity path:api.example
  wf memory forget --all --yes")]
pub struct ForgetArgs {
    #[command(flatten)]
    what: WhatArgs,
    /// Of the space, only this entity
    #[arg(long, value_name = "ENTITY", requires = "space")]
    entity: Option<String>,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// What is meant: exactly one of these.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct WhatArgs {
    /// One megram, by as much of its id as is unique
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Everything about a space
    #[arg(long, value_name = "SPACE")]
    space: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

/// Forgets.
pub(super) fn run(ui: &Ui, args: &ForgetArgs) -> Result<Exit, Failure> {
    let megrams = meant(ui, args)?;
    if megrams.is_empty() {
        ui.note("nothing is remembered about that\n");
        return Ok(Exit::Ok);
    }
    ui.say(&table(&megrams));
    let count = plural(megrams.len(), "megram");
    if !asked(ui, args.yes, &format!("forget {count} for good?"))? {
        return Err(Failure::new(Exit::Interrupted, "nothing was forgotten"));
    }
    // What was shown goes, and nothing that came meanwhile.
    let ids = megrams.iter().map(|megram| megram.id).collect();
    let gone = store(ui)?.forget(ids).wait()?;
    let megrams = gone as u64;
    watch::note(ui, Act::MemoryForgotten { megrams });
    ui.print_line(&format!("forgot {}", plural(gone, "megram")))?;
    Ok(Exit::Ok)
}

fn meant(ui: &Ui, args: &ForgetArgs) -> Result<Vec<Megram>, Failure> {
    let WhatArgs { id, space, .. } = &args.what;
    match (id, space, &args.entity) {
        (Some(id), ..) => Ok(vec![found(ui, id)?]),
        (_, Some(space), Some(entity)) => rows(ui, &Which::Cluster(tags(space, entity)?)),
        (_, Some(space), None) => rows(ui, &Which::Space(space.clone())),
        _ => rows(ui, &Which::All),
    }
}
