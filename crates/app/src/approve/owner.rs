use super::{SigningOptions, SigningRules};
use crate::{
    Caller, CommandError,
    keys::{self, OwnKey},
};
use wf_exec::keyfile::{KeyFolder, KeyFolderError};
use wf_sign::Signer;

/// The name of a key outside of the store.
const EPHEMERAL_KEY_NAME: &str = "a temporary key for this run";

/// Returns the key of the user running a plan, ready to sign. A first key is created if there is
/// none; where none can be stored, it is for this run only.
pub fn owner_signer(
    caller: &dyn Caller,
    rules: &mut SigningRules,
    options: &SigningOptions,
) -> Result<Signer, CommandError> {
    let name = options.key.as_deref();
    let key_folder = match KeyFolder::from_env(&caller.host().vars()) {
        Ok(folder) => folder,
        Err(KeyFolderError::NoFolder) if name.is_none() => {
            return create_ephemeral_key(caller, rules, "no key directory is set");
        }
        Err(error) => return Err(keys::key_error(&error)),
    };
    if let Some(key) = keys::choose_signing_key(caller.host(), &key_folder, name)? {
        // Another run may have created it since the rules were read.
        rules.add_own_key(key.clone());
        return keys::open_key(caller, &key_folder, &key, options.passphrase_file.as_deref());
    }
    create_first_key(caller, rules, &key_folder)
}

fn create_first_key(
    caller: &dyn Caller,
    rules: &mut SigningRules,
    folder: &KeyFolder,
) -> Result<Signer, CommandError> {
    let name = keys::default_key_name(caller.host());
    let signer = Signer::from_bytes(&caller.host().random(&format!("key {name}"))?);
    let pem =
        signer.to_pem().map_err(|error| CommandError::new(crate::CliExitCode::Bug, error.to_string()))?;
    match folder.add(&name, &pem, &signer.public().pem()) {
        Ok(()) => {}
        // Another run was faster.
        Err(KeyFolderError::Exists { .. }) => {
            if let Some(key) = keys::choose_signing_key(caller.host(), folder, Some(&name))? {
                let opened = keys::open_key(caller, folder, &key, None)?;
                rules.add_own_key(key);
                return Ok(opened);
            }
        }
        Err(KeyFolderError::System { cause, .. }) => {
            return create_ephemeral_key(caller, rules, &cause.to_string());
        }
        Err(error) => return Err(keys::key_error(&error)),
    }
    let dir = folder.dir().display();
    caller.info_line(&format!("created the key `{name}` in {dir}: it signs the runs that you start"));
    rules.add_own_key(OwnKey { name, public: signer.public() });
    Ok(signer)
}

/// Creates a key for the life of this program.
fn create_ephemeral_key(
    caller: &dyn Caller,
    rules: &mut SigningRules,
    reason: &str,
) -> Result<Signer, CommandError> {
    let signer = Signer::from_bytes(&caller.host().random("key of a run")?);
    if caller.is_interactive() || caller.is_verbose() {
        caller.info_line(&format!("cannot store a key ({reason}): signing with {EPHEMERAL_KEY_NAME}"));
    }
    rules.add_own_key(OwnKey { name: EPHEMERAL_KEY_NAME.to_owned(), public: signer.public() });
    Ok(signer)
}
