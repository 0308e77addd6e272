use super::{
    ConnectionAdapter,
    consent::{ConnectionScope, approval_path, permissions_bound, skill_pins},
    ledger::connection_rows,
};
use crate::{
    Caller, CliExitCode, CommandError,
    approve::{
        AskedTerms, SigningOptions, SigningRules, TokenReview, approver_key, draft_statement, validity,
    },
};
use wf_base::name::PlanId;
use wf_sign::approval::{ApprovalScope, ApprovalStatement, PlanRef, plan_digest};

/// The approval of a connection, as an approver asks for it.
pub struct ConnectionApprovalRequest<'a> {
    pub name: &'a PlanId,
    /// The skill, if it is not that of the connection as it is set up.
    pub skill: Option<&'a str>,
    /// The permissions; none: its present ones, or the first request of the skill.
    pub permissions: &'a [String],
    /// The signature.
    pub signing: &'a SigningOptions,
}

/// A connection before an approver signs for it.
pub struct ConnectionReview {
    /// The skill.
    pub adapter: ConnectionAdapter,
    /// The permissions, sorted.
    pub permissions: Vec<String>,
    /// The approval.
    pub token: TokenReview,
}

impl ConnectionReview {
    /// Prepares the approval of a connection.
    pub fn of(caller: &dyn Caller, request: &ConnectionApprovalRequest<'_>) -> Result<Self, CommandError> {
        let host = caller.host();
        let (workspace, name) = (host.workspace(), request.name);
        let row = connection_rows(host)?.into_iter().find(|row| row.name == *name);
        let skill =
            request.skill.or_else(|| row.as_ref().map(|row| row.skill.as_str())).ok_or_else(|| {
                let error = CommandError::new(CliExitCode::Usage, format!("unknown connection `{name}`"));
                error.hint("name the skill that maintains it: --skill SKILL")
            })?;
        let adapter = ConnectionAdapter::load_approved(caller, &workspace, skill)?;
        adapter.check_permissions(request.permissions)?;
        let has = row.map(|row| row.permissions).filter(|has| !has.is_empty());
        let mut permissions = match request.permissions {
            [] => has.unwrap_or_else(|| adapter.spec().initial.clone()),
            named => named.to_vec(),
        };
        permissions.sort();
        permissions.dedup();
        let mut rules = SigningRules::of(caller, &workspace)?;
        let key = approver_key(caller, &mut rules, request.signing)?;
        let new_scope = ConnectionScope::new(name, &adapter, &permissions);
        let files = skill_pins(&workspace, new_scope.skill)?;
        let plan =
            PlanRef { id: name.clone(), path: new_scope.folder.to_owned(), digest: plan_digest(&files) };
        let (purpose, scope) = (format!("nonce of connection {name}"), ApprovalScope::ConnectionManage);
        let draft = draft_statement(host, &purpose, scope, plan, validity(&rules, request.signing)?)?;
        let params = [permissions_bound(&permissions)].into();
        let statement = ApprovalStatement { files, params, ..draft };
        let file = approval_path(&workspace, name);
        let terms = AskedTerms { validity: request.signing.validity, executions: None };
        let token =
            TokenReview::of_owner(&workspace, file, rules, statement).for_approver(&workspace, key, terms)?;
        Ok(Self { adapter, permissions, token })
    }
}
