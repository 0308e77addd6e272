use std::path::PathBuf;

use clap::Args;

use crate::{
    Ui,
    keys::{NewKeyArgs, PassphraseArgs},
};
use wf_app::{
    CliExitCode, CommandError,
    keys::{self, NewKey, OwnKey, passphrase},
    normalize_path, relative_path,
};
use wf_exec::keyfile::private_text;
use wf_sign::{BadKey, Signer};

/// Create a key
#[derive(Args, Debug)]
pub struct KeyInitArgs {
    /// Name: lower-case words joined by hyphens [default: your login name]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    new: NewKeyArgs,
}

/// Import an existing private key
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  openssl genpkey -algorithm ed25519 -out ada.pem && chmod 600 ada.pem
  wf key import ada.pem ada")]
pub struct KeyImportArgs {
    /// Key file: PEM (PKCS #8), encrypted or not, readable by you alone
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name: lower-case words joined by hyphens [default: your login name]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// Creates a key.
pub fn init(ui: &Ui, args: &KeyInitArgs) -> Result<CliExitCode, CommandError> {
    let folder = keys::key_folder(&ui.host)?;
    let name = args.name.clone().unwrap_or_else(|| keys::default_key_name(&ui.host));
    let protection = crate::keys::choose_protection(ui, &args.new, &name)?;
    let new = keys::generate_key(&ui.host, &name, &protection)?;
    let key = keys::store_key(ui, &folder, &name, new)?;
    print_key(ui, "created", &key)
}

/// Imports a key.
pub fn import(ui: &Ui, args: &KeyImportArgs) -> Result<CliExitCode, CommandError> {
    let folder = keys::key_folder(&ui.host)?;
    let name = args.name.clone().unwrap_or_else(|| keys::default_key_name(&ui.host));
    let file = normalize_path(&ui.host.cwd().join(&args.file));
    let pem = private_text(&file).map_err(|error| keys::key_error(&error))?;
    let signer = match Signer::from_pem(&pem) {
        Err(BadKey::Encrypted) => {
            let secret = passphrase(ui, args.passphrase.file(), &name, false)?;
            Signer::from_encrypted_pem(&pem, &secret)
        }
        other => other,
    };
    let signer = signer.map_err(|error| {
        let shown = relative_path(&file, ui.host.cwd());
        CommandError::new(CliExitCode::Usage, format!("{shown}: {error}"))
    })?;
    let key = keys::store_key(ui, &folder, &name, NewKey { pem: pem.into(), public: signer.public() })?;
    print_key(ui, "imported", &key)
}

fn print_key(ui: &Ui, how: &str, key: &OwnKey) -> Result<CliExitCode, CommandError> {
    let (name, hex) = (&key.name, key.public.hex());
    ui.print_line(&format!("{how} the key `{name}`: {hex}"))?;
    ui.print_info(&listing(key));
    Ok(CliExitCode::Ok)
}

/// The `approvers.yaml` entry of a key.
pub(super) fn listing(key: &OwnKey) -> String {
    let (name, hex) = (&key.name, key.public.hex());
    format!("to let it approve, add to approvers.yaml: - {{name: {name}, key: {hex}}}\n")
}
