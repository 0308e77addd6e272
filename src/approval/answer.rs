use std::collections::BTreeMap;

use serde_json::json;

use super::check::{in_time, same_place, same_work, signers};
use super::{Approvers, Policy, Refusal, Subject, Token, Verdict};
use crate::digest::Digest;
use crate::machine::{Artifact, Ask, By};
use crate::name::RunId;
use crate::seal::canonical;
use crate::time::Moment;

/// What people are asked for, so that an answer is to this and to nothing else: the question
/// with all that is shown, the run, the plan, and the files that what it relies on was checked
/// with. SHA-256 of canonical JSON.
pub fn proposal(ask: &Ask, run: &RunId, plan: Digest, evidence: &[Artifact]) -> Digest {
    let mut files: Vec<(&str, Digest)> = evidence
        .iter()
        .map(|file| (file.path.as_str(), file.digest))
        .collect();
    files.sort_unstable();
    let whole = json!({ "ask": ask, "run": run, "plan": plan, "evidence": files });
    Digest::of(canonical(&whole).as_bytes())
}

/// Whose answers count, and how many are needed.
#[derive(Clone, Debug)]
pub struct Quorum<'a> {
    /// The policy of the workspace.
    pub approvers: &'a Approvers,
    /// How many must agree, if more than the policy demands.
    pub required: Option<u32>,
    /// Until when an answer counts.
    pub until: Moment,
    /// The names of those who may answer; empty: everybody who is listed.
    pub names: &'a [String],
}

impl Quorum<'_> {
    /// How many must agree, and whose yes counts: of everybody who may answer and whose key holds,
    /// but for who began the run where others must approve.
    pub fn counting(&self, initiator: Option<Digest>) -> (u32, Vec<Digest>) {
        let others_must = self.approvers.policy == Policy::Reviewed;
        let keys = self.approvers.keys.iter().filter(|one| {
            let asked = self.names.is_empty() || self.names.contains(&one.name);
            let own = others_must && Some(one.public.id()) == initiator;
            asked && !own && one.revoked.is_none()
        });
        (required(self), keys.map(|one| one.public.id()).collect())
    }
}

/// What people have decided so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decided {
    /// Not enough have answered.
    Open {
        /// Who has agreed.
        by: Vec<By>,
        /// How many must.
        required: u32,
    },
    /// Enough have agreed.
    Approved {
        /// Who, by key.
        by: Vec<By>,
        /// What each of them signed.
        tokens: Vec<Digest>,
    },
    /// Somebody who may answer refused.
    Denied {
        /// Who.
        by: By,
        /// What they signed.
        token: Digest,
        /// Why, in their words.
        reason: Option<String>,
    },
}

/// What signed answers come to, and why some of them do not count. Each key counts once; where
/// others must approve, the key of who runs it does not count. One no is enough.
pub fn decide(
    tokens: &[Token],
    subject: &Subject<'_>,
    quorum: &Quorum<'_>,
) -> (Decided, Vec<Refusal>) {
    let mut yes: BTreeMap<Digest, (By, Digest)> = BTreeMap::new();
    let mut refused = Vec::new();
    for token in tokens {
        let by = match counted(token, subject, quorum) {
            Ok(by) => by,
            Err(refusal) => {
                refused.push(refusal);
                continue;
            }
        };
        let statement = token.statement();
        for by in by {
            if statement.verdict == Verdict::Denied {
                let (token, reason) = (token.digest(), statement.reason.clone());
                return (Decided::Denied { by, token, reason }, refused);
            }
            yes.insert(by.key, (by, token.digest()));
        }
    }
    let required = required(quorum);
    let found = u32::try_from(yes.len()).unwrap_or(u32::MAX);
    let (by, tokens): (Vec<By>, Vec<Digest>) = yes.into_values().unzip();
    let decided = if found >= required {
        Decided::Approved { by, tokens }
    } else {
        Decided::Open { by, required }
    };
    (decided, refused)
}

/// How many must agree.
fn required(quorum: &Quorum<'_>) -> u32 {
    let rule = match quorum.approvers.policy {
        Policy::Owner => 1,
        Policy::Reviewed => quorum.approvers.required,
    };
    // A plan may ask for more than the policy of the workspace, never for less.
    quorum.required.map_or(rule, |more| more.max(rule)).max(1)
}

/// Who signed an answer and counts.
fn counted(token: &Token, subject: &Subject<'_>, quorum: &Quorum<'_>) -> Result<Vec<By>, Refusal> {
    let signers = signers(token, quorum.approvers)?;
    let statement = token.statement();
    in_time(statement, subject.now, quorum.approvers)?;
    if statement.issued >= quorum.until {
        return Err(Refusal::Late(quorum.until));
    }
    same_work(statement, subject)?;
    same_place(statement, subject)?;
    let others_must = quorum.approvers.policy == Policy::Reviewed;
    for signer in &signers {
        if !quorum.names.is_empty() && !quorum.names.contains(&signer.name) {
            return Err(Refusal::NotAsked(signer.name.clone()));
        }
        let own = others_must && Some(signer.public.id()) == subject.initiator;
        if own && statement.verdict == Verdict::Approved {
            return Err(Refusal::SelfApproval(signer.name.clone()));
        }
    }
    let by = signers.iter().map(|one| By {
        key: one.public.id(),
        name: one.name.clone(),
    });
    Ok(by.collect())
}
