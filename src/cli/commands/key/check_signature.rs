use clap::Args;

use crate::cli::{Exit, Failure, Ui};
use crate::report::{BAD, GOOD, paint};
use crate::seal::{BadKey, PublicKey, unhex};

/// Check a signature as this program checks them all
#[derive(Args, Debug)]
#[command(after_help = "\
Verification is strict: numbers and points that could be written in two ways, and keys under which
anybody can sign, do not hold. Exit code 0: the signature holds; 4: it does not.

Example:
  wf key check-signature --public-key HEX --message HEX --signature HEX")]
pub struct CheckArgs {
    /// The Ed25519 public key: 64 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    public_key: String,
    /// The bytes that were signed, in hexadecimal digits; may be empty
    #[arg(long, value_name = "HEX")]
    message: String,
    /// The signature: 128 hexadecimal digits
    #[arg(long, value_name = "HEX")]
    signature: String,
}

/// Checks a signature.
pub fn run(ui: &Ui, args: &CheckArgs) -> Result<Exit, Failure> {
    let message = bytes("--message", &args.message)?;
    let signature = bytes("--signature", &args.signature)?;
    if signature.len() != 64 {
        let message = format!(
            "--signature: it has {} digits; a signature has 128",
            args.signature.len()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let why = match PublicKey::from_hex(&args.public_key) {
        Ok(key) if key.has_signed(&message, &signature) => {
            ui.print_line(&format!(
                "{} signed by key {}",
                paint(GOOD, "holds:"),
                key.id()
            ))?;
            return Ok(Exit::Ok);
        }
        Ok(_) => "the signature is not by this key, or not of this message".to_owned(),
        Err(bad @ BadKey::Digits) => {
            return Err(Failure::new(Exit::Usage, format!("--public-key: {bad}")));
        }
        Err(bad) => bad.to_string(),
    };
    ui.say_line(&format!("{} {why}", paint(BAD, "does not hold:")));
    Ok(Exit::Approval)
}

fn bytes(option: &str, text: &str) -> Result<Vec<u8>, Failure> {
    unhex(text).ok_or_else(|| {
        let message = format!("{option}: write bytes as pairs of hexadecimal digits");
        Failure::new(Exit::Usage, message)
    })
}
