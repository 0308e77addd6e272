//! The signed approvals of a skill, and their validity.

use crate::{
    Caller, CliExitCode, CommandError, Host, Workspace,
    approve::{SigningOptions, SigningRules, draft_statement, owner_signer},
    keys, watch,
};
use wf_base::{digest::Sha256Digest, name::PlanId};
use wf_core::machine::PinnedFile;
use wf_sign::{
    Signer,
    approval::{
        ApprovalContext, ApprovalRefusal, ApprovalScope, ApprovalStatement, ApprovalToken, ParamBound,
        PlanRef, ReviewPolicy, SKILL_VALIDITY, ValidApproval, check_installation, install_params,
        plan_digest,
    },
};
use wf_skill::lock::LockedSkill;
use wf_store::feed::WorkspaceAction;

/// The content an approval of a skill is bound to: every file, the install report, all of it
/// together with the list of executables, the granted rights, and each exception by rule and file.
/// All but the files have an empty path component in front, which no file has.
pub fn pins(locked: &LockedSkill) -> Vec<PinnedFile> {
    let folder = &locked.folder;
    let files = locked.files.iter();
    let files = files.map(|(path, file)| PinnedFile::file(format!("{folder}/{path}"), file.digest));
    let mut more = vec![("bundle".to_owned(), locked.digest), ("report".to_owned(), locked.report)];
    if !locked.granted.is_empty() {
        let granted = serde_json::to_string(&locked.granted).unwrap_or_default();
        more.push(("granted".to_owned(), Sha256Digest::of_bytes(granted.as_bytes())));
    }
    for (rule, files) in &locked.exceptions {
        let each = files.iter();
        more.extend(each.map(|(path, file)| (format!("exception/{rule}/{path}"), file.digest)));
    }
    let more = more.into_iter();
    let more = more.map(|(name, digest)| PinnedFile::file(format!("{folder}//{name}"), digest));
    let mut pinned_files: Vec<PinnedFile> = files.chain(more).collect();
    pinned_files.sort();
    pinned_files
}

/// The name of a skill as approvals write it.
pub fn statement_name(name: &str) -> Result<PlanId, CommandError> {
    PlanId::parse(name).map_err(|_| {
        let message = format!("invalid skill name: `{}`", name.escape_debug());
        let lower = name.to_lowercase();
        if lower != name && PlanId::parse(&lower).is_ok() {
            let message = message + ": names must be lower case";
            return CommandError::new(CliExitCode::Usage, message).hint(format!("use `{lower}`"));
        }
        CommandError::new(CliExitCode::Usage, message).hint("use a-z, 0-9 and single hyphens")
    })
}

/// Checks that the signed approvals of a skill are valid now.
pub fn verify_approvals(
    host: &Host,
    rules: &SigningRules,
    name: &str,
    locked: &LockedSkill,
) -> Result<ValidApproval, ApprovalRefusal> {
    let mut tokens = Vec::new();
    for envelope in &locked.approvals {
        tokens.push(ApprovalToken::parse(&(wf_sign::canonical(envelope) + "\n"))?);
    }
    let other = || ApprovalRefusal::NoToken(format!("invalid skill name: `{name}`"));
    let plan = PlanId::parse(name).map_err(|_| other())?;
    let files = pins(locked);
    let params = install_params(locked.installer);
    let subject = ApprovalContext {
        scope: ApprovalScope::SkillInstall,
        plan: &plan,
        path: &locked.folder,
        files: &files,
        params: &params,
        run: None,
        request_ref: None,
        initiator: Some(locked.installer),
        spawned: None,
        now: host.now(),
    };
    check_installation(&tokens, &subject, &rules.approvers)
}

/// The key of the installing user, opened to sign at once where users approve what they run.
pub struct SkillInstaller {
    /// The rules, with the key among the user's own.
    pub rules: SigningRules,
    pub id: Sha256Digest,
    signer: Option<Signer>,
}

/// Finds the key of the installing user.
pub fn find_installer(
    caller: &dyn Caller,
    workspace: &Workspace,
    signing: &SigningOptions,
) -> Result<SkillInstaller, CommandError> {
    let mut rules = SigningRules::of(caller, workspace)?;
    if rules.approvers.policy == ReviewPolicy::Owner {
        let signer = owner_signer(caller, &mut rules, signing)?;
        let id = signer.public().id();
        return Ok(SkillInstaller { rules, id, signer: Some(signer) });
    }
    let folder = keys::key_folder(caller.host())?;
    let key = keys::require_signing_key(caller.host(), &folder, signing.key.as_deref())?;
    Ok(SkillInstaller { rules, id: key.public.id(), signer: None })
}

impl SkillInstaller {
    /// Signs for a skill at once, where the installing user approves it. Earlier signatures of
    /// other bytes are dropped.
    pub fn sign(
        &self,
        caller: &dyn Caller,
        name: &str,
        locked: &mut LockedSkill,
        signing: &SigningOptions,
    ) -> Result<(), CommandError> {
        locked.approvals.clear();
        if let Some(signer) = &self.signer {
            add_signature(caller, name, locked, signer, signing)?;
        }
        Ok(())
    }
}

/// Signs for a skill, and records it.
pub(super) fn add_signature(
    caller: &dyn Caller,
    name: &str,
    locked: &mut LockedSkill,
    signer: &Signer,
    signing: &SigningOptions,
) -> Result<(), CommandError> {
    let files = pins(locked);
    let key = signer.public().id();
    let purpose = format!("skill {name} {} {key}", locked.digest);
    let params = install_params(locked.installer).into_iter();
    let plan =
        PlanRef { id: statement_name(name)?, path: locked.folder.clone(), digest: plan_digest(&files) };
    let validity = signing.validity.unwrap_or(SKILL_VALIDITY);
    let draft = draft_statement(caller.host(), &purpose, ApprovalScope::SkillInstall, plan, validity)?;
    let statement = ApprovalStatement {
        files,
        params: params.map(|(name, value)| (name, ParamBound::Is(value))).collect(),
        ..draft
    };
    let token = ApprovalToken::sign(statement, signer);
    let envelope = serde_json::to_value(token.envelope());
    let envelope = envelope.map_err(|error| CommandError::new(CliExitCode::Bug, error.to_string()))?;
    locked.approvals.push(envelope);
    let scope = ApprovalScope::SkillInstall.as_str().to_owned();
    watch::record_quietly(caller, WorkspaceAction::Approved { scope, key });
    Ok(())
}
