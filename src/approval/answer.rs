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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Decided, Quorum, decide, proposal};
    use crate::approval::fixture::{NOW, approvers, key, statement};
    use crate::approval::{
        Approvers, Ask as Asked, Nonce, Refusal, Scope, Statement, Subject, Token, Verdict,
        plan_digest,
    };
    use crate::digest::Digest;
    use crate::machine::{Artifact, Ask};
    use crate::model::Object;
    use crate::name::RunId;

    fn run() -> RunId {
        RunId::from_bytes([7; 16])
    }

    fn asked() -> Asked {
        Asked {
            place: Some("ok".into()),
            number: 1,
            proposal: Digest::of(b"this"),
        }
    }

    /// An answer of somebody.
    fn answer(of: u8, verdict: Verdict) -> Statement {
        Statement {
            scope: Scope::Step,
            verdict,
            files: Vec::new(),
            params: [].into(),
            plan: crate::approval::PlanRef {
                digest: plan_digest(&[]),
                ..statement().plan
            },
            run: Some(run()),
            ask: Some(asked()),
            nonce: Nonce::from_bytes([of; 16]),
            issued: NOW,
            ..statement()
        }
    }

    fn judged(
        answers: &[(u8, Statement)],
        approvers: &Approvers,
        (required, names): (Option<u32>, &[String]),
    ) -> (Decided, Vec<Refusal>) {
        let tokens = answers
            .iter()
            .map(|(of, statement)| Token::sign(statement.clone(), &key(*of)));
        let tokens: Vec<Token> = tokens.collect();
        let plan = statement().plan;
        let (run, ask, params) = (run(), asked(), Object::new());
        let subject = Subject {
            scope: Scope::Step,
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
        let quorum = Quorum {
            approvers,
            required,
            until: NOW.after(std::time::Duration::from_mins(1)),
            names,
        };
        decide(&tokens, &subject, &quorum)
    }

    fn count(decided: &Decided) -> Option<usize> {
        match decided {
            Decided::Approved { by, .. } => Some(by.len()),
            _ => None,
        }
    }

    #[test]
    fn enough_different_keys_are_a_yes() {
        let yes = |of| (of, answer(of, Verdict::Approved));
        let told = |all: &[(u8, Statement)], required| judged(all, &approvers(), (required, &[])).0;
        assert_eq!(count(&told(&[yes(1)], None)), Some(1));
        assert_eq!(count(&told(&[yes(1), yes(1)], Some(2))), None);
        assert_eq!(count(&told(&[yes(1), yes(2)], Some(2))), Some(2));
        assert_eq!(count(&told(&[], None)), None);
    }

    #[test]
    fn a_plan_cannot_ask_for_fewer_than_the_policy() {
        let two = Approvers {
            required: 2,
            ..approvers()
        };
        let yes = [(1, answer(1, Verdict::Approved))];
        let (decided, _) = judged(&yes, &two, (Some(1), &[]));
        assert_eq!(count(&decided), None);
    }

    #[test]
    fn one_no_outweighs_every_yes() {
        let all = [
            (1, answer(1, Verdict::Approved)),
            (2, answer(2, Verdict::Denied)),
        ];
        let (decided, _) = judged(&all, &approvers(), (None, &[]));
        assert!(matches!(decided, Decided::Denied { by, .. } if by.name == "bob"));
    }

    #[test]
    fn what_does_not_count_says_why() {
        let names = ["bob".to_owned()];
        let refused = |of: u8, statement: Statement, names: &[String]| {
            let (decided, refused) = judged(&[(of, statement)], &approvers(), (None, names));
            assert!(matches!(decided, Decided::Open { .. }), "{decided:?}");
            refused.into_iter().next().unwrap()
        };
        let yes = || answer(1, Verdict::Approved);
        assert!(matches!(refused(3, yes(), &[]), Refusal::SelfApproval(_)));
        assert!(matches!(refused(1, yes(), &names), Refusal::NotAsked(_)));
        assert!(matches!(refused(9, yes(), &[]), Refusal::Unlisted(_)));
        let other = Statement {
            ask: Some(Asked {
                number: 2,
                ..asked()
            }),
            ..yes()
        };
        assert_eq!(refused(1, other, &[]), Refusal::OtherAsk);
        let elsewhere = Statement {
            run: Some(RunId::from_bytes([8; 16])),
            ..yes()
        };
        assert!(matches!(refused(1, elsewhere, &[]), Refusal::OtherRun(_)));
        let scope = Statement {
            scope: Scope::Gate,
            ..yes()
        };
        assert!(matches!(refused(1, scope, &[]), Refusal::OtherScope { .. }));
    }

    #[test]
    fn a_proposal_is_of_everything_that_is_shown() {
        let ask: Ask = serde_json::from_value(json!({
            "number": 1, "since": NOW, "message": "go?", "show": { "n": 1 }, "expires": NOW,
        }))
        .unwrap();
        let file = Artifact {
            path: "out.txt".into(),
            digest: Digest::of(b"made"),
            size: 4,
        };
        let plan = Digest::of(b"plan");
        let first = proposal(&ask, &run(), plan, std::slice::from_ref(&file));
        let mut shown = ask.clone();
        shown.show.insert("n".into(), json!(2));
        let changed = Artifact {
            digest: Digest::of(b"other"),
            ..file.clone()
        };
        for other in [
            proposal(&shown, &run(), plan, std::slice::from_ref(&file)),
            proposal(
                &ask,
                &RunId::from_bytes([8; 16]),
                plan,
                std::slice::from_ref(&file),
            ),
            proposal(&ask, &run(), Digest::of(b"p"), std::slice::from_ref(&file)),
            proposal(&ask, &run(), plan, &[changed]),
            proposal(&ask, &run(), plan, &[]),
        ] {
            assert_ne!(first, other);
        }
        assert_eq!(first, proposal(&ask, &run(), plan, &[file]));
    }
}
