use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{
    entry::{ApprovalDemand, RunAuthorization, authorize},
    refused::refuse_run,
};
use crate::{
    Caller, CliExitCode, CommandError,
    approve::{
        accepted::{approved_config, config_of, with_config},
        pins::{ApprovedTree, approved_tree, token_at, token_path},
        rules::SigningRules,
        skilled::check_skills,
        spawned::spawned_goal,
        token::{read_token, use_count},
        withdrawal::withdrawal_time,
    },
    specs::load::LoadedPlan,
};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::{
    goal::ReconciliationPart,
    machine::{PinnedFile, RunApproval, tree_of},
};
use wf_model::{GoalApproval, JsonObject};
use wf_sign::approval::{
    ApprovalContext, ApprovalRefusal, ApprovalScope, ApprovalToken, Approvers, ReviewPolicy, SpawnedPlan,
    ValidApproval, check_unconsumed, verify,
};

/// Checks that a run of a reconciliation of a goal may start. A repair runs unattended, so an
/// approver must have signed in advance for what it may do, and each repair uses up one execution
/// of that. A check run needs a signature only where approvers other than the user must approve
/// everything, and uses none up. Silas 3.6, 5.2.3.
pub fn authorize_goal(
    caller: &dyn Caller,
    loaded: &LoadedPlan,
    part: ReconciliationPart,
    run: &RunId,
    params: &JsonObject,
) -> Result<RunAuthorization, CommandError> {
    let Some(goal_plan) = &loaded.goal else {
        return Err(CommandError::new(CliExitCode::Bug, "not a goal"));
    };
    let rules = SigningRules::of(caller, &loaded.workspace)?;
    let reviewed = rules.approvers.policy == ReviewPolicy::Reviewed;
    let repairs = part == ReconciliationPart::Repair && goal_plan.goal.approval == GoalApproval::Standing;
    if !(reviewed || repairs) {
        return authorize(caller, loaded, run, params, &ApprovalDemand::default());
    }
    let carried = CarriedApproval::read(caller, loaded, part, params)?;
    let workspace = &loaded.workspace;
    let token = ApprovalToken::parse(&carried.token.1)
        .map_err(|refusal| refuse_run(caller, workspace, &loaded.path, &refusal))?;
    if part == ReconciliationPart::Repair
        && let Some(at) =
            withdrawal_time(workspace, &goal_plan.goal.id, token.statement(), caller.host().now())?
    {
        let refusal = ApprovalRefusal::Withdrawn(at);
        return Err(refuse_run(caller, workspace, &loaded.path, &refusal));
    }
    let approved = carried
        .authorize(part, run, params, carried.used, caller.host().now())
        .map_err(|refusal| refuse_run(caller, workspace, &loaded.path, &refusal))?;
    Ok(RunAuthorization { approved, token: carried.token })
}

/// A standing approval of a goal with all that it is verified against, so that this can be done wherever a run of the goal
/// starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarriedApproval {
    /// The token as a text of the runs: its path, and its content.
    pub token: (String, String),
    /// The number of its uses recorded in the workspace.
    pub used: u32,
    plan: PlanId,
    path: String,
    approvers: Approvers,
    initiator: Option<Sha256Digest>,
    /// The files as the approval has them.
    pins: Vec<PinnedFile>,
    /// The present configuration: it may differ in settings without effect on the goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<PinnedFile>,
    products: Vec<String>,
    spawned: Option<SpawnedPlan>,
}

impl CarriedApproval {
    /// Reads the approval of a goal, for one part of its reconciliations.
    pub fn read(
        caller: &dyn Caller,
        loaded: &LoadedPlan,
        part: ReconciliationPart,
        params: &JsonObject,
    ) -> Result<Self, CommandError> {
        let workspace = &loaded.workspace;
        let rules = SigningRules::of(caller, workspace)?;
        let path = token_at(caller.host(), loaded, None);
        let ApprovedTree { files, products } = approved_tree(caller.host(), loaded, params, &path)?;
        check_skills(caller, loaded, &files, false)?;
        let token = read_token(workspace, &path)
            .map_err(|refusal| refuse_run(caller, workspace, &loaded.path, &refusal))?;
        let config = config_of(&files).cloned();
        let pinned_files = with_config(&files, approved_config(config.as_ref(), loaded, token.statement()));
        let signers: Vec<Sha256Digest> = token.signers().flatten().collect();
        let used = if part == ReconciliationPart::Look { 0 } else { use_count(workspace, &token)? };
        Ok(Self {
            token: (token_path(Path::new(&loaded.path)).display().to_string(), token.text()),
            used,
            plan: loaded.plan.id().clone(),
            path: loaded.path.clone(),
            initiator: rules.initiator(&signers),
            approvers: rules.approvers,
            spawned: spawned_goal(loaded, &pinned_files),
            pins: pinned_files,
            config,
            products,
        })
    }

    /// Returns the approvers with valid signatures.
    pub fn approvers(&self) -> &Approvers {
        &self.approvers
    }

    /// Verifies the approval for a run, after a number of uses. A check run uses none. Pure.
    pub fn authorize(
        &self,
        part: ReconciliationPart,
        run: &RunId,
        params: &JsonObject,
        used: u32,
        now: Moment,
    ) -> Result<RunApproval, ApprovalRefusal> {
        let token = ApprovalToken::parse(&self.token.1)?;
        let subject = ApprovalContext {
            scope: ApprovalScope::Standing,
            plan: &self.plan,
            path: &self.path,
            files: &self.pins,
            params,
            run: Some(run),
            request_ref: None,
            initiator: self.initiator,
            spawned: self.spawned.as_ref(),
            now,
        };
        let (ValidApproval { signers }, execution) = if part == ReconciliationPart::Look {
            (check_unconsumed(&token, &subject, &self.approvers)?, 0)
        } else {
            let (valid, consumption) = verify(&token, &subject, &self.approvers, used)?;
            (valid, consumption.execution)
        };
        let statement = token.statement();
        let files = with_config(&self.pins, self.config.as_ref());
        Ok(RunApproval {
            policy: self.approvers.policy.into(),
            token: token.digest(),
            plan_digest: statement.plan.digest,
            by: signers,
            nonce: statement.nonce.to_string(),
            execution,
            executions: statement.executions,
            expires: statement.expires,
            initiator: self.initiator,
            tree: tree_of(&files),
            pinned_files: files,
            products: self.products.clone(),
            skills: Vec::new(),
        })
    }
}
