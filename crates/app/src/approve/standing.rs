use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::entry::{ApprovalDemand, RunAuthorization, authorize};
use super::refused::refuse_run;
use super::skilled::check_skills;
use super::token::{read_token, use_count};
use super::withdrawal::withdrawal_time;
use super::{ApprovedTree, SigningRules, approved_tree, token_at, token_path};
use crate::Caller;
use crate::Host;
use crate::load::{GoalPlan, LoadedPlan};
use crate::{CliExitCode, CommandError};
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_core::goal::ReconciliationPart;
use wf_core::machine::{PinnedFile, RunApproval, tree_of};
use wf_exec::pinned;
use wf_model::{GoalApproval, JsonObject, Plan};
use wf_sign::approval::{
    ApprovalContext, ApprovalRefusal, ApprovalScope, ApprovalToken, Approvers, ReviewPolicy, SpawnPolicy,
    SpawnedPlan, ValidApproval, check_unconsumed, plan_digest, verify,
};

/// Checks that a run of a reconciliation of a goal may start. A repair runs unattended, so an
/// approver must have signed in advance for what it may do, and each repair uses up one execution
/// of that. A check run needs a signature only where approvers other than the user must approve
/// everything, and uses none up. Silas 3.6, 5.2.3.
pub fn authorize_goal(
    caller: &dyn Caller,
    ready: &LoadedPlan,
    part: ReconciliationPart,
    run: &RunId,
    params: &JsonObject,
) -> Result<RunAuthorization, CommandError> {
    let Some(of) = &ready.goal else {
        return Err(CommandError::new(CliExitCode::Bug, "not a goal"));
    };
    let rules = SigningRules::of(caller, &ready.workspace)?;
    let reviewed = rules.approvers.policy == ReviewPolicy::Reviewed;
    let repairs = part == ReconciliationPart::Repair && of.goal.approval == GoalApproval::Standing;
    if !(reviewed || repairs) {
        return authorize(caller, ready, run, params, &ApprovalDemand::default());
    }
    let path = token_at(caller.host(), ready, None);
    let ApprovedTree { files: pins, products } = approved_tree(caller.host(), ready, params, &path)?;
    check_skills(caller, ready, &pins, false)?;
    let workspace = &ready.workspace;
    let token = read_token(workspace, &path)
        .map_err(|refusal| refuse_run(caller, workspace, &ready.path, &refusal))?;
    if part == ReconciliationPart::Repair
        && let Some(at) = withdrawal_time(workspace, &of.goal.id, token.statement(), caller.host().now())?
    {
        let refusal = ApprovalRefusal::Withdrawn(at);
        return Err(refuse_run(caller, workspace, &ready.path, &refusal));
    }
    let signers: Vec<Sha256Digest> = token.signers().flatten().collect();
    let start =
        GoalAuthorizationRequest { ready, run, params, part, pins, initiator: rules.initiator(&signers) };
    let used = use_count(workspace, &token)?;
    let (ValidApproval { by }, execution) = start
        .verified(caller.host(), &token, &rules.approvers, used)
        .map_err(|refusal| refuse_run(caller, workspace, &ready.path, &refusal))?;
    let statement = token.statement();
    let approved = RunApproval {
        policy: rules.approvers.policy.into(),
        token: token.digest(),
        plan_digest: statement.plan.digest,
        by,
        nonce: statement.nonce.to_string(),
        execution,
        executions: statement.executions,
        expires: statement.expires,
        initiator: start.initiator,
        tree: tree_of(&start.pins),
        pinned_files: start.pins,
        products,
        skills: Vec::new(),
    };
    let path = token_path(Path::new(&ready.path)).display().to_string();
    Ok(RunAuthorization { approved, token: (path, token.text()) })
}

struct GoalAuthorizationRequest<'a> {
    ready: &'a LoadedPlan,
    run: &'a RunId,
    params: &'a JsonObject,
    part: ReconciliationPart,
    pins: Vec<PinnedFile>,
    initiator: Option<Sha256Digest>,
}

impl GoalAuthorizationRequest<'_> {
    fn verified(
        &self,
        host: &Host,
        token: &ApprovalToken,
        approvers: &Approvers,
        used: u32,
    ) -> Result<(ValidApproval, u32), wf_sign::approval::ApprovalRefusal> {
        let spawned = spawned_goal(self.ready, &self.pins);
        let subject = ApprovalContext {
            scope: ApprovalScope::Standing,
            plan: self.ready.plan.id(),
            path: &self.ready.path,
            files: &self.pins,
            params: self.params,
            run: Some(self.run),
            ask: None,
            initiator: self.initiator,
            spawned: spawned.as_ref(),
            now: host.now(),
        };
        if self.part == ReconciliationPart::Look {
            return Ok((check_unconsumed(token, &subject, approvers)?, 0));
        }
        let (valid, consumption) = verify(token, &subject, approvers, used)?;
        Ok((valid, consumption.execution))
    }
}

/// Returns what a goal is about to start, if it is one.
pub fn spawned_goal(ready: &LoadedPlan, pins: &[PinnedFile]) -> Option<SpawnedPlan> {
    let policy = spawn_policy(ready, ready.goal.as_ref()?).digest();
    let plan = plan_digest(pins);
    Some(SpawnedPlan { policy, plan })
}

/// Returns the spawn policy of a standing approval of a goal: its own plan with its own text,
/// gates, checks and escalations.
fn spawn_policy(ready: &LoadedPlan, of: &GoalPlan) -> SpawnPolicy {
    let text = ready.sources.first().map(|(_, text)| text.clone());
    let parts = of.whole_plan.parts();
    let gates = ready
        .sources
        .iter()
        .filter(|(path, _)| path.starts_with("gates/"))
        .map(|(path, text)| json!({"path": path, "digest": Sha256Digest::of_bytes(text.as_bytes())}));
    let checks = parts.verify.iter().map(|check| json!(check.name));
    let escalations = parts.escalations.iter();
    SpawnPolicy {
        failure_template: text.unwrap_or_default(),
        skills: usable_skills(&of.whole_plan),
        gates: gates.collect(),
        verify: checks.collect(),
        escalations: escalations
            .map(|escalation| (escalation.name.clone(), json!(escalation.plan)))
            .collect(),
    }
}

/// The skills that a goal and all that it uses may use.
fn usable_skills(plan: &Arc<Plan>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = pinned::skills(plan);
    let said = plan.parts().skills.iter().flatten();
    names.extend(said.map(ToString::to_string));
    names
}
