mod checkpoint;
mod report;
mod tail;
mod verify;

use clap::{Args, Subcommand};

use crate::cli::{Exit, Failure, Ui};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
The auditor watches every run from outside and keeps a log of its own, .wf/audit/log.jsonl, apart
from the database. docs/audit.md describes it."
)]
pub struct AuditArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Verify(verify::VerifyArgs),
    Checkpoint(checkpoint::CheckpointArgs),
    Report(report::ReportArgs),
    Tail(tail::TailArgs),
}

/// Does what is asked for.
pub fn run(ui: &Ui, args: &AuditArgs) -> Result<Exit, Failure> {
    match &args.what {
        What::Verify(args) => verify::run(ui, args),
        What::Checkpoint(args) => checkpoint::run(ui, args),
        What::Report(args) => report::run(ui, args),
        What::Tail(args) => tail::run(ui, args),
    }
}
