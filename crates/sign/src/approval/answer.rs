use std::collections::BTreeMap;

use serde_json::json;

use super::{
    ApprovalContext, ApprovalDecision, ApprovalRefusal, ApprovalToken, Approver, Approvers,
    check::{check_subject, check_validity_period, same_place, signers},
};
use crate::canonical;
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_core::machine::{AnswerOptions, ApprovalRequest, ApprovalSigner, Artifact, TypedAnswer, check_answer};

/// Returns the digest of a proposal, so an answer applies to it alone: SHA-256 of its [text](proposal_text).
pub fn proposal(
    request: &ApprovalRequest,
    run: &RunId,
    plan: Sha256Digest,
    artifacts: &[Artifact],
) -> Sha256Digest {
    Sha256Digest::of_bytes(proposal_text(request, run, plan, artifacts).as_bytes())
}

/// Returns a proposal as canonical JSON: the question with everything shown, the run, the plan, and the files its
/// evidence was checked with.
pub fn proposal_text(
    request: &ApprovalRequest,
    run: &RunId,
    plan: Sha256Digest,
    artifacts: &[Artifact],
) -> String {
    let mut files: Vec<(&str, Sha256Digest)> =
        artifacts.iter().map(|file| (file.path.as_str(), file.digest)).collect();
    files.sort_unstable();
    canonical(&json!({ "ask": request, "run": run, "plan": plan, "evidence": files }))
}

/// The rules that decide which answers count, and how many are needed.
#[derive(Clone, Debug)]
pub struct Quorum<'a> {
    /// The policy of the workspace.
    pub approvers: &'a Approvers,
    /// The number of approvals required, if more than the policy demands.
    pub required: Option<u32>,
    /// The instant before which an answer must be issued to count.
    pub until: Moment,
    /// The names of the approvers who may answer; empty: every listed approver.
    pub names: &'a [String],
    /// The answers the request permits; `None`: yes or no.
    pub options: Option<&'a AnswerOptions>,
}

impl Quorum<'_> {
    /// Returns the number of approvals required and the keys whose approval counts: those of all
    /// approvers who may answer and are not revoked, except the initiator under `reviewed`.
    pub fn counting(&self, initiator: Option<Sha256Digest>) -> (u32, Vec<Sha256Digest>) {
        let keys = self.approvers.keys.iter().filter(|one| {
            self.is_asked(one) && !self.approvers.bars(one, initiator) && one.revoked.is_none()
        });
        (self.required(), keys.map(|one| one.public.id()).collect())
    }

    /// True if an approver may answer.
    fn is_asked(&self, approver: &Approver) -> bool {
        self.names.is_empty() || self.names.contains(&approver.name)
    }

    /// Returns the number of approvals required: a plan may ask for more than the policy of the workspace, never
    /// for less.
    fn required(&self) -> u32 {
        self.required.unwrap_or(0).max(self.approvers.quorum())
    }
}

/// The decision of the approvers so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuorumState {
    /// Too few approvers have answered.
    Open {
        signers: Vec<ApprovalSigner>,
        /// The number of approvals required.
        required: u32,
        /// The answer all of them gave; `None`: they agreed, without one.
        answer: Option<TypedAnswer>,
    },
    /// Enough approvers have approved.
    Approved {
        /// The approvers, by key.
        by: Vec<ApprovalSigner>,
        /// The digests of the tokens they signed.
        tokens: Vec<Sha256Digest>,
        /// The texts they gave, in the same order; empty where one gave none.
        texts: Vec<String>,
        /// The answer all of them gave; `None`: they agreed, without one.
        answer: Option<TypedAnswer>,
    },
    /// An approver denied it.
    Denied {
        by: ApprovalSigner,
        token: Sha256Digest,
        /// The reason that the approver gave.
        reason: Option<String>,
    },
}

impl QuorumState {
    /// Returns the refusal of an answer differing from the one given already; `None`: it does not differ.
    pub fn refusal_of(&self, new_answer: Option<&TypedAnswer>) -> Option<ApprovalRefusal> {
        match self {
            Self::Open { signers: by, answer, .. } | Self::Approved { by, answer, .. } => {
                let first = FirstAnswer { name: by.first()?.name.clone(), answer: answer.as_ref() };
                (first.answer != new_answer).then(|| first.refusal())
            }
            Self::Denied { .. } => None,
        }
    }
}

