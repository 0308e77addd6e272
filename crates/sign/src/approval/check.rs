use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    ApprovalDecision, ApprovalNonce, ApprovalRefusal, ApprovalRequestRef, ApprovalScope, ApprovalStatement,
    ApprovalToken, Approver, Approvers, differences,
};
use crate::{DsseEnvelope, canonical};
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{ApprovalSigner, PinnedFile};
use wf_model::JsonObject;

/// The most an approver's clock may be ahead of this one.
pub const SKEW: Duration = Duration::from_mins(1);

/// The action for which an approval is needed.
#[derive(Clone, Debug)]
pub struct ApprovalContext<'a> {
    /// The scope an approval must have.
    pub scope: ApprovalScope,
    pub plan: &'a PlanId,
    /// The path of the plan, relative to the workspace.
    pub path: &'a str,
    /// The texts the plan is made of and the files it executes, as they are now.
    pub files: &'a [PinnedFile],
    /// The parameters of the run.
    pub params: &'a JsonObject,
    pub run: Option<&'a RunId>,
    /// The request answered.
    pub request_ref: Option<&'a ApprovalRequestRef>,
    /// The key of the initiator.
    pub initiator: Option<Sha256Digest>,
    /// The plan a goal is about to start.
    pub spawned: Option<&'a SpawnedPlan>,
    /// The current time.
    pub now: Moment,
}

/// A plan a goal is about to start under a standing approval. The subject is the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnedPlan {
    /// The digest of its form: [`SpawnPolicy::digest`](super::SpawnPolicy::digest).
    pub policy: Sha256Digest,
    pub plan: Sha256Digest,
}

/// A valid approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidApproval {
    /// The approvers, each once.
    pub signers: Vec<ApprovalSigner>,
}

/// One use of an approval. It must be recorded together with what it allows, and a pair of nonce
/// and execution must never be recorded twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalConsumption {
    pub nonce: ApprovalNonce,
    /// The number of the use, from 1.
    pub execution: u32,
    /// A digest over the approval, the plan, the run and this use.
    pub binding: Sha256Digest,
}

/// Checks that an approval used to start something still allows it to resume. `used` is the number
/// of recorded uses. Consumes nothing. Silas 5.11, `check`.
pub fn check(
    token: &ApprovalToken,
    context: &ApprovalContext<'_>,
    approvers: &Approvers,
    used: u32,
) -> Result<ValidApproval, ApprovalRefusal> {
    let valid = check_unconsumed(token, context, approvers)?;
    let executions = token.statement().executions;
    match used {
        0 => Err(ApprovalRefusal::Unused),
        _ if used > executions => Err(ApprovalRefusal::Spent { used, executions }),
        _ => Ok(valid),
    }
}

/// Checks that an approval allows something to start, and returns the use to record. `used` is the
/// number of uses recorded already. Silas 5.11, `verify`.
pub fn verify(
    token: &ApprovalToken,
    context: &ApprovalContext<'_>,
    approvers: &Approvers,
    used: u32,
) -> Result<(ValidApproval, ApprovalConsumption), ApprovalRefusal> {
    let valid = check_unconsumed(token, context, approvers)?;
    let executions = token.statement().executions;
    if used >= executions {
        return Err(ApprovalRefusal::Spent { used, executions });
    }
    let execution = used + 1;
    let statement = token.statement();
    let binding = json!({
        "token": token.digest(),
        "plan": context.spawned.map_or(statement.plan.digest, |spawned| spawned.plan),
        "run": context.run,
        "nonce": statement.nonce,
        "execution": execution,
    });
    let consumption = ApprovalConsumption {
        nonce: statement.nonce.clone(),
        execution,
        binding: Sha256Digest::of_bytes(canonical(&binding).as_bytes()),
    };
    Ok((valid, consumption))
}

/// Checks everything except the number of uses: enough for what does not consume the approval, such as checking a
/// goal under the standing approval of its repairs. Content the signatures do not cover is not looked at before
/// they are verified.
pub fn check_unconsumed(
    token: &ApprovalToken,
    context: &ApprovalContext<'_>,
    approvers: &Approvers,
) -> Result<ValidApproval, ApprovalRefusal> {
    let signers = signers(token, approvers)?;
    let statement = token.statement();
    if statement.verdict == ApprovalDecision::Denied {
        return Err(ApprovalRefusal::Denied(statement.reason.clone()));
    }
    check_validity_period(statement, context.now, approvers)?;
    check_subject(statement, context)?;
    check_params(statement, context.params)?;
    same_place(statement, context)?;
    check_quorum(&signers, context.initiator, approvers)
}

/// Returns the signers, each once. Every signature must be valid and by a listed approver.
pub fn signers<'a>(
    token: &ApprovalToken,
    approvers: &'a Approvers,
) -> Result<Vec<&'a Approver>, ApprovalRefusal> {
    envelope_signers(token.envelope(), token.statement().expires, approvers)
}

