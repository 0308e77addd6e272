use clap::{Args, Subcommand};

use super::{change, check_signature, enrol, make, show};
use crate::Ui;
use wf_app::{CliExitCode, CommandError};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Keys are stored in $WF_KEYS, else in $XDG_CONFIG_HOME/wf/keys, else in ~/.config/wf/keys, readable
only by you. Approvers are listed in approvers.yaml. See docs/approvals.md."
)]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Subcommand, Debug)]
enum KeyCommand {
    Init(make::KeyInitArgs),
    List(show::KeyListArgs),
    Export(show::KeyExportArgs),
    Import(make::KeyImportArgs),
    Enrol(enrol::KeyEnrolArgs),
    Revoke(change::KeyRevokeArgs),
    Rotate(change::KeyRotateArgs),
    CheckSignature(check_signature::CheckSignatureArgs),
}

/// Runs the given subcommand.
pub fn run(ui: &Ui, args: &KeyArgs) -> Result<CliExitCode, CommandError> {
    match &args.command {
        KeyCommand::Init(args) => make::init(ui, args),
        KeyCommand::List(args) => show::list(ui, args),
        KeyCommand::Export(args) => show::export(ui, args),
        KeyCommand::Import(args) => make::import(ui, args),
        KeyCommand::Enrol(args) => enrol::run(ui, args),
        KeyCommand::Revoke(args) => change::revoke(ui, args),
        KeyCommand::Rotate(args) => change::rotate(ui, args),
        KeyCommand::CheckSignature(args) => check_signature::run(ui, args),
    }
}
