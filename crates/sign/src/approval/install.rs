use std::time::Duration;

use serde_json::Value;

use super::{
    ApprovalContext, ApprovalRefusal, ApprovalToken, Approvers, Quorum, QuorumState, ReviewPolicy,
    ValidApproval, check::check_params, decide,
};
use wf_base::{digest::Sha256Digest, time::Moment};
use wf_model::JsonObject;

/// The longest validity of a skill's approval: the approved bytes do not change.
pub const SKILL_VALIDITY: Duration = Duration::from_hours(365 * 24);

/// The parameter of a statement naming the key of the skill's installer.
pub const INSTALLER: &str = "installer";

/// Returns the parameters the approval of a skill is bound to: its installer.
pub fn install_params(installer: Sha256Digest) -> JsonObject {
    let id = Value::String(installer.to_string());
    JsonObject::from_iter([(INSTALLER.to_owned(), id)])
}

/// Checks that a skill may be used: enough approvers signed exactly this skill, its report and its
/// installer. Under `reviewed` the installer does not count, and every signature must be valid.
/// Under `owner` an unknown signature is ignored, and one known is enough. Silas 5.8, 10.4, INV-06.
pub fn check_installation(
    tokens: &[ApprovalToken],
    context: &ApprovalContext<'_>,
    approvers: &Approvers,
) -> Result<ValidApproval, ApprovalRefusal> {
    let approvers = Approvers { validity: SKILL_VALIDITY, ..approvers.clone() };
    let quorum = Quorum {
        approvers: &approvers,
        required: None,
        until: Moment::from_millis(i64::MAX),
        names: &[],
        options: None,
    };
    for token in tokens {
        check_params(token.statement(), context.params)?;
    }
    let (decided, refused) = decide(tokens, context, &quorum);
    let alone = approvers.policy == ReviewPolicy::Owner;
    let counts = |refusal: &ApprovalRefusal| !(alone && matches!(refusal, ApprovalRefusal::Unlisted(_)));
    let nobody = refused.iter().any(|refusal| !counts(refusal));
    if let Some(refusal) = refused.into_iter().find(counts) {
        return Err(refusal);
    }
    match decided {
        QuorumState::Approved { by: signers, .. } => Ok(ValidApproval { signers }),
        QuorumState::Denied { reason, .. } => Err(ApprovalRefusal::Denied(reason)),
        QuorumState::Open { signers, required, .. } => Err(if nobody && signers.is_empty() {
            ApprovalRefusal::Unsigned
        } else {
            let found = u32::try_from(signers.len()).unwrap_or(u32::MAX);
            ApprovalRefusal::TooFew { required, found }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{SKILL_VALIDITY, check_installation, install_params};
    use crate::approval::{
        ApprovalContext, ApprovalDecision, ApprovalNonce, ApprovalRefusal, ApprovalScope, ApprovalStatement,
        ApprovalToken, Approvers, ParamBound, PlanRef, ReviewPolicy, plan_digest,
        tests::fixture::{NOW, approvers, key, statement},
    };
    use std::time::Duration;
    use wf_base::{digest::Sha256Digest, name::PlanId};
    use wf_core::machine::PinnedFile;
    use wf_model::JsonObject;

    fn pins(change: &str) -> Vec<PinnedFile> {
        ["skills/it//bundle", "skills/it//report", "skills/it/SKILL.md", "skills/it/run.sh"]
            .iter()
            .map(|path| {
                let text = if *path == change { "other" } else { "same" };
                PinnedFile::file(*path, Sha256Digest::of_bytes(text.as_bytes()))
            })
            .collect()
    }

    fn params() -> JsonObject {
        install_params(key(3).public().id())
    }

    fn signed(of: u8, change: impl FnOnce(&mut ApprovalStatement)) -> ApprovalToken {
        let files = pins("");
        let mut said = ApprovalStatement {
            scope: ApprovalScope::SkillInstall,
            plan: PlanRef {
                id: PlanId::parse("it").unwrap(),
                path: "skills/it".into(),
                digest: plan_digest(&files),
            },
            files,
            params: params().into_iter().map(|(name, value)| (name, ParamBound::Is(value))).collect(),
            nonce: ApprovalNonce::from_bytes([of; 16]),
            issued: NOW,
            expires: NOW.after(SKILL_VALIDITY),
            executions: 1,
            ..statement()
        };
        change(&mut said);
        said.plan.digest = plan_digest(&said.files);
        ApprovalToken::sign(said, &key(of))
    }

    fn asked(
        tokens: &[ApprovalToken],
        files: &[PinnedFile],
        approvers: &Approvers,
    ) -> Result<usize, ApprovalRefusal> {
        let (id, params) = (PlanId::parse("it").unwrap(), params());
        let subject = ApprovalContext {
            scope: ApprovalScope::SkillInstall,
            plan: &id,
            path: "skills/it",
            files,
            params: &params,
            run: None,
            request_ref: None,
            initiator: Some(key(3).public().id()),
            spawned: None,
            now: NOW.after(Duration::from_hours(24)),
        };
        check_installation(tokens, &subject, approvers).map(|valid| valid.signers.len())
    }

    fn refused(token: ApprovalToken) -> ApprovalRefusal {
        asked(&[token], &pins(""), &approvers()).unwrap_err()
    }

    #[test]
    fn what_others_signed_holds_for_long() {
        assert_eq!(asked(&[signed(1, |_| {})], &pins(""), &approvers()), Ok(1));
        let two = Approvers { required: 2, ..approvers() };
        let both = [signed(1, |_| {}), signed(2, |_| {})];
        assert_eq!(asked(&both, &pins(""), &two), Ok(2));
        let one = asked(&both[..1], &pins(""), &two);
        assert_eq!(one, Err(ApprovalRefusal::TooFew { required: 2, found: 1 }));
        // The same key twice is one approver.
        let twice = [signed(1, |_| {}), signed(1, |said| said.nonce = ApprovalNonce::from_bytes([9; 16]))];
        assert_eq!(asked(&twice, &pins(""), &two), Err(ApprovalRefusal::TooFew { required: 2, found: 1 }));
    }

    #[test]
    fn what_was_signed_of_something_else_does_not_count() {
        let other = signed(1, |said| said.plan.id = PlanId::parse("that").unwrap());
        assert!(matches!(refused(other), ApprovalRefusal::OtherPlan { .. }));
        let elsewhere = signed(1, |said| said.plan.path = "skills/that".into());
        assert!(matches!(refused(elsewhere), ApprovalRefusal::OtherPlan { .. }));
        for scope in [ApprovalScope::FullPlan, ApprovalScope::SkillInstall] {
            let plan = signed(1, |said| said.scope = scope);
            assert_eq!(
                matches!(asked(&[plan], &pins(""), &approvers()), Err(ApprovalRefusal::OtherScope { .. })),
                scope == ApprovalScope::FullPlan
            );
        }
        for path in ["skills/it/run.sh", "skills/it//report", "skills/it//bundle"] {
            let swapped = asked(&[signed(1, |_| {})], &pins(path), &approvers());
            assert!(matches!(swapped, Err(ApprovalRefusal::Changed(files)) if files[0].path == path));
        }
        let by_other = signed(1, |said| {
            said.params = install_params(key(1).public().id())
                .into_iter()
                .map(|(name, value)| (name, ParamBound::Is(value)))
                .collect();
        });
        assert!(matches!(refused(by_other), ApprovalRefusal::Param(_)));
        let bare = signed(1, |said| said.params.clear());
        assert!(matches!(refused(bare), ApprovalRefusal::Param(_)));
    }

    #[test]
    fn a_skill_approval_starts_no_plan() {
        let deed = crate::approval::tests::fixture::OwnedApprovalContext {
            plan: PlanId::parse("it").unwrap(),
            ..Default::default()
        };
        let token = signed(1, |said| said.expires = NOW.after(Duration::from_hours(48)));
        let told = crate::approval::verify(&token, &deed.subject(), &approvers(), 0);
        assert!(matches!(told, Err(ApprovalRefusal::OtherScope { .. })), "{told:?}");
    }

    #[test]
    fn keys_times_and_denials_count_as_elsewhere() {
        assert!(matches!(refused(signed(3, |_| {})), ApprovalRefusal::SelfApproval(_)));
        assert!(matches!(refused(signed(9, |_| {})), ApprovalRefusal::Unlisted(_)));
        let over = signed(1, |said| said.expires = NOW.after(Duration::from_hours(1)));
        assert!(matches!(refused(over), ApprovalRefusal::Expired(_)));
        let long = signed(1, |said| said.expires = NOW.after(SKILL_VALIDITY * 2));
        assert!(matches!(refused(long), ApprovalRefusal::TooLong { .. }));
        let no = signed(1, |said| said.verdict = ApprovalDecision::Denied);
        assert!(matches!(refused(no), ApprovalRefusal::Denied(_)));
        let mut revoked = approvers();
        revoked.keys[0].revoked = Some(NOW);
        let told = asked(&[signed(1, |_| {})], &pins(""), &revoked);
        assert!(matches!(told, Err(ApprovalRefusal::Revoked { .. })));
        // One signature that does not count spoils the whole.
        let both = [signed(1, |_| {}), signed(9, |_| {})];
        assert!(matches!(asked(&both, &pins(""), &approvers()), Err(ApprovalRefusal::Unlisted(_))));
        assert!(matches!(asked(&[], &pins(""), &approvers()), Err(ApprovalRefusal::TooFew { found: 0, .. })));
    }

    #[test]
    fn where_each_approves_for_himself_others_say_nothing() {
        let owner = Approvers { policy: ReviewPolicy::Owner, ..approvers() };
        let both = [signed(9, |_| {}), signed(1, |_| {})];
        assert_eq!(asked(&both, &pins(""), &owner), Ok(1));
        assert_eq!(asked(&[signed(3, |_| {})], &pins(""), &owner), Ok(1));
        assert_eq!(asked(&both[..1], &pins(""), &owner), Err(ApprovalRefusal::Unsigned));
    }
}
