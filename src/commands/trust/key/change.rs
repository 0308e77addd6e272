use std::fs;

use clap::Args;

use super::make::listing;
use super::mark;
use crate::Ui;
use crate::keys::NewKeyArgs;
use wf_app::keys::{self};
use wf_app::{APPROVERS, CliExitCode, CommandError, load, relative_path, watch};
use wf_exec::keyfile::KeyFolder;
use wf_sign::ApproverKey;
use wf_store::feed::WorkspaceAction;

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
    match mark_revoked(ui, &key)? {
        KeyMarkOutcome::Now(path) => ui.print_line(&format!("revoked in {path}: {}", key.text()))?,
        KeyMarkOutcome::Before(path) => {
            ui.print_line(&format!("already revoked in {path}: {}", key.text()))?;
        }
        KeyMarkOutcome::NotListed(path) => {
            let message = format!("key not found in {path}: {}", key.text());
            let hint = "a key that is not listed cannot approve anything here";
            return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
        }
    }
    Ok(CliExitCode::Ok)
}

/// Replaces a key by a new one of the same name.
pub fn rotate(ui: &Ui, args: &KeyRotateArgs) -> Result<CliExitCode, CommandError> {
    let keys = keys::key_folder(&ui.host)?;
    let name = &args.name;
    // Everything that can be refused is refused before anything changes.
    let old = keys::choose_signing_key(&ui.host, &keys, Some(name))?;
    let old = old.map(|key| ApproverKey::from(key.public));
    keys.private(name).map_err(|bad| keys::key_error(&bad))?;
    let under = crate::keys::choose_protection(ui, &args.new, name)?;
    let new = keys::generate_key(&ui.host, name, &under)?;
    let aside = free_name(&keys, name)?;
    keys.rename(name, &aside).map_err(|bad| keys::key_error(&bad))?;
    let new = keys::store_key(ui, &keys, name, new)?;
    ui.print_line(&format!("created the key `{name}`: {}", new.public.hex()))?;
    ui.print_line(&format!("the old key is kept as `{aside}`, to identify its signatures"))?;
    if let Some(old) = old {
        match mark_revoked(ui, &old)? {
            KeyMarkOutcome::Now(path) | KeyMarkOutcome::Before(path) => {
                ui.print_line(&format!("revoked the old key in {path}: {}", old.text()))?;
                ui.print_info(&listing(&new));
            }
            KeyMarkOutcome::NotListed(_) => {}
        }
    }
    Ok(CliExitCode::Ok)
}

/// Returns a name that no key has.
fn free_name(keys: &KeyFolder, name: &str) -> Result<String, CommandError> {
    let taken = keys.names().map_err(|bad| keys::key_error(&bad))?;
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
        let mut all = file.approvers.into_iter();
        let one = all.find(|one| one.name.as_ref().is_some_and(|name| named(&name.value)));
        one?.key.map(|key| key.value.0)
    });
    if let Some(key) = named {
        return Ok(key);
    }
    let own = keys::choose_signing_key(&ui.host, &keys::key_folder(&ui.host)?, Some(text))?;
    own.map(|key| key.public.into()).ok_or_else(|| {
        CommandError::new(CliExitCode::Usage, format!("no approver or key is called `{text}`"))
    })
}

/// The result of marking a key.
enum KeyMarkOutcome {
    Now(String),
    Before(String),
    NotListed(String),
}

/// Marks a key as revoked where the workspace lists it.
fn mark_revoked(ui: &Ui, key: &ApproverKey) -> Result<KeyMarkOutcome, CommandError> {
    let workspace = ui.host.workspace();
    let path = workspace.root.join(APPROVERS);
    let shown = relative_path(&path, ui.host.cwd());
    let Some((file, source)) = load::approvers(ui, &workspace)? else {
        return Ok(KeyMarkOutcome::NotListed(shown));
    };
    let is =
        |one: &&wf_app::config::ApproverRecord| one.key.as_ref().is_some_and(|named| named.value.0 == *key);
    let Some(one) = file.approvers.iter().find(is) else {
        return Ok(KeyMarkOutcome::NotListed(shown));
    };
    if one.revoked.is_some() {
        return Ok(KeyMarkOutcome::Before(shown));
    }
    let Some(text) = mark::with_revocation(&source, key, ui.host.now()) else {
        let line = format!("revoked: {}", ui.host.now());
        let message = format!("{shown} would be invalid with the key revoked");
        let hint = format!("edit it by hand: add `{line}` to the key, and enough other approvers");
        return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
    };
    let written =
        fs::metadata(&path).and_then(|found| mark::write_approvers(&path, &text, Some(found.permissions())));
    written
        .map_err(|error| CommandError::new(CliExitCode::State, format!("cannot write {shown}: {error}")))?;
    let (key, name) = (key.id(), one.name.as_ref().map(|name| name.value.clone()));
    let name = name.unwrap_or_default();
    watch::record_quietly(ui, WorkspaceAction::KeyRevoked { key, name });
    Ok(KeyMarkOutcome::Now(shown))
}
