use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::{
    Approver, Approvers, Ask, Nonce, Policy, Refusal, Scope, Statement, Token, Verdict, differences,
};
use crate::digest::Digest;
use crate::machine::{By, Pin};
use crate::model::Object;
use crate::name::{PlanId, RunId};
use crate::seal::canonical;
use crate::time::Moment;

/// How far the clock of an approver may be ahead of ours.
pub const SKEW: Duration = Duration::from_mins(1);

/// What is about to be done.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// What an approval must be for.
    pub scope: Scope,
    /// The id of the plan.
    pub plan: &'a PlanId,
    /// Its path, relative to the workspace.
    pub path: &'a str,
    /// What it is made of and what it executes, as it is now.
    pub files: &'a [Pin],
    /// The parameters of the run.
    pub params: &'a Object,
    /// The run.
    pub run: Option<&'a RunId>,
    /// The request that is answered.
    pub ask: Option<&'a Ask>,
    /// The key of who runs it.
    pub initiator: Option<Digest>,
    /// What a goal is about to start.
    pub spawned: Option<&'a Spawned>,
    /// The instant it is now.
    pub now: Moment,
}

/// What a goal is about to start under a standing approval. The subject is the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// The form that it has: [`SpawnPolicy::digest`](super::SpawnPolicy::digest).
    pub policy: Digest,
    /// The digest of its own plan.
    pub plan: Digest,
}

/// An approval holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valid {
    /// Who approved, each once.
    pub by: Vec<By>,
}

/// One use of an approval. It must be recorded together with what it allows, and of the same
/// nonce and execution there must never be two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumption {
    /// Which approval.
    pub nonce: Nonce,
    /// Which use of it, from 1.
    pub execution: u32,
    /// What it was used for: a digest over the approval, the plan, the run and this use.
    pub binding: Digest,
}

/// Whether an approval that was used to begin something still allows it to go on. `used` says
/// how many uses are recorded. It consumes nothing. Silas 5.11, `check`.
pub fn check(
    token: &Token,
    subject: &Subject<'_>,
    approvers: &Approvers,
    used: u32,
) -> Result<Valid, Refusal> {
    let valid = holds(token, subject, approvers)?;
    let executions = token.statement().executions;
    match used {
        0 => Err(Refusal::Unused),
        _ if used > executions => Err(Refusal::Spent { used, executions }),
        _ => Ok(valid),
    }
}

/// Whether an approval allows something to begin, and what is to be recorded if so. `used` says
/// how many uses are recorded already. Silas 5.11, `verify`.
pub fn verify(
    token: &Token,
    subject: &Subject<'_>,
    approvers: &Approvers,
    used: u32,
) -> Result<(Valid, Consumption), Refusal> {
    let valid = holds(token, subject, approvers)?;
    let executions = token.statement().executions;
    if used >= executions {
        return Err(Refusal::Spent { used, executions });
    }
    let execution = used + 1;
    let statement = token.statement();
    let binding = json!({
        "token": token.digest(),
        "plan": subject.spawned.map_or(statement.plan.digest, |spawned| spawned.plan),
        "run": subject.run,
        "nonce": statement.nonce,
        "execution": execution,
    });
    let consumption = Consumption {
        nonce: statement.nonce.clone(),
        execution,
        binding: Digest::of(canonical(&binding).as_bytes()),
    };
    Ok((valid, consumption))
}

/// Whether an approval lets something be done that uses none of it up: the looks at a goal under
/// the standing approval of its repairs.
pub fn allows(
    token: &Token,
    subject: &Subject<'_>,
    approvers: &Approvers,
) -> Result<Valid, Refusal> {
    holds(token, subject, approvers)
}

/// Everything but how often it was used. What the signatures do not cover is not looked at
/// before they hold.
fn holds(token: &Token, subject: &Subject<'_>, approvers: &Approvers) -> Result<Valid, Refusal> {
    let signers = signers(token, approvers)?;
    let statement = token.statement();
    if statement.verdict == Verdict::Denied {
        return Err(Refusal::Denied(statement.reason.clone()));
    }
    in_time(statement, subject.now, approvers)?;
    same_work(statement, subject)?;
    within(statement, subject.params)?;
    same_place(statement, subject)?;
    enough(&signers, subject.initiator, approvers)
}

