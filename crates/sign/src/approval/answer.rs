use std::collections::BTreeMap;

use serde_json::json;

use super::check::{check_subject, check_validity_period, same_place, signers};
use super::{ApprovalContext, ApprovalDecision, ApprovalRefusal, ApprovalToken, Approver, Approvers};
use crate::canonical;
use wf_base::digest::Sha256Digest;
use wf_base::name::RunId;
use wf_base::time::Moment;
use wf_core::machine::{ApprovalRequest, ApprovalSigner, Artifact};

/// Returns the digest of a proposal, so that an answer applies to it alone: the question with
/// everything shown, the run, the plan, and the files that its evidence was checked with. SHA-256
/// of canonical JSON.
pub fn proposal(
    ask: &ApprovalRequest,
    run: &RunId,
    plan: Sha256Digest,
    evidence: &[Artifact],
) -> Sha256Digest {
    let mut files: Vec<(&str, Sha256Digest)> =
        evidence.iter().map(|file| (file.path.as_str(), file.digest)).collect();
    files.sort_unstable();
    let whole = json!({ "ask": ask, "run": run, "plan": plan, "evidence": files });
    Sha256Digest::of_bytes(canonical(&whole).as_bytes())
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
    fn is_asked(&self, one: &Approver) -> bool {
        self.names.is_empty() || self.names.contains(&one.name)
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
        /// The approvers who have approved.
        by: Vec<ApprovalSigner>,
        /// The number of approvals required.
        required: u32,
    },
    /// Enough approvers have approved.
    Approved {
        /// The approvers, by key.
        by: Vec<ApprovalSigner>,
        /// The digests of the tokens that they signed.
        tokens: Vec<Sha256Digest>,
        /// The texts that they gave, in the same order; empty where one gave none.
        texts: Vec<String>,
    },
    /// An approver denied it.
    Denied {
        /// The approver.
        by: ApprovalSigner,
        /// The digest of the token.
        token: Sha256Digest,
        /// The reason that the approver gave.
        reason: Option<String>,
    },
}

/// Decides by the signed answers, and returns the refusals of those that do not count. Each key
/// counts once; under `reviewed` the initiator's key does not count. One denial is enough.
pub fn decide(
    tokens: &[ApprovalToken],
    subject: &ApprovalContext<'_>,
    quorum: &Quorum<'_>,
) -> (QuorumState, Vec<ApprovalRefusal>) {
    let mut yes: BTreeMap<Sha256Digest, CountedYes> = BTreeMap::new();
    let mut refused = Vec::new();
    for token in tokens {
        let by = match counted_signers(token, subject, quorum) {
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
            let text = statement.reason.clone().unwrap_or_default();
            yes.insert(by.key_id, CountedYes { by, token: token.digest(), text });
        }
    }
    let required = quorum.required();
    let found = u32::try_from(yes.len()).unwrap_or(u32::MAX);
    let by = yes.values().map(|yes| yes.by.clone()).collect();
    let decided = if found >= required {
        let tokens = yes.values().map(|yes| yes.token).collect();
        QuorumState::Approved { by, tokens, texts: yes.into_values().map(|yes| yes.text).collect() }
    } else {
        QuorumState::Open { by, required }
    };
    (decided, refused)
}

/// A yes that counts.
struct CountedYes {
    by: ApprovalSigner,
    token: Sha256Digest,
    text: String,
}

