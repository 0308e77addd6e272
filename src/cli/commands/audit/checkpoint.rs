use std::path::PathBuf;

use clap::Args;

use super::verify::found;
use crate::audit::PAYLOAD;
use crate::bus::Act;
use crate::cli::commands::attest::{signs, write};
use crate::cli::keys::PassphraseArgs;
use crate::cli::{Exit, Failure, Ui, watch};
use crate::seal::Envelope;

/// Write down where both logs end, so that nobody can replace the history unseen
#[derive(Args, Debug)]
#[command(after_help = "\
Keep it where those who can write the state cannot write: in git, for example. Nothing is written
if the history does not hold.

Examples:
  wf audit checkpoint --key ada --out audit.dsse.json
  wf audit checkpoint                not signed, to standard output")]
pub struct CheckpointArgs {
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

/// Makes a checkpoint.
pub fn run(ui: &Ui, args: &CheckpointArgs) -> Result<Exit, Failure> {
    let signer = args
        .key
        .as_ref()
        .map(|key| signs(ui, key, &args.passphrase))
        .transpose()?;
    let found = found(ui, None)?;
    // A log that began late is what a checkpoint is made for, too.
    if let Some(fault) = found
        .faults
        .iter()
        .find(|fault| !fault.is_pinned_by_a_checkpoint())
    {
        let failure = Failure::new(
            Exit::RunFailed,
            format!("the history does not hold: {fault}"),
        );
        return Err(failure.hint("`wf audit verify` tells everything that is wrong"));
    }
    let text = found.heads.text();
    let key = signer.as_ref().map(|signer| signer.public().id());
    let written = match signer {
        Some(signer) => {
            let envelope = Envelope::seal(PAYLOAD, text.as_bytes(), &signer);
            serde_json::to_string(&envelope).unwrap_or_default()
        }
        None => text,
    };
    write(ui, args.out.as_deref(), &(written + "\n"))?;
    watch::record(ui, Act::Checkpointed { key })?;
    Ok(Exit::Ok)
}
