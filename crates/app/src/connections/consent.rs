//! The signed approval of a connection, where approvers other than the user who sets it up are
//! required (Silas 5.10.1, 5.10.2, `connection_manage`).
//!
//! An approval names the connection, the skill with every byte of it, and the permissions it
//! may have. It is stored beside the stamps of connections, for git, and is used once.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ConnectionAdapter;
use crate::{
    Caller, CliExitCode, CommandError, Workspace,
    approve::{SigningRules, read_token, use_count},
    skills::{consent, locks},
};
use wf_base::{digest::Sha256Digest, name::PlanId, remedy::UserAction};
use wf_core::machine::PinnedFile;
use wf_model::JsonObject;
use wf_sign::approval::{ApprovalContext, ApprovalScope, ParamBound, ReviewPolicy, ValidApproval, verify};
use wf_store::ConnectionApprovalUse;

/// The name of the permissions among the parameters of a statement.
const PERMISSIONS: &str = "permissions";

/// A requested connection, as an approval writes it.
pub struct ConnectionScope<'a> {
    pub name: &'a PlanId,
    pub skill: &'a str,
    /// The skill's folder, relative to the workspace.
    pub folder: &'a str,
    pub permissions: &'a [String],
}

impl<'a> ConnectionScope<'a> {
    /// A connection by the scripts of a skill.
    pub fn new(name: &'a PlanId, adapter: &'a ConnectionAdapter, permissions: &'a [String]) -> Self {
        Self { name, skill: &adapter.skill, folder: &adapter.folder, permissions }
    }

    /// Returns the act signing for it.
    fn approval(&self) -> UserAction {
        UserAction::ApproveConnection {
            name: self.name.clone(),
            skill: self.skill.to_owned(),
            permissions: self.permissions.to_vec(),
        }
    }
}

pub(super) fn approval_path(workspace: &Workspace, name: &PlanId) -> PathBuf {
    let folder = workspace.root.join("connections");
    folder.join(format!("{name}.approval.json"))
}

/// Returns the bound of a connection: the signed permissions, or fewer.
pub(super) fn permissions_bound(permissions: &[String]) -> (String, ParamBound) {
    let schema = match permissions {
        [] => json!({ "type": "array", "maxItems": 0 }),
        some => json!({ "type": "array", "items": { "enum": some } }),
    };
    (PERMISSIONS.to_owned(), ParamBound::Within(schema))
}

/// Returns the files an approval of a connection is bound to: every byte of its skill.
pub(super) fn skill_pins(workspace: &Workspace, skill: &str) -> Result<Vec<PinnedFile>, CommandError> {
    let lock = locks::read_lock(workspace)?;
    let locked = lock.skills.get(skill).ok_or_else(|| {
        let message = format!("the skill `{skill}` is not locked");
        CommandError::new(CliExitCode::Approval, message)
            .remedy("review it, then lock it: ", UserAction::LockSkill(skill.to_owned()))
    })?;
    Ok(consent::pins(locked))
}

/// Checks that a connection may be set up this way. Where the user who does it approves it, that is all;
/// where other approvers must, they have signed for it, and the used token is returned. INV-01.
pub fn check_allowed(
    caller: &dyn Caller,
    workspace: &Workspace,
    requested_scope: &ConnectionScope<'_>,
) -> Result<Option<ConnectionApprovalUse>, CommandError> {
    let rules = SigningRules::of(caller, workspace)?;
    if rules.approvers.policy == ReviewPolicy::Owner {
        return Ok(None);
    }
    let refused = |refusal: &wf_sign::approval::ApprovalRefusal| {
        let message = format!("the connection `{}` is not approved: {refusal}", requested_scope.name);
        CommandError::new(CliExitCode::Approval, message)
            .remedy("another approver must review and sign it: ", requested_scope.approval())
    };
    let token = read_token(workspace, &approval_path(workspace, requested_scope.name))
        .map_err(|refusal| refused(&refusal))?;
    let signers: Vec<Sha256Digest> = token.signers().flatten().collect();
    let files = skill_pins(workspace, requested_scope.skill)?;
    let permissions = Value::from(requested_scope.permissions.to_vec());
    let params = JsonObject::from_iter([(PERMISSIONS.to_owned(), permissions)]);
    let subject = ApprovalContext {
        scope: ApprovalScope::ConnectionManage,
        plan: requested_scope.name,
        path: requested_scope.folder,
        files: &files,
        params: &params,
        run: None,
        request_ref: None,
        initiator: rules.initiator(&signers),
        spawned: None,
        now: caller.host().now(),
    };
    let used = use_count(workspace, &token)?;
    let verified = verify(&token, &subject, &rules.approvers, used);
    let (ValidApproval { .. }, consumption) = verified.map_err(|refusal| refused(&refusal))?;
    Ok(Some(ConnectionApprovalUse {
        nonce: consumption.nonce.to_string(),
        execution: consumption.execution,
        token: token.digest(),
    }))
}
