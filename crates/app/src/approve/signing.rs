use std::{path::PathBuf, time::Duration};

use super::{SigningRules, confirm, owner_signer};
use crate::{
    Caller, CliExitCode, CommandError,
    keys::{self, OwnKey, known_key},
};
use wf_base::time::format_duration;
use wf_sign::{Signer, approval::ApprovalRefusal};

/// The options of a signer.
#[derive(Clone, Debug, Default)]
pub struct SigningOptions {
    /// True if the person has confirmed it.
    pub is_confirmed: bool,
    /// The validity of the approval; the longest one if nothing is said.
    pub validity: Option<Duration>,
    pub key: Option<String>,
    /// The file with the passphrase of the key.
    pub passphrase_file: Option<PathBuf>,
}

/// Shows what is about to be signed, asks, and opens the key: that of an approver, or the person's own, which is
/// created if there is none, and which the rules know then. Every approval of a person is signed with what this
/// returns, so none is that was not shown; a run signs for itself in [`authorize`](super::authorize()).
pub fn agree(
    caller: &dyn Caller,
    rules: &mut SigningRules,
    key: Option<&OwnKey>,
    options: &SigningOptions,
    question: &str,
    show: &dyn Fn() -> Result<(), CommandError>,
) -> Result<Signer, CommandError> {
    show()?;
    confirm(caller, options.is_confirmed, question)?;
    let Some(key) = key else {
        return owner_signer(caller, rules, options);
    };
    let folder = keys::key_folder(caller.host())?;
    keys::open_key(caller, &folder, key, options.passphrase_file.as_deref())
}

/// Returns the failure for a signature that does not count: it names a key that nobody has listed as people know it.
pub(crate) fn rejected_signature(caller: &dyn Caller, refusal: &ApprovalRefusal) -> CommandError {
    let reason = match refusal {
        ApprovalRefusal::Unlisted(id) => {
            format!("signed with {}, which is not listed in approvers.yaml", known_key(caller, id))
        }
        _ => refusal.to_string(),
    };
    CommandError::new(CliExitCode::Approval, format!("signature rejected: {reason}"))
}

/// Returns the key of an approver. One without a valid signature is refused before anything is shown.
pub fn approver_key(
    caller: &dyn Caller,
    rules: &mut SigningRules,
    options: &SigningOptions,
) -> Result<OwnKey, CommandError> {
    let folder = keys::key_folder(caller.host())?;
    let key = keys::require_signing_key(caller.host(), &folder, options.key.as_deref())?;
    rules.add_own_key(key.clone());
    let reason = match rules.approvers.find(key.public.id()).map(|approver| approver.revoked) {
        Some(None) => return Ok(key),
        Some(Some(since)) => format!("it was revoked on {since}"),
        None => "it is not listed as an approver".to_owned(),
    };
    let message = format!("the key `{}` is not allowed to approve: {reason}", key.name);
    let hint = "approvers.yaml lists the approvers; to use another key: --key NAME";
    Err(CommandError::new(CliExitCode::Approval, message).hint(hint))
}

/// Returns the validity of a new approval, within the rules.
pub fn validity(rules: &SigningRules, options: &SigningOptions) -> Result<Duration, CommandError> {
    let allowed = rules.approvers.validity;
    let asks = options.validity.unwrap_or(allowed);
    if asks > allowed || asks.is_zero() {
        let refusal = ApprovalRefusal::TooLong { asks, allowed };
        let hint = format!("shorten it: --expires {}", format_duration(allowed));
        return Err(CommandError::new(CliExitCode::Approval, refusal.to_string()).hint(hint));
    }
    Ok(asks)
}
