//! The changes of a person to the approvers of a workspace.

use std::fs;

use super::{
    approvers_file::{with_approver, with_revocation, write_approvers},
    asked::forget_asked,
};
use crate::{
    APPROVERS, Caller, CliExitCode, CommandError, PrivateFile, PrivateFileLock, Workspace, approve::confirm,
    relative_path, specs::load::approvers, watch,
};
use wf_base::{digest::Sha256Digest, source::SourceText};
use wf_sign::ApproverKey;
use wf_store::feed::WorkspaceAction;

/// The result of revoking a key, with the file as it is shown.
pub enum KeyRevocation {
    Now(String),
    /// It was revoked before.
    Before(String),
    NotListed(String),
}

/// Marks a key as revoked where the workspace lists it.
pub fn revoke_key(caller: &dyn Caller, key: &ApproverKey) -> Result<KeyRevocation, CommandError> {
    let workspace = caller.host().workspace();
    let path = workspace.root.join(APPROVERS);
    let shown = relative_path(&path, caller.host().cwd());
    let changed = lock(&workspace)?;
    let Some((file, source)) = approvers(caller, &workspace)? else {
        return Ok(KeyRevocation::NotListed(shown));
    };
    let is = |approver: &&crate::config::ApproverRecord| {
        approver.key.as_ref().is_some_and(|named| named.value.0 == *key)
    };
    let Some(record) = file.approvers.iter().find(is) else {
        return Ok(KeyRevocation::NotListed(shown));
    };
    if record.revoked.is_some() {
        return Ok(KeyRevocation::Before(shown));
    }
    let Some(text) = with_revocation(&source, key, caller.host().now()) else {
        let line = format!("revoked: {}", caller.host().now());
        let message = format!("{shown} would be invalid with the key revoked");
        let hint = format!("edit it by hand: add `{line}` to the key, and enough other approvers");
        return Err(CommandError::new(CliExitCode::Usage, message).hint(hint));
    };
    let written =
        fs::metadata(&path).and_then(|metadata| write_approvers(&path, &text, Some(metadata.permissions())));
    written
        .map_err(|error| CommandError::new(CliExitCode::State, format!("cannot write {shown}: {error}")))?;
    drop(changed);
    let (key, name) = (key.id(), record.name.as_ref().map(|name| name.value.clone()));
    let name = name.unwrap_or_default();
    watch::record_quietly(caller, WorkspaceAction::KeyRevoked { key, name });
    Ok(KeyRevocation::Now(shown))
}

/// Adds a key to the approvers, once the person has confirmed it.
pub fn enrol_key(
    caller: &dyn Caller,
    name: &str,
    key: &ApproverKey,
    is_confirmed: bool,
) -> Result<KeyEnrolment, CommandError> {
    let workspace = caller.host().workspace();
    let path = workspace.root.join(APPROVERS);
    let shown = relative_path(&path, caller.host().cwd());
    if text_with(caller, &shown, name, key)?.is_none() {
        return Ok(KeyEnrolment::Before(shown));
    }
    caller.info(&format!(
        "the holder of the private key of {} can then approve in this workspace\nits words: {}\n",
        key.text(),
        key.words()
    ));
    confirm(caller, is_confirmed, &format!("Add `{name}` to {shown}?"))?;
    add_key(caller, NewApprover { name, key, signed_by: None }, |_| Ok(()))
}

/// A key to be added to the approvers.
#[derive(Clone, Copy)]
pub(super) struct NewApprover<'a> {
    pub name: &'a str,
    pub key: &'a ApproverKey,
    /// The key of the approver who signed for it.
    pub signed_by: Option<Sha256Digest>,
}

/// Adds a key to the approvers, if the text that their file would have passes a check.
pub(super) fn add_key(
    caller: &dyn Caller,
    approver: NewApprover<'_>,
    check: impl FnOnce(&str) -> Result<(), CommandError>,
) -> Result<KeyEnrolment, CommandError> {
    let NewApprover { name, key, signed_by } = approver;
    let workspace = caller.host().workspace();
    let path = workspace.root.join(APPROVERS);
    let shown = relative_path(&path, caller.host().cwd());
    let changed = lock(&workspace)?;
    // Another process may have changed it while the person read.
    let Some(text) = text_with(caller, &shown, name, key)? else {
        return Ok(KeyEnrolment::Before(shown));
    };
    check(&text)?;
    // A list that several workspaces share by a link stays one.
    let path = fs::canonicalize(&path).unwrap_or(path);
    let permissions = fs::metadata(&path).ok().map(|metadata| metadata.permissions());
    // Nobody becomes an approver without a record of it.
    let (id, name) = (key.id(), name.to_owned());
    watch::record_act(caller, WorkspaceAction::KeyEnrolled { key: id, name, signed_by })?;
    write_approvers(&path, &text, permissions)
        .map_err(|error| CommandError::new(CliExitCode::State, format!("cannot write {shown}: {error}")))?;
    forget_asked(caller, key)?;
    drop(changed);
    Ok(KeyEnrolment::Now(shown))
}

/// Returns the text of the approvers with a key added; `None`: it is listed already.
pub(super) fn text_with(
    caller: &dyn Caller,
    shown: &str,
    name: &str,
    key: &ApproverKey,
) -> Result<Option<String>, CommandError> {
    let usage = |message: String| CommandError::new(CliExitCode::Usage, message);
    let listed = approvers(caller, &caller.host().workspace())?;
    let records = || listed.iter().flat_map(|(file, _)| &file.approvers);
    let is_key = |record: &&crate::config::ApproverRecord| {
        record.key.as_ref().is_some_and(|key_text| key_text.value.0 == *key)
    };
    if let Some(record) = records().find(is_key) {
        if record.revoked.is_none() {
            return Ok(None);
        }
        return Err(usage(format!("the key was revoked in {shown}")).hint("make a new one, and enrol that"));
    }
    if records().any(|record| record.name.as_ref().is_some_and(|listed_name| listed_name.value == name)) {
        let error = usage(format!("{shown} has another approver named `{name}`"));
        return Err(error.hint("choose another name: names are unique, also those of revoked keys"));
    }
    let source = listed.map_or_else(|| SourceText::new(shown, "policy: owner\n"), |(_, source)| source);
    let text = with_approver(&source, name, key).ok_or_else(|| {
        let line = format!("- {{name: {name}, key: {}}}", key.text());
        usage(format!("the key cannot be added to {shown}"))
            .hint(format!("add it by hand, below `approvers`: {line}"))
    })?;
    Ok(Some(text))
}

/// Waits until no other process changes the approvers: a change is made of the text as it is then.
fn lock(workspace: &Workspace) -> Result<PrivateFileLock, CommandError> {
    PrivateFile::new(workspace, APPROVERS).hold().map_err(|error| {
        CommandError::new(CliExitCode::State, format!("cannot change {APPROVERS}: {error}"))
            .hint("another process may be changing it: try again")
    })
}

/// The result of adding a key, with the file as it is shown.
pub enum KeyEnrolment {
    Now(String),
    /// It was listed before.
    Before(String),
}