/// Returns the signers of an answer that count.
fn counted_signers(
    token: &ApprovalToken,
    subject: &ApprovalContext<'_>,
    quorum: &Quorum<'_>,
) -> Result<Vec<ApprovalSigner>, ApprovalRefusal> {
    let signers = signers(token, quorum.approvers)?;
    let statement = token.statement();
    check_validity_period(statement, subject.now, quorum.approvers)?;
    if statement.issued >= quorum.until {
        return Err(ApprovalRefusal::Late(quorum.until));
    }
    check_subject(statement, subject)?;
    same_place(statement, subject)?;
    for signer in &signers {
        if !quorum.is_asked(signer) {
            return Err(ApprovalRefusal::NotAsked(signer.name.clone()));
        }
        let own = quorum.approvers.bars(signer, subject.initiator);
        if own && statement.verdict == ApprovalDecision::Approved {
            return Err(ApprovalRefusal::SelfApproval(signer.name.clone()));
        }
    }
    let by = signers.iter().map(|one| ApprovalSigner { key_id: one.public.id(), name: one.name.clone() });
    Ok(by.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Quorum, QuorumState, decide, proposal};
    use crate::approval::tests::fixture::{NOW, approvers, key, statement};
    use crate::approval::{
        ApprovalContext, ApprovalDecision, ApprovalNonce, ApprovalRefusal, ApprovalRequestRef as Asked,
        ApprovalScope, ApprovalStatement, ApprovalToken, Approvers, plan_digest,
    };
    use wf_base::digest::Sha256Digest;
    use wf_base::name::RunId;
    use wf_core::machine::{ApprovalRequest, Artifact};
    use wf_model::JsonObject;

    fn run() -> RunId {
        RunId::from_bytes([7; 16])
    }

    fn asked() -> Asked {
        Asked { place: Some("ok".into()), number: 1, proposal: Sha256Digest::of_bytes(b"this") }
    }

    /// Returns an answer to the question.
    fn answer(of: u8, verdict: ApprovalDecision) -> ApprovalStatement {
        ApprovalStatement {
            scope: ApprovalScope::Step,
            verdict,
            files: Vec::new(),
            params: [].into(),
            plan: crate::approval::PlanRef { digest: plan_digest(&[]), ..statement().plan },
            run: Some(run()),
            ask: Some(asked()),
            nonce: ApprovalNonce::from_bytes([of; 16]),
            issued: NOW,
            ..statement()
        }
    }

    fn judged(
        answers: &[(u8, ApprovalStatement)],
        approvers: &Approvers,
        required: Option<u32>,
        names: &[String],
    ) -> (QuorumState, Vec<ApprovalRefusal>) {
        let tokens = answers.iter().map(|(of, statement)| ApprovalToken::sign(statement.clone(), &key(*of)));
        let tokens: Vec<ApprovalToken> = tokens.collect();
        let plan = statement().plan;
        let (run, ask, params) = (run(), asked(), JsonObject::new());
        let subject = ApprovalContext {
            scope: ApprovalScope::Step,
            plan: &plan.id,
            path: &plan.path,
            files: &[],
            params: &params,
            run: Some(&run),
            ask: Some(&ask),
            initiator: Some(key(3).public().id()),
            spawned: None,
            now: NOW,
        };
        let quorum =
            Quorum { approvers, required, until: NOW.after(std::time::Duration::from_mins(1)), names };
        decide(&tokens, &subject, &quorum)
    }

    fn count(decided: &QuorumState) -> Option<usize> {
        match decided {
            QuorumState::Approved { by, .. } => Some(by.len()),
            _ => None,
        }
    }

    #[test]
    fn enough_different_keys_are_a_yes() {
        let yes = |of| (of, answer(of, ApprovalDecision::Approved));
        let told = |all: &[(u8, ApprovalStatement)], required| judged(all, &approvers(), required, &[]).0;
        assert_eq!(count(&told(&[yes(1)], None)), Some(1));
        assert_eq!(count(&told(&[yes(1), yes(1)], Some(2))), None);
        assert_eq!(count(&told(&[yes(1), yes(2)], Some(2))), Some(2));
        assert_eq!(count(&told(&[], None)), None);
    }

    #[test]
    fn a_plan_cannot_ask_for_fewer_than_the_policy() {
        let two = Approvers { required: 2, ..approvers() };
        let yes = [(1, answer(1, ApprovalDecision::Approved))];
        let (decided, _) = judged(&yes, &two, Some(1), &[]);
        assert_eq!(count(&decided), None);
    }

    #[test]
    fn one_no_outweighs_every_yes() {
        let all = [(1, answer(1, ApprovalDecision::Approved)), (2, answer(2, ApprovalDecision::Denied))];
        let (decided, _) = judged(&all, &approvers(), None, &[]);
        assert!(matches!(decided, QuorumState::Denied { by, .. } if by.name == "bob"));
    }

    #[test]
    fn what_does_not_count_says_why() {
        let names = ["bob".to_owned()];
        let refused = |of: u8, statement: ApprovalStatement, names: &[String]| {
            let (decided, refused) = judged(&[(of, statement)], &approvers(), None, names);
            assert!(matches!(decided, QuorumState::Open { .. }), "{decided:?}");
            refused.into_iter().next().unwrap()
        };
        let yes = || answer(1, ApprovalDecision::Approved);
        assert!(matches!(refused(3, yes(), &[]), ApprovalRefusal::SelfApproval(_)));
        assert!(matches!(refused(1, yes(), &names), ApprovalRefusal::NotAsked(_)));
        assert!(matches!(refused(9, yes(), &[]), ApprovalRefusal::Unlisted(_)));
        let other = ApprovalStatement { ask: Some(Asked { number: 2, ..asked() }), ..yes() };
        assert_eq!(refused(1, other, &[]), ApprovalRefusal::OtherAsk);
        let elsewhere = ApprovalStatement { run: Some(RunId::from_bytes([8; 16])), ..yes() };
        assert!(matches!(refused(1, elsewhere, &[]), ApprovalRefusal::OtherRun(_)));
        let scope = ApprovalStatement { scope: ApprovalScope::Gate, ..yes() };
        assert!(matches!(refused(1, scope, &[]), ApprovalRefusal::OtherScope { .. }));
    }

    #[test]
    fn a_proposal_is_of_everything_that_is_shown() {
        let ask: ApprovalRequest = serde_json::from_value(json!({
            "request": 1, "since": NOW, "message": "go?", "show": { "n": 1 }, "expires": NOW,
        }))
        .unwrap();
        let file = Artifact { path: "out.txt".into(), digest: Sha256Digest::of_bytes(b"made"), size: 4 };
        let plan = Sha256Digest::of_bytes(b"plan");
        let first = proposal(&ask, &run(), plan, std::slice::from_ref(&file));
        let mut shown = ask.clone();
        shown.show.insert("n".into(), json!(2));
        let changed = Artifact { digest: Sha256Digest::of_bytes(b"other"), ..file.clone() };
        for other in [
            proposal(&shown, &run(), plan, std::slice::from_ref(&file)),
            proposal(&ask, &RunId::from_bytes([8; 16]), plan, std::slice::from_ref(&file)),
            proposal(&ask, &run(), Sha256Digest::of_bytes(b"p"), std::slice::from_ref(&file)),
            proposal(&ask, &run(), plan, &[changed]),
            proposal(&ask, &run(), plan, &[]),
        ] {
            assert_ne!(first, other);
        }
        assert_eq!(first, proposal(&ask, &run(), plan, &[file]));
    }
}
