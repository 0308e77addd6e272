//! The options of commands for the keys of the user.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;

use wf_app::{
    Caller, CommandError,
    approve::SigningOptions,
    keys::{KeyProtection, passphrase},
};

/// The source of the passphrase of an encrypted key.
#[derive(Args, Clone, Debug, Default)]
pub struct PassphraseArgs {
    /// Read the passphrase of the key from the first line of this file, instead of asking for it
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl PassphraseArgs {
    /// The file to read it from.
    pub fn file(&self) -> Option<&Path> {
        self.passphrase_file.as_deref()
    }
}

/// The options for signing.
#[derive(Args, Clone, Debug, Default)]
pub struct SigningArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// Sign with this key, by its name
    #[arg(long, value_name = "NAME")]
    key: Option<String>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl SigningArgs {
    /// The same, as a use case takes it, for an approval of this validity.
    pub fn options(&self, validity: Option<Duration>) -> SigningOptions {
        SigningOptions {
            is_confirmed: self.yes,
            validity,
            key: self.key.clone(),
            passphrase_file: self.passphrase.file().map(Into::into),
        }
    }
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

/// Chooses the protection of a new key; asks for a passphrase where the user is to know it.
pub fn choose_protection(
    caller: &dyn Caller,
    args: &NewKeyArgs,
    name: &str,
) -> Result<KeyProtection, CommandError> {
    if args.keyring {
        let random = caller.host().random(&format!("passphrase {name}"))?;
        return Ok(KeyProtection::Keyring(wf_sign::hex(&random)));
    }
    if args.encrypt {
        return passphrase(caller, args.passphrase.file(), name, true).map(KeyProtection::Passphrase);
    }
    Ok(KeyProtection::Nothing)
}
