use std::path::PathBuf;

use clap::Args;

use crate::cli::keys::{self, NewKeyArgs, OwnKey, PassphraseArgs, passphrase};
use crate::cli::{Exit, Failure, Ui, normal, relative};
use crate::exec::keyfile::private_text;
use crate::seal::{BadKey, Signer};

/// Make a key
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Its name: lower-case words joined by hyphens; by default, your login name
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    new: NewKeyArgs,
}

/// Keep a private key that was made elsewhere
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  openssl genpkey -algorithm ed25519 -out ada.pem && chmod 600 ada.pem
  wf key import ada.pem ada")]
pub struct ImportArgs {
    /// The key: PEM (PKCS #8), encrypted or not, readable by you alone
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Its name: lower-case words joined by hyphens; by default, your login name
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// Makes a key.
pub fn init(ui: &Ui, args: &InitArgs) -> Result<Exit, Failure> {
    let keys = keys::keys(ui)?;
    let name = args.name.clone().unwrap_or_else(|| keys::own_name(ui));
    let under = keys::under(ui, &args.new, &name)?;
    let new = keys::make(ui, &name, &under)?;
    let made = keys::adopt(ui, &keys, &name, new)?;
    tell(ui, "made", &made)
}

/// Keeps a key.
pub fn import(ui: &Ui, args: &ImportArgs) -> Result<Exit, Failure> {
    let keys = keys::keys(ui)?;
    let name = args.name.clone().unwrap_or_else(|| keys::own_name(ui));
    let file = normal(&ui.env.cwd().join(&args.file));
    let pem = private_text(&file).map_err(|bad| keys::fault(&bad))?;
    let signer = match Signer::from_pem(&pem) {
        Err(BadKey::Encrypted) => {
            let secret = passphrase(ui, &args.passphrase, &name, false)?;
            Signer::from_encrypted_pem(&pem, &secret)
        }
        other => other,
    };
    let signer = signer.map_err(|bad| {
        let shown = relative(&file, ui.env.cwd());
        Failure::new(Exit::Usage, format!("{shown}: {bad}"))
    })?;
    let kept = keys::adopt(ui, &keys, &name, (pem.into(), signer.public()))?;
    tell(ui, "imported", &kept)
}

fn tell(ui: &Ui, how: &str, key: &OwnKey) -> Result<Exit, Failure> {
    let (name, hex) = (&key.name, key.public.hex());
    ui.print_line(&format!("{how} the key `{name}`: {hex}"))?;
    ui.note(&listing(key));
    Ok(Exit::Ok)
}

/// What an approver writes to be listed.
pub(super) fn listing(key: &OwnKey) -> String {
    let (name, hex) = (&key.name, key.public.hex());
    format!("to let it approve, add to approvers.yaml: - {{name: {name}, key: {hex}}}\n")
}
