use std::path::Path;

use super::{KeyProtection, keyring_passphrase, store_in_keyring, stored_passphrase};
use crate::{Caller, CliExitCode, CommandError, Host, watch};
use wf_base::remedy::{Remedy, UserAction};
use wf_exec::keyfile::{DEFAULT_KEY_NAME, KeyFolder, KeyFolderError, named_after};
use wf_sign::{BadKey, KeyEncryptionSalt, PrivateKeyText, PublicKey, Signer};
use wf_store::feed::WorkspaceAction;

/// A key of the user running `wf`.
#[derive(Clone, Debug)]
pub struct OwnKey {
    pub name: String,
    pub public: PublicKey,
}

/// The author of a statement, by the key that would sign for them. A user without a key, or with
/// several and no usual one, stays anonymous; nothing is signed.
pub fn author(host: &Host) -> Option<OwnKey> {
    choose_signing_key(host, &key_folder(host).ok()?, None).ok()?
}

/// The failure for an error of a key file.
pub fn key_error(error: &KeyFolderError) -> CommandError {
    let exit = match error {
        KeyFolderError::System { .. } => CliExitCode::State,
        _ => CliExitCode::Usage,
    };
    CommandError::new(exit, error.to_string()).hint(error.remedy())
}

pub fn key_folder(host: &Host) -> Result<KeyFolder, CommandError> {
    KeyFolder::from_env(&host.vars()).map_err(|error| key_error(&error))
}

/// Every existing key.
pub fn own_keys(folder: &KeyFolder) -> Result<Vec<OwnKey>, CommandError> {
    let names = folder.names().map_err(|error| key_error(&error))?;
    names.into_iter().map(|name| find_key(folder, name)).collect()
}

/// Every usable key: a damaged one is reported where it is to sign.
pub fn usable_keys(folder: &KeyFolder) -> Result<Vec<OwnKey>, CommandError> {
    let names = folder.names().map_err(|error| key_error(&error))?;
    Ok(names.into_iter().filter_map(|name| find_key(folder, name).ok()).collect())
}

fn find_key(folder: &KeyFolder, name: String) -> Result<OwnKey, CommandError> {
    let damaged = |reason: &str| {
        let message = format!("{name}.pub in {}: {reason}", folder.dir().display());
        CommandError::new(CliExitCode::Usage, message)
            .hint(format!("write it again with `openssl pkey -in {name}.pem -pubout -out {name}.pub`"))
    };
    let text = folder.public(&name).map_err(|error| match error {
        KeyFolderError::Missing { .. } if folder.names().is_ok_and(|names| names.contains(&name)) => {
            damaged("the public part of the key is missing")
        }
        error => key_error(&error),
    })?;
    let public = PublicKey::from_pem(&text).map_err(|error| damaged(&error.to_string()))?;
    Ok(OwnKey { name, public })
}

/// The default name of a key: that of its owner.
pub fn default_key_name(host: &Host) -> String {
    let login = host.login();
    let name = login.as_deref().and_then(named_after);
    name.unwrap_or_else(|| "owner".to_owned())
}

/// Chooses the signing key: the named one, else the only one, else `default`, which earlier
/// versions created, else the one named after its owner; `None` if there is none at all.
pub fn choose_signing_key(
    host: &Host,
    folder: &KeyFolder,
    name: Option<&str>,
) -> Result<Option<OwnKey>, CommandError> {
    if let Some(name) = name {
        return find_key(folder, name.to_owned()).map(Some);
    }
    let names = folder.names().map_err(|error| key_error(&error))?;
    let chosen = match names.as_slice() {
        [] => return Ok(None),
        [only] => only,
        several => {
            let usual = [DEFAULT_KEY_NAME, &default_key_name(host)];
            let mut usual = usual.iter().filter_map(|usual| several.iter().find(|name| name == usual));
            usual.next().ok_or_else(|| {
                let message = format!("several keys found: {}", several.join(", "));
                CommandError::new(CliExitCode::Usage, message).hint("choose one with --key NAME")
            })?
        }
    };
    find_key(folder, chosen.clone()).map(Some)
}

