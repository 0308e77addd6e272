//! What people sign of a connection, where others than who sets it up must (Silas 5.10.1, 5.10.2,
//! `connection_manage`).
//!
//! An approval names the connection, the skill with every byte of it, and the permissions that it may
//! have. It lies beside the stamps of connections, for git, and is used once.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Adapter;
use crate::approval::{Bound, Policy, Scope, Subject, Token, Valid, verify};
use crate::cli::approve::{Rules, read_token, used_token};
use crate::cli::skills::{consent, locks};
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::digest::Digest;
use crate::machine::Pin;
use crate::model::Object;
use crate::name::PlanId;
use crate::store::Use;

/// What a statement calls the permissions, among its parameters.
const PERMISSIONS: &str = "permissions";

/// A connection that somebody wants, as an approval writes it.
pub struct ConnectionScope<'a> {
    /// Its name.
    pub name: &'a PlanId,
    /// The skill.
    pub skill: &'a str,
    /// The skill's folder, relative to the workspace.
    pub folder: &'a str,
    /// The permissions.
    pub permissions: &'a [String],
}

impl<'a> ConnectionScope<'a> {
    /// A connection by the scripts of a skill.
    pub fn new(name: &'a PlanId, adapter: &'a Adapter, permissions: &'a [String]) -> Self {
        Self {
            name,
            skill: &adapter.skill,
            folder: &adapter.folder,
            permissions,
        }
    }

    /// The command that signs for it.
    pub fn command(&self) -> String {
        let named = self.permissions.iter();
        let named: String = named
            .map(|permission| format!(" --permission {permission}"))
            .collect();
        format!(
            "wf connection approve {} --skill {}{named}",
            self.name, self.skill
        )
    }
}

/// Where the approval of a connection lies.
pub fn path(workspace: &Workspace, name: &PlanId) -> PathBuf {
    let folder = workspace.root.join("connections");
    folder.join(format!("{name}.approval.json"))
}

/// What a connection may be: the permissions that were signed for, or fewer.
pub fn bound(permissions: &[String]) -> (String, Bound) {
    let schema = match permissions {
        [] => json!({ "type": "array", "maxItems": 0 }),
        some => json!({ "type": "array", "items": { "enum": some } }),
    };
    (PERMISSIONS.to_owned(), Bound::Within(schema))
}

/// What an approval of a connection is bound to: every byte of its skill.
pub fn skill_pins(workspace: &Workspace, skill: &str) -> Result<Vec<Pin>, Failure> {
    let lock = locks::read(workspace)?;
    let locked = lock.skills.get(skill).ok_or_else(|| {
        let message = format!("the skill `{skill}` is not locked");
        let hint = format!("look at it and lock it: wf skill lock {skill}");
        Failure::new(Exit::Approval, message).hint(hint)
    })?;
    Ok(consent::pins(locked))
}

/// Whether a connection may be set up so. Where who does it approves it, that is all; where others
/// must, they have signed for it, and what is used of that is given. INV-01.
pub fn allowed(
    ui: &Ui,
    workspace: &Workspace,
    wanted: &ConnectionScope<'_>,
) -> Result<Option<Use>, Failure> {
    let rules = Rules::of(ui, workspace)?;
    if rules.approvers.policy == Policy::Owner {
        return Ok(None);
    }
    let refused = |refusal: &crate::approval::Refusal| {
        let message = format!(
            "the connection `{}` may not be set up: {refusal}",
            wanted.name
        );
        let hint = format!(
            "let another approver look at it and sign: {}",
            wanted.command()
        );
        Failure::new(Exit::Approval, message).hint(hint)
    };
    let token =
        read_token(workspace, &path(workspace, wanted.name)).map_err(|bad| refused(&bad))?;
    let signers: Vec<Digest> = token.signers().flatten().collect();
    let files = skill_pins(workspace, wanted.skill)?;
    let permissions = Value::from(wanted.permissions.to_vec());
    let params = Object::from_iter([(PERMISSIONS.to_owned(), permissions)]);
    let subject = Subject {
        scope: Scope::ConnectionManage,
        plan: wanted.name,
        path: wanted.folder,
        files: &files,
        params: &params,
        run: None,
        ask: None,
        initiator: rules.initiator(&signers),
        spawned: None,
        now: ui.env.now(),
    };
    let used = used_token(workspace, &token)?;
    let verified = verify(&token, &subject, &rules.approvers, used);
    let (Valid { .. }, consumption) = verified.map_err(|bad| refused(&bad))?;
    Ok(Some(Use {
        nonce: consumption.nonce.to_string(),
        execution: consumption.execution,
        token: token.digest(),
    }))
}

/// An approval that lies there, if it can be read.
pub fn signed(workspace: &Workspace, file: &Path) -> Option<Token> {
    read_token(workspace, file).ok()
}
