use serde_json::Value;

use super::{
    InspectedSkill, SkillUseError,
    consent::{add_signature, verify_approvals},
    fetch, inspect_skill, locks,
    needs::InstallTerms,
    put::SkillFolderLock,
    tell,
};
use crate::{
    Caller, CliExitCode, CommandError, GitRevision, Host, Workspace,
    approve::{SigningOptions, SigningRules, agree, approver_key},
    keys::OwnKey,
};
use wf_base::{digest::Sha256Digest, remedy::UserAction};
use wf_lang::SpecFileSource as _;
use wf_sign::approval::{ApprovalRefusal, ApprovalToken, ReviewPolicy};
use wf_skill::lock::{LOCK, LockedSkill, SkillLock, changes};

/// Shows a locked skill, asks, and adds a signature. Returns the reason why it is not approved yet, if it is not.
pub fn approve_skill(
    caller: &dyn Caller,
    name: &str,
    signing: &SigningOptions,
    show: &dyn Fn(&str) -> Result<(), CommandError>,
) -> Result<Option<ApprovalRefusal>, CommandError> {
    let host = caller.host();
    let workspace = host.workspace();
    let _hold = SkillFolderLock::acquire(caller, &workspace)?;
    let mut lock = locks::read_lock(&workspace)?;
    let locked = lock.skills.get_mut(name).ok_or_else(|| locks::not_locked(name))?;
    let studied = inspect_locked(&workspace, name, locked)?;
    let terms = InstallTerms::locked(locked);
    if terms.has_unaccepted_danger(&studied) {
        show(&tell::findings(&studied))?;
        let message = format!("the skill `{name}` is rejected: its dangers were not accepted");
        let action = UserAction::AcceptDanger(name.to_owned());
        return Err(
            CommandError::new(CliExitCode::Invalid, message).remedy("accept them when installing: ", action)
        );
    }
    let mut text = tell::summary(&studied) + &tell::full_text(&studied) + "\n" + &tell::findings(&studied);
    if let Some(old_lock) = committed_version(host, &workspace, name) {
        text += &tell::differences(host, &workspace, &old_lock, &studied);
    }
    text += &terms.text();
    let mut rules = SigningRules::of(caller, &workspace)?;
    let key = approver_key(caller, &mut rules, signing)?;
    refuse_installer(&rules, name, locked, &key)?;
    let signer = agree(caller, &mut rules, Some(&key), signing, "Approve this skill?", &|| show(&text))?;
    // An invalid signature is not carried over: it would invalidate the valid ones.
    locked.approvals.retain(|envelope| may_stay(&rules, envelope, key.public.id()));
    add_signature(caller, name, locked, &signer, signing)?;
    let refusal = verify_approvals(host, &rules, name, locked).err();
    locks::write_lock(&workspace, &lock)?;
    Ok(refusal)
}

/// Inspects a skill; its files must be the locked ones, and so must its report.
fn inspect_locked(
    workspace: &Workspace,
    name: &str,
    locked: &LockedSkill,
) -> Result<InspectedSkill, CommandError> {
    let bundle = fetch::read_folder(&workspace.root.join(&locked.folder))?;
    let changed = changes(&locked.files, &bundle);
    if !changed.is_empty() || bundle.digest() != locked.digest {
        return Err(SkillUseError::Changed(changed).failure(name));
    }
    let studied = inspect_skill(name, bundle);
    if studied.report_digest() == locked.report {
        return Ok(studied);
    }
    let message = format!("the install report of `{name}` differs from the locked one");
    Err(CommandError::new(CliExitCode::Approval, message).remedy(
        "this version of wf has other rules, or skills.lock was changed; review the skill and lock it again: ",
        UserAction::LockSkill(name.to_owned()),
    ))
}

/// A skill as the last commit locks it: the last approved version.
fn committed_version(host: &Host, workspace: &Workspace, name: &str) -> Option<LockedSkill> {
    let bytes = GitRevision::of(workspace, "HEAD", &host.vars()).ok()?.read(LOCK).ok()?;
    let mut lock = SkillLock::parse(&String::from_utf8(bytes).ok()?).ok()?;
    lock.skills.remove(name)
}

/// Refuses the key of the installing user where other approvers must sign.
fn refuse_installer(
    rules: &SigningRules,
    name: &str,
    locked: &LockedSkill,
    key: &OwnKey,
) -> Result<(), CommandError> {
    if rules.approvers.policy == ReviewPolicy::Owner || key.public.id() != locked.installer {
        return Ok(());
    }
    let refusal = ApprovalRefusal::SelfApproval(key.name.clone());
    let message = format!("you installed the skill `{name}`: {refusal}");
    Err(CommandError::new(CliExitCode::Approval, message)
        .remedy("another approver must sign: ", UserAction::ApproveSkill(name.to_owned())))
}

/// True if an envelope may stay beside a new one of this key: under policy `owner` those of other keys may.
fn may_stay(rules: &SigningRules, envelope: &Value, id: Sha256Digest) -> bool {
    let token = ApprovalToken::parse(&(wf_sign::canonical(envelope) + "\n"));
    token.is_ok_and(|token| {
        token.signers().all(|by| {
            let signer = by.and_then(|by| rules.approvers.find(by));
            let holds = signer
                .map_or(rules.approvers.policy == ReviewPolicy::Owner, |approver| approver.revoked.is_none());
            holds && by != Some(id)
        })
    })
}
