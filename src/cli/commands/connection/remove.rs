use clap::Args;

use super::args::name;
use crate::bus::Act;
use crate::cli::approve::asked;
use crate::cli::commands::goal::who;
use crate::cli::connections::{ledger, named, refused};
use crate::cli::{Exit, Failure, Ui, watch};
use crate::exec::refs::Refs;
use crate::name::PlanId;
use crate::store::ConnectionState;

/// Remove a connection and its secrets, at once
#[derive(Args, Debug)]
pub struct RemoveArgs {
    /// The connection
    #[arg(value_name = "NAME", value_parser = name)]
    name: PlanId,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Removes a connection. The service is not told: what it granted is taken back there.
pub(super) fn run(ui: &Ui, args: &RemoveArgs) -> Result<Exit, Failure> {
    let mut row = named(ui, &args.name)?;
    let question = format!("remove {} and its secrets?", args.name);
    if !asked(ui, args.yes, &question)? {
        return Err(Failure::new(Exit::Interrupted, "nothing was removed"));
    }
    let state = ui.workspace().state;
    let refs = Refs::take(&state, &args.name).map_err(|fault| refused(&fault, &args.name))?;
    // The secrets first: a connection without them is worth nothing, they without it are.
    refs.forget_all()
        .map_err(|fault| refused(&fault, &args.name))?;
    row.state = ConnectionState::Removed;
    row.account = None;
    row.failure = None;
    ledger(ui)?.connect(row).wait()?;
    let act = Act::ConnectionRemoved {
        connection: args.name.clone(),
        key: who(ui).map(|key| key.public.id()),
    };
    watch::note(ui, act);
    ui.print_line(&format!("removed {}", args.name))?;
    ui.note("the service still has what it granted: take it back there, too\n");
    Ok(Exit::Ok)
}