/// Decides by the signed answers, and returns the refusals of those that do not count. Each key counts once;
/// under `reviewed` the initiator's key does not count. One denial is enough. The first answer that counts is
/// the one the others must give, too: one differing does not count.
pub fn decide(
    tokens: &[ApprovalToken],
    context: &ApprovalContext<'_>,
    quorum: &Quorum<'_>,
) -> (QuorumState, Vec<ApprovalRefusal>) {
    let mut yes: BTreeMap<Sha256Digest, CountedYes> = BTreeMap::new();
    let mut refused = Vec::new();
    let mut first: Option<FirstAnswer<'_>> = None;
    for token in tokens {
        let by = match counted_signers(token, context, quorum) {
            Ok(by) => by,
            Err(refusal) => {
                refused.push(refusal);
                continue;
            }
        };
        let statement = token.statement();
        for by in by {
            if statement.verdict == ApprovalDecision::Denied {
                let (token, reason) = (token.digest(), statement.reason.clone());
                return (QuorumState::Denied { by, token, reason }, refused);
            }
            let agreed = first.get_or_insert_with(|| FirstAnswer {
                name: by.name.clone(),
                answer: statement.answer.as_ref(),
            });
            if agreed.answer != statement.answer.as_ref() {
                refused.push(agreed.refusal());
                continue;
            }
            let text = statement.reason.clone().unwrap_or_default();
            yes.insert(by.key_id, CountedYes { signer: by, token: token.digest(), text });
        }
    }
    let required = quorum.required();
    let found = u32::try_from(yes.len()).unwrap_or(u32::MAX);
    let signers = yes.values().map(|yes| yes.signer.clone()).collect();
    let answer = first.and_then(|first| first.answer.cloned());
    let decided = if found >= required {
        let tokens = yes.values().map(|yes| yes.token).collect();
        let texts = yes.into_values().map(|yes| yes.text).collect();
        QuorumState::Approved { by: signers, tokens, texts, answer }
    } else {
        QuorumState::Open { signers, required, answer }
    };
    (decided, refused)
}

/// A yes that counts.
struct CountedYes {
    signer: ApprovalSigner,
    token: Sha256Digest,
    text: String,
}

/// The first answer that counts.
struct FirstAnswer<'a> {
    name: String,
    answer: Option<&'a TypedAnswer>,
}

impl FirstAnswer<'_> {
    /// Returns the refusal of another answer.
    fn refusal(&self) -> ApprovalRefusal {
        let answer = self.answer.map_or_else(|| "a plain yes".to_owned(), ToString::to_string);
        ApprovalRefusal::OtherAnswer { name: self.name.clone(), answer }
    }
}

fn counted_signers(
    token: &ApprovalToken,
    context: &ApprovalContext<'_>,
    quorum: &Quorum<'_>,
) -> Result<Vec<ApprovalSigner>, ApprovalRefusal> {
    let signers = signers(token, quorum.approvers)?;
    let statement = token.statement();
    check_validity_period(statement, context.now, quorum.approvers)?;
    if statement.issued >= quorum.until {
        return Err(ApprovalRefusal::Late(quorum.until));
    }
    check_subject(statement, context)?;
    same_place(statement, context)?;
    if statement.verdict == ApprovalDecision::Approved {
        check_answer(quorum.options, statement.answer.as_ref()).map_err(ApprovalRefusal::BadAnswer)?;
    }
    for signer in &signers {
        if !quorum.is_asked(signer) {
            return Err(ApprovalRefusal::NotAsked(signer.name.clone()));
        }
        let own = quorum.approvers.bars(signer, context.initiator);
        if own && statement.verdict == ApprovalDecision::Approved {
            return Err(ApprovalRefusal::SelfApproval(signer.name.clone()));
        }
    }
    let by = signers.iter().map(|one| ApprovalSigner { key_id: one.public.id(), name: one.name.clone() });
    Ok(by.collect())
}
