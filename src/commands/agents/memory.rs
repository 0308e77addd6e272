mod add;
mod dream;
mod explain;
mod feedback;
mod files;
mod forget;
mod list;
mod promote;
mod query;
mod rows;
mod search;
mod trust;

use clap::{Args, Subcommand};

use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Notes are sentences of people and agents: add, search, trust, promote. Megrams are outcomes of runs; they belong to a cluster: a space (`tool:curl`) and an entity (`path:api.example`).
See docs/memory.md for how both are used."
)]
pub struct MemoryArgs {
    #[command(subcommand)]
    command: MemoryCommand,
}

#[derive(Subcommand, Debug)]
enum MemoryCommand {
    Search(search::MemorySearchArgs),
    Add(add::MemoryAddArgs),
    Trust(trust::MemoryTrustArgs),
    Promote(promote::MemoryPromoteArgs),
    Query(query::MemoryQueryArgs),
    List(list::MemoryListArgs),
    Explain(explain::MemoryExplainArgs),
    Feedback(feedback::MemoryFeedbackArgs),
    Dream(dream::MemoryDreamArgs),
    Forget(forget::MemoryForgetArgs),
    Export(files::MemoryExportArgs),
    Import(files::MemoryImportArgs),
    Sign(files::MemorySignArgs),
}

pub use promote::promote_notes;

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &MemoryArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        MemoryCommand::Search(args) => search::run(ui, args),
        MemoryCommand::Add(args) => add::run(ui, args),
        MemoryCommand::Trust(args) => trust::run(ui, args),
        MemoryCommand::Promote(args) => promote::run(ui, args),
        MemoryCommand::Query(args) => query::run(ui, args),
        MemoryCommand::List(args) => list::run(ui, args),
        MemoryCommand::Explain(args) => explain::run(ui, args),
        MemoryCommand::Feedback(args) => feedback::run(ui, args),
        MemoryCommand::Dream(args) => dream::run(ui, args),
        MemoryCommand::Forget(args) => forget::run(ui, args),
        MemoryCommand::Export(args) => files::export(ui, args),
        MemoryCommand::Import(args) => files::import(ui, args),
        MemoryCommand::Sign(args) => files::sign(ui, args),
    }
}