/// Returns the signers of an envelope, each once. Every signature must be valid, and by a listed approver whose key is not
/// revoked before the end of what it signs.
pub fn envelope_signers<'a>(
    envelope: &DsseEnvelope,
    end: Moment,
    approvers: &'a Approvers,
) -> Result<Vec<&'a Approver>, ApprovalRefusal> {
    let signed = envelope.signed().map_err(|bad| ApprovalRefusal::NoToken(bad.to_string()))?;
    let mut found: BTreeMap<Sha256Digest, &Approver> = BTreeMap::new();
    for signature in &envelope.signatures {
        let by = approvers
            .keys
            .iter()
            .find(|one| one.public.id().to_string() == signature.keyid)
            .ok_or_else(|| ApprovalRefusal::Unlisted(signature.keyid.clone()))?;
        if !by.public.has_made(signature, &signed) {
            return Err(ApprovalRefusal::BadSignature(by.name.clone()));
        }
        // The signing time is claimed by the holder of the key. So a key that is revoked before the
        // statement expires signs nothing, whatever the date on it.
        if let Some(since) = by.revoked.filter(|since| *since <= end) {
            let name = by.name.clone();
            return Err(ApprovalRefusal::Revoked { name, since });
        }
        found.insert(by.public.id(), by);
    }
    Ok(found.into_values().collect())
}

pub(super) fn check_validity_period(
    statement: &ApprovalStatement,
    now: Moment,
    approvers: &Approvers,
) -> Result<(), ApprovalRefusal> {
    if now.after(SKEW) < statement.issued {
        return Err(ApprovalRefusal::NotYet(statement.issued));
    }
    if now >= statement.expires {
        return Err(ApprovalRefusal::Expired(statement.expires));
    }
    let asks = statement.expires.since(statement.issued);
    if asks > approvers.validity {
        let allowed = approvers.validity;
        return Err(ApprovalRefusal::TooLong { asks, allowed });
    }
    Ok(())
}

pub(super) fn check_subject(
    statement: &ApprovalStatement,
    context: &ApprovalContext<'_>,
) -> Result<(), ApprovalRefusal> {
    let (approved, scope) = (statement.scope, context.scope);
    if approved != scope {
        return Err(ApprovalRefusal::OtherScope { approved, scope });
    }
    check_plan(statement, context.plan, context.path)?;
    check_files(&statement.files, context.files)?;
    match (statement.spawn_policy, context.spawned) {
        (Some(_), None) => Err(ApprovalRefusal::NothingSpawned),
        (approved, Some(spawned)) if approved != Some(spawned.policy) => Err(ApprovalRefusal::OtherSpawn),
        _ => Ok(()),
    }
}

/// Checks that a statement is about the plan of this id at this path.
pub(super) fn check_plan(
    statement: &ApprovalStatement,
    id: &PlanId,
    path: &str,
) -> Result<(), ApprovalRefusal> {
    let plan = &statement.plan;
    if plan.path == path && plan.id == *id {
        return Ok(());
    }
    Err(ApprovalRefusal::OtherPlan {
        approved: format!("`{}` in {}", plan.id, plan.path),
        asked: format!("`{id}` in {path}"),
    })
}

pub(super) fn check_files(
    pinned: &[PinnedFile],
    current_files: &[PinnedFile],
) -> Result<(), ApprovalRefusal> {
    let changed = differences(pinned, current_files);
    if changed.is_empty() { Ok(()) } else { Err(ApprovalRefusal::Changed(changed)) }
}

/// Checks that the parameters are those approved: none is missing and none was added.
pub(super) fn check_params(
    statement: &ApprovalStatement,
    params: &JsonObject,
) -> Result<(), ApprovalRefusal> {
    for (name, value) in params {
        let Some(bound) = statement.params.get(name) else {
            return Err(ApprovalRefusal::Param(format!("parameter `{name}` is not approved")));
        };
        if let Some(reason) = bound.bound_violation(value) {
            let value = canonical(value);
            return Err(ApprovalRefusal::Param(format!("parameter `{name}` is {value}: {reason}")));
        }
    }
    let missing = statement.params.keys().find(|name| !params.contains_key(*name));
    missing.map_or(Ok(()), |name| {
        let reason = format!("parameter `{name}` is approved, but the plan does not have it");
        Err(ApprovalRefusal::Param(reason))
    })
}

pub(super) fn same_place(
    statement: &ApprovalStatement,
    context: &ApprovalContext<'_>,
) -> Result<(), ApprovalRefusal> {
    if let Some(run) = &statement.run
        && Some(run) != context.run
    {
        return Err(ApprovalRefusal::OtherRun(run.clone()));
    }
    if statement.request_ref.as_ref() != context.request_ref {
        return Err(ApprovalRefusal::OtherAsk);
    }
    Ok(())
}

/// Checks that enough approvers have signed; under `reviewed` the initiator does not count.
fn check_quorum(
    listed_approvers: &[&Approver],
    initiator: Option<Sha256Digest>,
    approvers: &Approvers,
) -> Result<ValidApproval, ApprovalRefusal> {
    let is_self = |approver: &&Approver| approvers.bars(approver, initiator);
    let counted_signers: Vec<ApprovalSigner> = listed_approvers
        .iter()
        .filter(|one| !is_self(one))
        .map(|one| ApprovalSigner { key_id: one.public.id(), name: one.name.clone() })
        .collect();
    let required = approvers.required.max(1);
    let found = u32::try_from(counted_signers.len()).unwrap_or(u32::MAX);
    if found >= required {
        return Ok(ValidApproval { signers: counted_signers });
    }
    Err(match listed_approvers.iter().find(|one| is_self(one)) {
        Some(own) => ApprovalRefusal::SelfApproval(own.name.clone()),
        None => ApprovalRefusal::TooFew { required, found },
    })
}
