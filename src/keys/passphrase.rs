use std::path::PathBuf;

use clap::Args;

use super::{OwnKey, key_error};
use crate::{CliExitCode, CommandError, normalize_path, relative_path};
use wf_app::Caller;
use wf_app::Host;
use wf_exec::keychain::{KeyringError, recall, remember};
use wf_exec::keyfile::private_text;
use wf_sign::{self as sign, PublicKey};

/// The source of the passphrase of an encrypted key.
#[derive(Args, Clone, Debug, Default)]
pub struct PassphraseArgs {
    /// Read the passphrase of the key from the first line of this file, instead of asking for it
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

/// The protection of a new key.
#[derive(Args, Clone, Debug, Default)]
pub struct NewKeyArgs {
    /// Encrypt it under a passphrase, which is asked for at every signature
    #[arg(long)]
    encrypt: bool,
    /// Encrypt it under a passphrase stored in the system keyring (needs the feature `keyring`)
    #[arg(long, conflicts_with_all = ["encrypt", "passphrase_file"])]
    keyring: bool,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

/// The protection of a new key.
#[derive(Debug)]
pub enum KeyProtection {
    /// None, except for the permissions of its file.
    Nothing,
    /// A passphrase that the user knows.
    Passphrase(String),
    /// A random passphrase stored in the system keyring.
    Keyring(String),
}

/// Chooses the protection of a new key; asks for a passphrase where the user is to know it.
pub fn choose_protection(
    caller: &dyn Caller,
    args: &NewKeyArgs,
    name: &str,
) -> Result<KeyProtection, CommandError> {
    if args.keyring {
        let random = caller.host().random(&format!("passphrase {name}"))?;
        return Ok(KeyProtection::Keyring(sign::hex(&random)));
    }
    if args.encrypt {
        return passphrase(caller, &args.passphrase, name, true).map(KeyProtection::Passphrase);
    }
    Ok(KeyProtection::Nothing)
}

/// The service whose entries in a keyring are passphrases of keys; the accounts are public keys.
const KEYRING_SERVICE: &str = "wf";

/// Stores the passphrase of a key in the keyring.
pub fn store_in_keyring(key: &PublicKey, secret: &str) -> Result<(), CommandError> {
    remember(KEYRING_SERVICE, &key.hex(), secret).map_err(|reason| {
        let message = format!("cannot store the passphrase in the keyring: {reason}");
        CommandError::new(CliExitCode::Usage, message).hint("pass --encrypt to enter a passphrase instead")
    })
}

/// The passphrase of a key: from a file, else from the system keyring, else from the user.
pub fn stored_passphrase(
    caller: &dyn Caller,
    args: &PassphraseArgs,
    key: &OwnKey,
) -> Result<String, CommandError> {
    if args.passphrase_file.is_none() {
        match recall(KEYRING_SERVICE, &key.public.hex()).map(String::from_utf8) {
            Ok(Ok(secret)) => return Ok(secret),
            Err(KeyringError::None | KeyringError::Missing) => {}
            Ok(Err(_)) => caller.info("no readable passphrase in the keyring\n"),
            Err(reason) => {
                caller.info_line(&format!("cannot read the passphrase from the keyring: {reason}"));
            }
        }
    }
    passphrase(caller, args, &key.name, false)
}

/// The passphrase of a key, from a file or from the terminal. `twice` is for a new one.
pub fn passphrase(
    caller: &dyn Caller,
    args: &PassphraseArgs,
    name: &str,
    twice: bool,
) -> Result<String, CommandError> {
    let given = match &args.passphrase_file {
        Some(path) => from_file(caller.host(), path)?,
        None if caller.is_interactive() => {
            let given = caller.ask_hidden(&format!("passphrase of the key `{name}`: "))?;
            if twice && caller.ask_hidden("repeat the passphrase: ")? != given {
                return Err(CommandError::new(CliExitCode::Usage, "the passphrases do not match"));
            }
            given
        }
        None => {
            let message = format!("not a terminal, cannot ask for the passphrase of the key `{name}`");
            let hint = "pass --passphrase-file FILE to read it from a file, or from /dev/fd/3";
            return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        }
    };
    if given.is_empty() {
        return Err(CommandError::new(CliExitCode::Usage, "the passphrase is empty"));
    }
    Ok(given)
}

/// The first line of a file that only its owner can read, or of a descriptor that the caller opened.
pub fn from_file(host: &Host, path: &std::path::Path) -> Result<String, CommandError> {
    let path = normalize_path(&host.cwd().join(path));
    let text = if path.starts_with("/dev") || path.starts_with("/proc") {
        // A descriptor that the caller opened.
        std::fs::read_to_string(&path).map_err(|error| {
            let shown = relative_path(&path, host.cwd());
            CommandError::new(CliExitCode::Usage, format!("cannot read {shown}: {error}"))
        })?
    } else {
        private_text(&path).map_err(|bad| key_error(&bad))?
    };
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
