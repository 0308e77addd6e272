use clap::{Args, Subcommand};

use super::{change, check_signature, make, show};
use crate::cli::{Exit, Failure, Ui};

#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "\
Keys lie in $WF_KEYS, else in $XDG_CONFIG_HOME/wf/keys, else in ~/.config/wf/keys, readable by you
alone. Who may approve stands in approvers.yaml; docs/approvals.md describes both."
)]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Subcommand, Debug)]
enum KeyCommand {
    Init(make::InitArgs),
    List(show::ListArgs),
    Export(show::ExportArgs),
    Import(make::ImportArgs),
    Revoke(change::RevokeArgs),
    Rotate(change::RotateArgs),
    CheckSignature(check_signature::CheckArgs),
}

/// Does what is asked of keys.
pub fn run(ui: &Ui, args: &KeyArgs) -> Result<Exit, Failure> {
    match &args.command {
        KeyCommand::Init(args) => make::init(ui, args),
        KeyCommand::List(args) => show::list(ui, args),
        KeyCommand::Export(args) => show::export(ui, args),
        KeyCommand::Import(args) => make::import(ui, args),
        KeyCommand::Revoke(args) => change::revoke(ui, args),
        KeyCommand::Rotate(args) => change::rotate(ui, args),
        KeyCommand::CheckSignature(args) => check_signature::run(ui, args),
    }
}
