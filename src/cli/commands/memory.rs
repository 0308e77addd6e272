mod dream;
mod explain;
mod feedback;
mod files;
mod forget;
mod list;
mod query;
mod rows;

use clap::{Args, Subcommand};

use crate::cli::{Exit, Failure, Ui};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
What is remembered is about a cluster: a space (`tool:curl`) and an entity (`path:api.example`).
docs/memory.md says what follows from it."
)]
pub struct MemoryArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Query(query::QueryArgs),
    List(list::ListArgs),
    Explain(explain::ExplainArgs),
    Feedback(feedback::FeedbackArgs),
    Dream(dream::DreamArgs),
    Forget(forget::ForgetArgs),
    Export(files::ExportArgs),
    Import(files::ImportArgs),
}

/// Does what is asked for.
pub fn run(ui: &Ui, args: &MemoryArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::Query(args) => query::run(ui, args),
        What::List(args) => list::run(ui, args),
        What::Explain(args) => explain::run(ui, args),
        What::Feedback(args) => feedback::run(ui, args),
        What::Dream(args) => dream::run(ui, args),
        What::Forget(args) => forget::run(ui, args),
        What::Export(args) => files::export(ui, args),
        What::Import(args) => files::import(ui, args),
    }
}
