use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::refused::refuse_run;
use crate::{
    Caller, CommandError,
    approve::{
        owner::owner_signer,
        pins::{approved_tree, run_pins, token_at, token_path},
        remote_start::refuse_other_workspace,
        rules::SigningRules,
        signing::SigningOptions,
        skilled::check_skills,
        token::{draft_statement, plan_ref, read_token, use_count},
    },
    specs::load::LoadedPlan,
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{PinnedFile, RunApproval, tree_of};
use wf_exec::pinned;
use wf_model::JsonObject;
use wf_sign::approval::{
    ApprovalContext, ApprovalScope, ApprovalStatement, ApprovalToken, Approvers, ParamBound, ReviewPolicy,
    ValidApproval, verify,
};

/// The approval a run is to start with.
#[derive(Clone, Debug, Default)]
pub struct ApprovalDemand {
    /// True if every run needs an approval in advance, regardless of the policy.
    pub is_required: bool,
    /// The approval to use instead of the one beside the plan.
    pub file: Option<PathBuf>,
    /// The signature of the user running it.
    pub signing: SigningOptions,
}

/// A permitted run.
#[derive(Debug)]
pub struct RunAuthorization {
    pub approved: RunApproval,
    /// The token as a text of the run: its path, and its content.
    pub token: (String, String),
}

/// A run before its start.
struct AuthorizationRequest<'a> {
    loaded: &'a LoadedPlan,
    run: &'a RunId,
    params: &'a JsonObject,
    pinned_files: Vec<PinnedFile>,
    /// The approved products.
    products: Vec<String>,
}

/// Checks that a run may start. Under policy `owner` the user running it signs; under `reviewed`, and
/// wherever it is demanded, other approvers must have signed. Silas 5.1.2, 5.2.1 step 0, INV-01.
pub fn authorize(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    run: &RunId,
    params: &JsonObject,
    demand: &ApprovalDemand,
) -> Result<RunAuthorization, CommandError> {
    let mut rules = SigningRules::of(caller, &loaded.workspace)?;
    let in_advance = is_in_advance(&rules, demand);
    let (files, products) = if in_advance {
        let bound = approved_tree(
            caller.host(),
            loaded,
            params,
            &token_at(caller.host(), loaded, demand.file.as_ref()),
        )?;
        (bound.files, bound.products)
    } else {
        (run_pins(loaded, params)?, Vec::new())
    };
    let start = AuthorizationRequest { loaded, run, params, pinned_files: files, products };
    check_skills(caller, loaded, &start.pinned_files, false)?;
    if in_advance {
        return authorize_by_token(caller, &start, &rules, demand);
    }
    let signer = owner_signer(caller, &mut rules, &demand.signing)?;
    let bound = |(name, value): (&String, &serde_json::Value)| (name.clone(), ParamBound::Is(value.clone()));
    let (plan, purpose) = (plan_ref(loaded, &start.pinned_files), format!("nonce {run}"));
    let validity = rules.approvers.validity;
    let draft = draft_statement(caller.host(), &purpose, ApprovalScope::FullPlan, plan, validity)?;
    let statement = ApprovalStatement {
        files: start.pinned_files.clone(),
        params: params.iter().map(bound).collect::<BTreeMap<_, _>>(),
        run: Some(run.clone()),
        ..draft
    };
    // The user who starts a run signs for it alone: the quorum is for other approvers.
    let alone = Approvers { required: 1, ..rules.approvers.clone() };
    let token = ApprovalToken::sign(statement, &signer);
    let initiator = Some(signer.public().id());
    verify_token(caller, &start, &token, &alone, initiator, 0)
}

/// Checks that a run may start where an approval in advance is needed, and starts nothing.
pub fn check_approved_in_advance(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    params: &JsonObject,
    demand: &ApprovalDemand,
) -> Result<(), CommandError> {
    if is_in_advance(&SigningRules::of(caller, &loaded.workspace)?, demand) {
        authorize(caller, loaded, &RunId::from_bytes([0; 16]), params, demand)?;
    }
    Ok(())
}

/// True if a plan needs signatures of others than its user before it runs.
fn is_in_advance(rules: &SigningRules, demand: &ApprovalDemand) -> bool {
    let is_demanded = demand.is_required || demand.file.is_some();
    is_demanded || rules.approvers.policy == ReviewPolicy::Reviewed
}

/// A run with the signatures of other approvers.
fn authorize_by_token(
    caller: &dyn Caller,
    request: &AuthorizationRequest<'_>,
    rules: &SigningRules,
    demand: &ApprovalDemand,
) -> Result<RunAuthorization, CommandError> {
    let loaded = request.loaded;
    let path = token_at(caller.host(), loaded, demand.file.as_ref());
    let token = read_token(&loaded.workspace, &path)
        .map_err(|refusal| refuse_run(caller, &loaded.workspace, &loaded.path, &refusal))?;
    let signers: Vec<Sha256Digest> = token.signers().flatten().collect();
    let initiator = rules.initiator(&signers);
    let used = use_count(&loaded.workspace, &token)?;
    verify_token(caller, request, &token, &rules.approvers, initiator, used)
}

fn verify_token(
    caller: &dyn Caller,
    request: &AuthorizationRequest<'_>,
    token: &ApprovalToken,
    approvers: &Approvers,
    initiator: Option<Sha256Digest>,
    used: u32,
) -> Result<RunAuthorization, CommandError> {
    let loaded = request.loaded;
    let subject = ApprovalContext {
        scope: ApprovalScope::FullPlan,
        plan: loaded.plan.id(),
        path: &loaded.path,
        files: &request.pinned_files,
        params: request.params,
        run: Some(request.run),
        request_ref: None,
        initiator,
        spawned: None,
        now: caller.host().now(),
    };
    let (ValidApproval { signers }, consumption) =
        refuse_other_workspace(token.statement(), &loaded.workspace)
            .and_then(|()| verify(token, &subject, approvers, used))
            .map_err(|refusal| refuse_run(caller, &loaded.workspace, &loaded.path, &refusal))?;
    let statement = token.statement();
    // A user who runs what they signed for at the same moment has also approved what it produces:
    // only what was reviewed in advance stays pinned while it runs.
    let in_advance = statement.run.is_none();
    let (files, skills) = if in_advance {
        (request.pinned_files.clone(), Vec::new())
    } else {
        (Vec::new(), skill_pins(loaded, &request.pinned_files))
    };
    let approved = RunApproval {
        policy: approvers.policy.into(),
        token: token.digest(),
        plan_digest: statement.plan.digest,
        by: signers,
        nonce: consumption.nonce.to_string(),
        execution: consumption.execution,
        executions: statement.executions,
        expires: statement.expires,
        initiator,
        tree: tree_of(&files),
        pinned_files: files,
        products: request.products.clone(),
        skills,
    };
    let path = token_path(std::path::Path::new(&loaded.path));
    Ok(RunAuthorization { approved, token: (path.display().to_string(), token.text()) })
}

/// The files of the skills with scripts in a plan.
fn skill_pins(loaded: &LoadedPlan, files: &[PinnedFile]) -> Vec<PinnedFile> {
    let folders = pinned::skills(&loaded.plan);
    let is_one = |pin: &&PinnedFile| folders.iter().any(|folder| Path::new(&pin.path).starts_with(folder));
    files.iter().filter(is_one).cloned().collect()
}
