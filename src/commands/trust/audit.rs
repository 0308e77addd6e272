mod checkpoint;
mod report;
mod tail;
mod verify;

use clap::{Args, Subcommand};

use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
The auditor observes every run from outside and writes its own log, .wf/audit/log.jsonl, separate
from the database. See docs/audit.md."
)]
pub struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Subcommand, Debug)]
enum AuditCommand {
    Verify(verify::AuditVerifyArgs),
    Checkpoint(checkpoint::AuditCheckpointArgs),
    Report(report::AuditReportArgs),
    Tail(tail::AuditTailArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &AuditArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        AuditCommand::Verify(args) => verify::run(ui, args),
        AuditCommand::Checkpoint(args) => checkpoint::run(ui, args),
        AuditCommand::Report(args) => report::run(ui, args),
        AuditCommand::Tail(args) => tail::run(ui, args),
    }
}