/// Does the same, and refuses to go on without a key.
pub fn require_signing_key(
    host: &Host,
    folder: &KeyFolder,
    name: Option<&str>,
) -> Result<OwnKey, CommandError> {
    choose_signing_key(host, folder, name)?.ok_or_else(|| {
        CommandError::new(CliExitCode::Usage, "no signing key found")
            .hint(Remedy::from("create one with `").action(UserAction::CreateKey).text("`"))
    })
}

/// A key before it is stored.
pub struct NewKey {
    /// Its text, encrypted or not.
    pub pem: PrivateKeyText,
    /// Its public part.
    pub public: PublicKey,
}

/// Creates a key of random bytes.
pub fn generate_key(host: &Host, name: &str, protection: &KeyProtection) -> Result<NewKey, CommandError> {
    let signer = Signer::from_bytes(&host.random(&format!("key {name}"))?);
    // First the passphrase: a key that cannot be opened again must not be created.
    if let KeyProtection::Keyring(secret) = protection {
        store_in_keyring(&signer.public(), secret)?;
    }
    let pem = match protection {
        KeyProtection::Passphrase(secret) | KeyProtection::Keyring(secret) => {
            let salt = KeyEncryptionSalt { salt: host.random_id("salt")?, start: host.random_id("start")? };
            signer.to_encrypted_pem(secret, &salt)
        }
        KeyProtection::Nothing => signer.to_pem(),
    };
    let pem = pem.map_err(|error| CommandError::new(CliExitCode::Bug, error.to_string()))?;
    Ok(NewKey { pem, public: signer.public() })
}

/// Stores a key as it is, encrypted or not, under a new name.
pub fn store_key(
    caller: &dyn Caller,
    folder: &KeyFolder,
    name: &str,
    new: NewKey,
) -> Result<OwnKey, CommandError> {
    let NewKey { pem, public } = new;
    folder.add(name, &pem, &public.pem()).map_err(|error| key_error(&error))?;
    let (key, named) = (public.id(), name.to_owned());
    watch::record_quietly(caller, WorkspaceAction::KeyMade { key, name: named });
    Ok(OwnKey { name: name.to_owned(), public })
}

/// Opens the default key for signatures, if that needs no person: it is not encrypted, or its passphrase is in the keyring.
pub fn unattended_signer(host: &Host) -> Option<Signer> {
    let folder = key_folder(host).ok()?;
    let key = choose_signing_key(host, &folder, None).ok()??;
    let pem = folder.private(&key.name).ok()?;
    let signer = match Signer::from_pem(&pem) {
        Err(BadKey::Encrypted) => Signer::from_encrypted_pem(&pem, &keyring_passphrase(&key)?),
        other => other,
    };
    signer.ok().filter(|signer| signer.public() == key.public)
}

/// Opens a key, with its passphrase if it has one.
pub fn open_key(
    caller: &dyn Caller,
    folder: &KeyFolder,
    key: &OwnKey,
    passphrase_file: Option<&Path>,
) -> Result<Signer, CommandError> {
    let pem = folder.private(&key.name).map_err(|error| key_error(&error))?;
    let signer = match Signer::from_pem(&pem) {
        Err(BadKey::Encrypted) => {
            let secret = stored_passphrase(caller, passphrase_file, key)?;
            Signer::from_encrypted_pem(&pem, &secret)
        }
        other => other,
    };
    let of =
        |error: BadKey| CommandError::new(CliExitCode::Usage, format!("the key `{}`: {error}", key.name));
    let signer = signer.map_err(of)?;
    if signer.public() != key.public {
        let message = format!("{0}.pub does not match {0}.pem", key.name);
        let hint = "one of them was changed; print the matching public key with";
        return Err(CommandError::new(CliExitCode::Usage, message)
            .hint(format!("{hint} `openssl pkey -in {}.pem -pubout`", key.name)));
    }
    Ok(signer)
}
