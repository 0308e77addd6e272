use clap::Args;

use crate::Ui;
use wf_app::{CliExitCode, CommandError};
use wf_base::untrusted::{BAD, GOOD, paint};
use wf_sign::{BadKey, PublicKey, unhex};

/// Verify an Ed25519 signature, as wf does everywhere
#[derive(Args, Debug)]
#[command(after_help = "\
Verification is strict: non-canonical numbers and points and weak keys are rejected. Exit code 0:
the signature is valid; 4: it is invalid.

Example:
  wf key check-signature --public-key HEX --message HEX --signature HEX")]
pub struct CheckSignatureArgs {
    /// Ed25519 public key: 64 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    public_key: String,
    /// Signed bytes in hexadecimal digits; may be empty
    #[arg(long, value_name = "HEX")]
    message: String,
    /// Signature: 128 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    signature: String,
}

/// Verifies a signature.
pub fn run(ui: &Ui, args: &CheckSignatureArgs) -> Result<CliExitCode, CommandError> {
    let message = bytes("--message", &args.message)?;
    let signature = bytes("--signature", &args.signature)?;
    if signature.len() != 64 {
        let message = format!("--signature: expected 128 digits, found {}", args.signature.len());
        return Err(CommandError::new(CliExitCode::Usage, message));
    }
    let reason = match PublicKey::from_hex(&args.public_key) {
        Ok(key) if key.has_signed(&message, &signature) => {
            ui.print_line(&format!("{} signed by key {}", paint(GOOD, "valid:"), key.id()))?;
            return Ok(CliExitCode::Ok);
        }
        Ok(_) => "the signature does not match this key and message".to_owned(),
        Err(bad @ BadKey::Digits) => {
            return Err(CommandError::new(CliExitCode::Usage, format!("--public-key: {bad}")));
        }
        Err(error) => error.to_string(),
    };
    ui.print_message_line(&format!("{} {reason}", paint(BAD, "invalid:")));
    Ok(CliExitCode::Approval)
}

fn bytes(option: &str, text: &str) -> Result<Vec<u8>, CommandError> {
    unhex(text).ok_or_else(|| {
        let message = format!("{option}: expected pairs of hexadecimal digits");
        CommandError::new(CliExitCode::Usage, message)
    })
}
