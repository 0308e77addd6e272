use clap::Args;

use super::make::listing;
use crate::{Ui, keys::NewKeyArgs};
use wf_app::{
    CliExitCode, CommandError,
    keys::{self, KeyRevocation, revoke_key},
    load,
};
use wf_exec::keyfile::KeyFolder;
use wf_sign::ApproverKey;

/// Mark a key as revoked in approvers.yaml
#[derive(Args, Debug)]
#[command(after_help = "\
From then on, all its signatures are invalid, whatever their date, because the holder of a key can
write any date. Commit the file, so that the revocation takes effect for everyone.")]
pub struct KeyRevokeArgs {
    /// Key: the approver's name, one of your keys, or 64 hexadecimal digits
    #[arg(value_name = "NAME|HEX")]
    key: String,
}

/// Replace a key by a new one, and revoke the old one in approvers.yaml
#[derive(Args, Debug)]
pub struct KeyRotateArgs {
    /// Name of the key
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    new: NewKeyArgs,
}

/// Revokes a key.
pub fn revoke(ui: &Ui, args: &KeyRevokeArgs) -> Result<CliExitCode, CommandError> {
    let key = resolve_key(ui, &args.key)?;
    match revoke_key(ui, &key)? {
        KeyRevocation::Now(path) => ui.print_line(&format!("revoked in {path}: {}", key.text()))?,
        KeyRevocation::Before(path) => {
            ui.print_line(&format!("already revoked in {path}: {}", key.text()))?;
        }
        KeyRevocation::NotListed(path) => {
            let message = format!("key not found in {path}: {}", key.text());
            let hint = "a key that is not listed cannot approve anything here";
            return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        }
    }
    Ok(CliExitCode::Ok)
}

/// Replaces a key by a new one of the same name.
pub fn rotate(ui: &Ui, args: &KeyRotateArgs) -> Result<CliExitCode, CommandError> {
    let folder = keys::key_folder(&ui.host)?;
    let name = &args.name;
    // Everything that can be refused is refused before anything changes.
    let old = keys::choose_signing_key(&ui.host, &folder, Some(name))?;
    let old = old.map(|key| ApproverKey::from(key.public));
    folder.private(name).map_err(|error| keys::key_error(&error))?;
    let protection = crate::keys::choose_protection(ui, &args.new, name)?;
    let new = keys::generate_key(&ui.host, name, &protection)?;
    let aside = free_name(&folder, name)?;
    folder.rename(name, &aside).map_err(|error| keys::key_error(&error))?;
    let new_key = keys::store_key(ui, &folder, name, new)?;
    ui.print_line(&format!("created the key `{name}`: {}", new_key.public.hex()))?;
    ui.print_line(&format!("the old key is kept as `{aside}`, to identify its signatures"))?;
    if let Some(old) = old {
        match revoke_key(ui, &old)? {
            KeyRevocation::Now(path) | KeyRevocation::Before(path) => {
                ui.print_line(&format!("revoked the old key in {path}: {}", old.text()))?;
                ui.print_info(&listing(&new_key));
            }
            KeyRevocation::NotListed(_) => {}
        }
    }
    Ok(CliExitCode::Ok)
}

/// Returns an unused name of a key.
fn free_name(folder: &KeyFolder, name: &str) -> Result<String, CommandError> {
    let taken = folder.names().map_err(|error| keys::key_error(&error))?;
    let free = (1_u32..).map(|number| format!("{name}-old-{number}"));
    let mut free = free.skip_while(|name| taken.contains(name));
    free.next().ok_or_else(|| CommandError::new(CliExitCode::Usage, "too many old keys"))
}

/// Resolves the key named by the user.
fn resolve_key(ui: &Ui, text: &str) -> Result<ApproverKey, CommandError> {
    if let Ok(key) = ApproverKey::parse(text) {
        return Ok(key);
    }
    let listed = load::approvers(ui, &ui.host.workspace())?;
    let named = listed.and_then(|(file, _)| {
        let named = |name: &str| name == text;
        let mut records = file.approvers.into_iter();
        let record = records.find(|record| record.name.as_ref().is_some_and(|name| named(&name.value)));
        record?.key.map(|key| key.value.0)
    });
    if let Some(key) = named {
        return Ok(key);
    }
    let own_key = keys::choose_signing_key(&ui.host, &keys::key_folder(&ui.host)?, Some(text))?;
    own_key.map(|key| key.public.into()).ok_or_else(|| {
        CommandError::new(CliExitCode::Usage, format!("no approver or key is called `{text}`"))
    })
}