/// Who signed, each once. Every signature must be by somebody who may sign, and must fit.
pub(super) fn signers<'a>(
    token: &Token,
    approvers: &'a Approvers,
) -> Result<Vec<&'a Approver>, Refusal> {
    let envelope = token.envelope();
    let signed = envelope
        .signed()
        .map_err(|bad| Refusal::NoToken(bad.to_string()))?;
    let mut found: BTreeMap<Digest, &Approver> = BTreeMap::new();
    for signature in &envelope.signatures {
        let by = approvers
            .keys
            .iter()
            .find(|one| one.public.id().to_string() == signature.keyid)
            .ok_or_else(|| Refusal::Unlisted(signature.keyid.clone()))?;
        if !signature.is_by(&by.public, &signed) {
            return Err(Refusal::BadSignature(by.name.clone()));
        }
        // When a statement was signed is the word of whoever had the key. So a key that is
        // revoked before the statement ends signs nothing, whatever the date on it.
        if let Some(since) = by
            .revoked
            .filter(|since| *since <= token.statement().expires)
        {
            let name = by.name.clone();
            return Err(Refusal::Revoked { name, since });
        }
        found.insert(by.public.id(), by);
    }
    Ok(found.into_values().collect())
}

pub(super) fn in_time(
    statement: &Statement,
    now: Moment,
    approvers: &Approvers,
) -> Result<(), Refusal> {
    if now.after(SKEW) < statement.issued {
        return Err(Refusal::NotYet(statement.issued));
    }
    if now >= statement.expires {
        return Err(Refusal::Expired(statement.expires));
    }
    let asks = statement.expires.since(statement.issued);
    if asks > approvers.validity {
        let allowed = approvers.validity;
        return Err(Refusal::TooLong { asks, allowed });
    }
    Ok(())
}

pub(super) fn same_work(statement: &Statement, subject: &Subject<'_>) -> Result<(), Refusal> {
    let (approved, asked) = (statement.scope, subject.scope);
    if approved != asked {
        return Err(Refusal::OtherScope { approved, asked });
    }
    let plan = &statement.plan;
    if plan.path != subject.path || plan.id != *subject.plan {
        return Err(Refusal::OtherPlan {
            approved: format!("`{}` in {}", plan.id, plan.path),
            asked: format!("`{}` in {}", subject.plan, subject.path),
        });
    }
    let changed = differences(&statement.files, subject.files);
    if !changed.is_empty() {
        return Err(Refusal::Changed(changed));
    }
    match (statement.spawn_policy, subject.spawned) {
        (Some(_), None) => Err(Refusal::NothingSpawned),
        (approved, Some(spawned)) if approved != Some(spawned.policy) => Err(Refusal::OtherSpawn),
        _ => Ok(()),
    }
}

/// The parameters are those that were approved: none is missing and none was added.
pub(super) fn within(statement: &Statement, params: &Object) -> Result<(), Refusal> {
    for (name, value) in params {
        let Some(bound) = statement.params.get(name) else {
            return Err(Refusal::Param(format!("`{name}` was not approved")));
        };
        if let Some(why) = bound.mistake(value) {
            let value = canonical(value);
            return Err(Refusal::Param(format!("`{name}` is {value}: {why}")));
        }
    }
    let missing = statement
        .params
        .keys()
        .find(|name| !params.contains_key(*name));
    missing.map_or(Ok(()), |name| {
        let why = format!("`{name}` was approved, and the plan has no such parameter");
        Err(Refusal::Param(why))
    })
}

pub(super) fn same_place(statement: &Statement, subject: &Subject<'_>) -> Result<(), Refusal> {
    if let Some(run) = &statement.run
        && Some(run) != subject.run
    {
        return Err(Refusal::OtherRun(run.clone()));
    }
    if statement.ask.as_ref() != subject.ask {
        return Err(Refusal::OtherAsk);
    }
    Ok(())
}

/// As many as must have signed; who runs it does not count where others must approve.
fn enough(
    signers: &[&Approver],
    initiator: Option<Digest>,
    approvers: &Approvers,
) -> Result<Valid, Refusal> {
    let others_must = approvers.policy == Policy::Reviewed;
    let is_self = |one: &&Approver| others_must && Some(one.public.id()) == initiator;
    let counted: Vec<By> = signers
        .iter()
        .filter(|one| !is_self(one))
        .map(|one| By {
            key: one.public.id(),
            name: one.name.clone(),
        })
        .collect();
    let required = approvers.required.max(1);
    let found = u32::try_from(counted.len()).unwrap_or(u32::MAX);
    if found >= required {
        return Ok(Valid { by: counted });
    }
    Err(match signers.iter().find(|one| is_self(one)) {
        Some(own) => Refusal::SelfApproval(own.name.clone()),
        None => Refusal::TooFew { required, found },
    })
}
