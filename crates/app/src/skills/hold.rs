use std::collections::BTreeMap;

use super::{
    consent::{statement_name, verify_approvals},
    fetch, locks,
    put::SKILLS,
};
use crate::{Caller, CliExitCode, CommandError, Host, Workspace, approve::SigningRules};
use wf_base::{
    digest::Sha256Digest,
    remedy::{Remedy, UserAction},
};
use wf_core::machine::ApprovalSigner;
use wf_sign::approval::{ApprovalRefusal, ReviewPolicy};
use wf_skill::{
    SkillBundle, bundled, disk,
    lock::{LockedFile, LockedSkill, SkillFileChange, SkillLock, changes, locked_files},
};

/// A skill approved for use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedSkill {
    pub name: String,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// The digest of all its files.
    pub digest: Sha256Digest,
    /// Its files by path, relative to the folder.
    pub files: BTreeMap<String, LockedFile>,
    /// The approvers whose signatures count; none if it comes with this wf.
    pub signers: Vec<ApprovalSigner>,
}

/// The reason why a skill may not be used.
pub enum SkillUseError {
    /// There is none.
    Missing,
    /// It is not locked.
    Unlocked,
    /// It cannot be read.
    Unreadable(CommandError),
    /// It differs from the lock.
    Changed(Vec<SkillFileChange>),
    /// The signed approval is not valid.
    Refused(ApprovalRefusal),
}

/// Checks that all of these skills may be used: each is locked, matches the lock byte for byte, and
/// is covered by approvals that are valid now. Nothing is started before. INV-06.
pub fn check_all_usable(
    caller: &dyn Caller,
    workspace: &Workspace,
    names: &[String],
) -> Result<Vec<ApprovedSkill>, CommandError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let lock = locks::read_lock(workspace)?;
    let rules = SigningRules::of(caller, workspace)?;
    let each = names.iter().map(|name| {
        let usable = check_usable(caller.host(), workspace, &rules, &lock, name);
        usable.map_err(|error| error.failure(name))
    });
    each.collect()
}

/// Checks that one skill may be used.
pub fn check_usable(
    host: &Host,
    workspace: &Workspace,
    rules: &SigningRules,
    lock: &SkillLock,
    name: &str,
) -> Result<ApprovedSkill, SkillUseError> {
    statement_name(name).map_err(SkillUseError::Unreadable)?;
    let Some(locked) = lock.skills.get(name) else {
        return bundled_skill(workspace, rules, name);
    };
    check_unchanged(workspace, locked)?;
    let valid = verify_approvals(host, rules, name, locked).map_err(SkillUseError::Refused)?;
    Ok(ApprovedSkill {
        name: name.to_owned(),
        folder: locked.folder.clone(),
        digest: locked.digest,
        files: locked.files.clone(),
        signers: valid.signers,
    })
}

/// A skill that comes with this wf needs no lock where users sign for what they run themselves:
/// with wf they have it already.
fn bundled_skill(
    workspace: &Workspace,
    rules: &SigningRules,
    name: &str,
) -> Result<ApprovedSkill, SkillUseError> {
    let folder = format!("{SKILLS}/{name}");
    let bundle = disk::read(&workspace.root.join(&folder)).ok();
    let is_own = |bundle: &SkillBundle| bundled::is_bundled(name, bundle);
    match bundle.filter(is_own) {
        Some(bundle) if rules.approvers.policy == ReviewPolicy::Owner => Ok(ApprovedSkill {
            name: name.to_owned(),
            folder,
            digest: bundle.digest(),
            files: locked_files(&bundle),
            signers: Vec::new(),
        }),
        _ if wf_skill::SHELVES.iter().all(|shelf| is_missing(workspace, shelf, name)) => {
            Err(SkillUseError::Missing)
        }
        _ => Err(SkillUseError::Unlocked),
    }
}

/// True if there is no skill of this name on a shelf.
fn is_missing(workspace: &Workspace, shelf: &str, name: &str) -> bool {
    let folder = workspace.root.join(shelf).join(name);
    std::fs::symlink_metadata(folder).is_err()
}

/// Checks that the files of a skill are the locked ones.
fn check_unchanged(workspace: &Workspace, locked: &LockedSkill) -> Result<(), SkillUseError> {
    let bundle = fetch::read_folder(&workspace.root.join(&locked.folder))
        .map_err(|error| SkillUseError::Unreadable(CommandError { exit: CliExitCode::Approval, ..error }))?;
    let changed = changes(&locked.files, &bundle);
    if changed.is_empty() && bundle.digest() == locked.digest {
        Ok(())
    } else {
        Err(SkillUseError::Changed(changed))
    }
}

impl SkillUseError {
    /// The problem, in a few words.
    pub fn message(&self) -> String {
        match self {
            Self::Missing => "it is not in the workspace".to_owned(),
            Self::Unlocked => "it is not locked".to_owned(),
            Self::Unreadable(error) => error.message.clone(),
            Self::Changed(changes) if changes.is_empty() => "its digest does not match its files".to_owned(),
            Self::Changed(changes) => {
                let shown: Vec<String> = changes.iter().take(5).map(ToString::to_string).collect();
                let more = changes.len().saturating_sub(shown.len());
                let more = if more > 0 { format!(", and {more} more") } else { String::new() };
                format!("{}{more}", shown.join(", "))
            }
            Self::Refused(refusal) => refusal.to_string(),
        }
    }

    pub fn remedy(&self, name: &str) -> Remedy {
        let lock = || UserAction::LockSkill(name.to_owned());
        match self {
            Self::Missing => Remedy::from("list the existing skills with `")
                .action(UserAction::ListSkills)
                .text("`, or install one with `")
                .action(UserAction::InstallSkill)
                .text("`"),
            Self::Unlocked => Remedy::from("review it, then lock it: ").action(lock()),
            Self::Unreadable(error) => error.hints.first().cloned().unwrap_or_default(),
            Self::Changed(_) => {
                Remedy::from("revert the change, or review it and lock the skill again: ").action(lock())
            }
            Self::Refused(
                ApprovalRefusal::Revoked { .. }
                | ApprovalRefusal::Expired(_)
                | ApprovalRefusal::Unsigned
                | ApprovalRefusal::TooFew { .. }
                | ApprovalRefusal::SelfApproval(_)
                | ApprovalRefusal::Unlisted(_),
            ) => Remedy::from("an approver must review and sign it: ")
                .action(UserAction::ApproveSkill(name.to_owned())),
            Self::Refused(_) => Remedy::from(
                "skills.lock was changed: restore it from git, or review the skill and lock it again: ",
            )
            .action(lock()),
        }
    }

    /// The failure of a command.
    pub fn failure(&self, name: &str) -> CommandError {
        let message = format!("the skill `{}` cannot be used: {}", name.escape_debug(), self.message());
        CommandError::new(CliExitCode::Approval, message).hint(self.remedy(name))
    }
}
