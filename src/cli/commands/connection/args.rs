use std::time::Duration;

use clap::{Args, Subcommand};

use super::{add, approve, check, grant, list, remove};
use crate::cli::{Exit, Failure, Ui};
use crate::name::PlanId;

#[derive(Args, Debug)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct ConnectionArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(list::ShowArgs),
    Check(check::CheckArgs),
    Grant(grant::GrantArgs),
    Approve(approve::ApproveArgs),
    Remove(remove::RemoveArgs),
}

/// Does what is asked for.
pub fn run(ui: &Ui, args: &ConnectionArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::Add(args) => add::run(ui, args),
        What::List(args) => list::list(ui, args),
        What::Show(args) => list::show(ui, args),
        What::Check(args) => check::run(ui, args),
        What::Grant(args) => grant::run(ui, args),
        What::Approve(args) => approve::run(ui, args),
        What::Remove(args) => remove::run(ui, args),
    }
}

/// A name of a connection.
pub(super) fn name(text: &str) -> Result<PlanId, String> {
    PlanId::parse(text).map_err(|bad| bad.to_string())
}

/// A duration.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    crate::time::parse_duration(text).map_err(|bad| bad.to_string())
}
