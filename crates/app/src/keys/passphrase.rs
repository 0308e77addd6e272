use std::{fs::File, io::Read as _, path::Path};

use super::{OwnKey, key_error};
use crate::{Caller, CliExitCode, CommandError, Host, normalize_path, relative_path};
use wf_exec::{
    keychain::{KeyringError, recall, remember},
    keyfile::private_text,
};
use wf_sign::PublicKey;

/// The protection of a new key.
#[derive(Debug)]
pub enum KeyProtection {
    /// None, except for the permissions of its file.
    Nothing,
    /// A passphrase the user knows.
    Passphrase(String),
    /// A random passphrase stored in the system keyring.
    Keyring(String),
}

/// The most that is read from a descriptor, in bytes.
const MAX_SECRET_SIZE: u64 = 64 * 1024;

/// The service whose entries in a keyring are passphrases of keys; the accounts are public keys.
const KEYRING_SERVICE: &str = "wf";

/// Stores the passphrase of a key in the keyring.
pub fn store_in_keyring(key: &PublicKey, secret: &str) -> Result<(), CommandError> {
    remember(KEYRING_SERVICE, &key.hex(), secret).map_err(|reason| {
        let message = format!("cannot store the passphrase in the keyring: {reason}");
        CommandError::new(CliExitCode::Usage, message).hint("pass --encrypt to enter a passphrase instead")
    })
}

/// The passphrase of a key in the system keyring; `None` if there is none, or it cannot be read.
pub fn keyring_passphrase(key: &OwnKey) -> Option<String> {
    String::from_utf8(recall(KEYRING_SERVICE, &key.public.hex()).ok()?).ok()
}

/// The passphrase of a key: from a file, else from the system keyring, else from the user.
pub fn stored_passphrase(
    caller: &dyn Caller,
    file: Option<&Path>,
    key: &OwnKey,
) -> Result<String, CommandError> {
    if file.is_none() {
        match recall(KEYRING_SERVICE, &key.public.hex()).map(String::from_utf8) {
            Ok(Ok(secret)) => return Ok(secret),
            Err(KeyringError::None | KeyringError::Missing) => {}
            Ok(Err(_)) => caller.info("no readable passphrase in the keyring\n"),
            Err(reason) => {
                caller.info_line(&format!("cannot read the passphrase from the keyring: {reason}"));
            }
        }
    }
    passphrase(caller, file, &key.name, false)
}

/// The passphrase of a key, from a file or from the terminal. `twice` is for a new one.
pub fn passphrase(
    caller: &dyn Caller,
    file: Option<&Path>,
    name: &str,
    twice: bool,
) -> Result<String, CommandError> {
    let passphrase = match file {
        Some(path) => from_file(caller.host(), path)?,
        None if caller.is_interactive() => {
            let typed = caller.ask_hidden(&format!("passphrase of the key `{name}`: "))?;
            if twice && caller.ask_hidden("repeat the passphrase: ")? != typed {
                return Err(CommandError::new(CliExitCode::Usage, "the passphrases do not match"));
            }
            typed
        }
        None => {
            let message = format!("not a terminal, cannot ask for the passphrase of the key `{name}`");
            let hint = "pass --passphrase-file FILE to read it from a file, or from /dev/fd/3";
            return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        }
    };
    if passphrase.is_empty() {
        return Err(CommandError::new(CliExitCode::Usage, "the passphrase is empty"));
    }
    Ok(passphrase)
}

/// The first line of a file private to its owner, or of a descriptor the caller opened.
pub fn from_file(host: &Host, path: &Path) -> Result<String, CommandError> {
    let path = normalize_path(&host.cwd().join(path));
    let text = if path.starts_with("/dev") || path.starts_with("/proc") {
        // A descriptor that the caller opened; a device may never end.
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_SECRET_SIZE).read_to_string(&mut text));
        read.map_err(|error| {
            let shown = relative_path(&path, host.cwd());
            CommandError::new(CliExitCode::Usage, format!("cannot read {shown}: {error}"))
        })?;
        text
    } else {
        private_text(&path).map_err(|error| key_error(&error))?
    };
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
