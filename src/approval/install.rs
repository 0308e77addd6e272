use std::time::Duration;

use serde_json::Value;

use super::check::within;
use super::{Approvers, Decided, Policy, Quorum, Refusal, Subject, Token, Valid, decide};
use crate::digest::Digest;
use crate::model::Object;
use crate::time::Moment;

/// How long the approval of a skill may hold: it is of bytes that do not change.
pub const SKILL_VALIDITY: Duration = Duration::from_hours(365 * 24);

/// What a statement calls the key of who installed a skill, among its parameters.
pub const INSTALLER: &str = "installer";

/// The parameters that the approval of a skill is bound to: who installed it.
pub fn install_params(installer: Digest) -> Object {
    let id = Value::String(installer.to_string());
    Object::from_iter([(INSTALLER.to_owned(), id)])
}

/// Whether a skill may be used: whether what people signed is of exactly this skill, its report and
/// who installed it, and enough of them signed. Where others must approve, who installed it does
/// not count, and every signature must. Where whoever runs a plan approves it, the signature of
/// somebody unknown says nothing, and one that is known is enough. Silas 5.8, 10.4, INV-06.
pub fn installs(
    tokens: &[Token],
    subject: &Subject<'_>,
    approvers: &Approvers,
) -> Result<Valid, Refusal> {
    let approvers = Approvers {
        validity: SKILL_VALIDITY,
        ..approvers.clone()
    };
    let quorum = Quorum {
        approvers: &approvers,
        required: None,
        until: Moment::from_millis(i64::MAX),
        names: &[],
    };
    for token in tokens {
        within(token.statement(), subject.params)?;
    }
    let (decided, refused) = decide(tokens, subject, &quorum);
    let alone = approvers.policy == Policy::Owner;
    let counts = |refusal: &Refusal| !(alone && matches!(refusal, Refusal::Unlisted(_)));
    let nobody = refused.iter().any(|refusal| !counts(refusal));
    if let Some(refusal) = refused.into_iter().find(counts) {
        return Err(refusal);
    }
    match decided {
        Decided::Approved { by, .. } => Ok(Valid { by }),
        Decided::Denied { reason, .. } => Err(Refusal::Denied(reason)),
        Decided::Open { by, required } => Err(if nobody && by.is_empty() {
            Refusal::Unsigned
        } else {
            let found = u32::try_from(by.len()).unwrap_or(u32::MAX);
            Refusal::TooFew { required, found }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{SKILL_VALIDITY, install_params, installs};
    use crate::approval::fixture::{NOW, approvers, key, statement};
    use crate::approval::{
        Approvers, Bound, Nonce, PlanRef, Policy, Refusal, Scope, Statement, Subject, Token,
        Verdict, plan_digest,
    };
    use crate::digest::Digest;
    use crate::machine::Pin;
    use crate::model::Object;
    use crate::name::PlanId;
    use std::time::Duration;

    fn pins(change: &str) -> Vec<Pin> {
        [
            "skills/it//bundle",
            "skills/it//report",
            "skills/it/SKILL.md",
            "skills/it/run.sh",
        ]
        .iter()
        .map(|path| {
            let text = if *path == change { "other" } else { "same" };
            Pin::file(*path, Digest::of(text.as_bytes()))
        })
        .collect()
    }

    fn params() -> Object {
        install_params(key(3).public().id())
    }

    fn signed(of: u8, change: impl FnOnce(&mut Statement)) -> Token {
        let files = pins("");
        let mut said = Statement {
            scope: Scope::SkillInstall,
            plan: PlanRef {
                id: PlanId::parse("it").unwrap(),
                path: "skills/it".into(),
                digest: plan_digest(&files),
            },
            files,
            params: params()
                .into_iter()
                .map(|(name, value)| (name, Bound::Is(value)))
                .collect(),
            nonce: Nonce::from_bytes([of; 16]),
            issued: NOW,
            expires: NOW.after(SKILL_VALIDITY),
            executions: 1,
            ..statement()
        };
        change(&mut said);
        said.plan.digest = plan_digest(&said.files);
        Token::sign(said, &key(of))
    }

    fn asked(tokens: &[Token], files: &[Pin], approvers: &Approvers) -> Result<usize, Refusal> {
        let (id, params) = (PlanId::parse("it").unwrap(), params());
        let subject = Subject {
            scope: Scope::SkillInstall,
            plan: &id,
            path: "skills/it",
            files,
            params: &params,
            run: None,
            ask: None,
            initiator: Some(key(3).public().id()),
            spawned: None,
            now: NOW.after(Duration::from_hours(24)),
        };
        installs(tokens, &subject, approvers).map(|valid| valid.by.len())
    }

    fn refused(token: Token) -> Refusal {
        asked(&[token], &pins(""), &approvers()).unwrap_err()
    }

    #[test]
    fn what_others_signed_holds_for_long() {
        assert_eq!(asked(&[signed(1, |_| {})], &pins(""), &approvers()), Ok(1));
        let two = Approvers {
            required: 2,
            ..approvers()
        };
        let both = [signed(1, |_| {}), signed(2, |_| {})];
        assert_eq!(asked(&both, &pins(""), &two), Ok(2));
        let one = asked(&both[..1], &pins(""), &two);
        assert_eq!(
            one,
            Err(Refusal::TooFew {
                required: 2,
                found: 1
            })
        );
        // The same key twice is one approver.
        let twice = [
            signed(1, |_| {}),
            signed(1, |said| said.nonce = Nonce::from_bytes([9; 16])),
        ];
        assert_eq!(
            asked(&twice, &pins(""), &two),
            Err(Refusal::TooFew {
                required: 2,
                found: 1
            })
        );
    }

    #[test]
    fn what_was_signed_of_something_else_does_not_count() {
        let other = signed(1, |said| said.plan.id = PlanId::parse("that").unwrap());
        assert!(matches!(refused(other), Refusal::OtherPlan { .. }));
        let elsewhere = signed(1, |said| said.plan.path = "skills/that".into());
        assert!(matches!(refused(elsewhere), Refusal::OtherPlan { .. }));
        for scope in [Scope::FullPlan, Scope::SkillInstall] {
            let plan = signed(1, |said| said.scope = scope);
            assert_eq!(
                matches!(
                    asked(&[plan], &pins(""), &approvers()),
                    Err(Refusal::OtherScope { .. })
                ),
                scope == Scope::FullPlan
            );
        }
        for path in ["skills/it/run.sh", "skills/it//report", "skills/it//bundle"] {
            let swapped = asked(&[signed(1, |_| {})], &pins(path), &approvers());
            assert!(matches!(swapped, Err(Refusal::Changed(files)) if files[0].path == path));
        }
        let by_other = signed(1, |said| {
            said.params = install_params(key(1).public().id())
                .into_iter()
                .map(|(name, value)| (name, Bound::Is(value)))
                .collect();
        });
        assert!(matches!(refused(by_other), Refusal::Param(_)));
        let bare = signed(1, |said| said.params.clear());
        assert!(matches!(refused(bare), Refusal::Param(_)));
    }

    #[test]
    fn a_skill_approval_starts_no_plan() {
        let deed = crate::approval::fixture::Deed {
            plan: PlanId::parse("it").unwrap(),
            ..Default::default()
        };
        let token = signed(1, |said| said.expires = NOW.after(Duration::from_hours(48)));
        let told = crate::approval::verify(&token, &deed.subject(), &approvers(), 0);
        assert!(matches!(told, Err(Refusal::OtherScope { .. })), "{told:?}");
    }

    #[test]
    fn keys_times_and_denials_count_as_elsewhere() {
        assert!(matches!(
            refused(signed(3, |_| {})),
            Refusal::SelfApproval(_)
        ));
        assert!(matches!(refused(signed(9, |_| {})), Refusal::Unlisted(_)));
        let over = signed(1, |said| said.expires = NOW.after(Duration::from_hours(1)));
        assert!(matches!(refused(over), Refusal::Expired(_)));
        let long = signed(1, |said| said.expires = NOW.after(SKILL_VALIDITY * 2));
        assert!(matches!(refused(long), Refusal::TooLong { .. }));
        let no = signed(1, |said| said.verdict = Verdict::Denied);
        assert!(matches!(refused(no), Refusal::Denied(_)));
        let mut revoked = approvers();
        revoked.keys[0].revoked = Some(NOW);
        let told = asked(&[signed(1, |_| {})], &pins(""), &revoked);
        assert!(matches!(told, Err(Refusal::Revoked { .. })));
        // One that does not count spoils the whole.
        let both = [signed(1, |_| {}), signed(9, |_| {})];
        assert!(matches!(
            asked(&both, &pins(""), &approvers()),
            Err(Refusal::Unlisted(_))
        ));
        assert!(matches!(
            asked(&[], &pins(""), &approvers()),
            Err(Refusal::TooFew { found: 0, .. })
        ));
    }

    #[test]
    fn where_each_approves_for_himself_others_say_nothing() {
        let owner = Approvers {
            policy: Policy::Owner,
            ..approvers()
        };
        let both = [signed(9, |_| {}), signed(1, |_| {})];
        assert_eq!(asked(&both, &pins(""), &owner), Ok(1));
        assert_eq!(asked(&[signed(3, |_| {})], &pins(""), &owner), Ok(1));
        assert_eq!(asked(&both[..1], &pins(""), &owner), Err(Refusal::Unsigned));
    }
}
