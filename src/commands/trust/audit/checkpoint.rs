use std::path::PathBuf;

use clap::Args;

use crate::{
    Ui,
    commands::trust::attest::{seal_text, signing_key, write},
    keys::PassphraseArgs,
};
use wf_app::{
    CliExitCode, CommandError,
    audit_log::{record_checkpoint, verify_logs},
};
use wf_audit::PAYLOAD;

/// Record where both logs end, so that a replaced history is detected
#[derive(Args, Debug)]
#[command(after_help = "\
Store it where users who can write the state cannot write, for example in git. Nothing is written
if the history is invalid.

Examples:
  wf audit checkpoint --key ada --out audit.dsse.json
  wf audit checkpoint                unsigned, to standard output")]
pub struct AuditCheckpointArgs {
    /// Sign with this private key: one of yours by its name, or a PEM file (PKCS #8) that is not
    /// encrypted and readable by you alone
    #[arg(long, value_name = "NAME|FILE")]
    key: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Creates a checkpoint.
pub fn run(ui: &Ui, args: &AuditCheckpointArgs) -> Result<CliExitCode, CommandError> {
    let signer = args.key.as_ref().map(|key| signing_key(ui, key, &args.passphrase)).transpose()?;
    let findings = verify_logs(&ui.host, None, true)?;
    // A log that began late is what a checkpoint is made for, too.
    if let Some(fault) = findings.evidence.iter().find(|evidence| !evidence.is_pinned_by_a_checkpoint()) {
        let error = CommandError::new(CliExitCode::RunFailed, format!("the history is invalid: {fault}"));
        return Err(error.hint("`wf audit verify` lists all problems"));
    }
    let key = signer.as_ref().map(|signer| signer.public().id());
    let written = seal_text(PAYLOAD, findings.checkpoint.text(), signer.as_ref());
    write(ui, args.out.as_deref(), &(written + "\n"))?;
    record_checkpoint(ui, key)?;
    Ok(CliExitCode::Ok)
}
