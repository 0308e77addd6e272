//! Tests of every way to misuse an approval, and of the refusal that each gets.

use super::fixture::{NOW, OwnedApprovalContext, approvers, key, refusal, refused, statement, token};
use crate::{
    approval::{
        ApprovalConsumption, ApprovalDecision, ApprovalRefusal, ApprovalRequestRef, ApprovalScope,
        ApprovalStatement, ApprovalToken, ParamBound, ReviewPolicy, SpawnedPlan, check, verify,
    },
    canonical,
};
use serde_json::{Value, json};
use std::time::Duration;
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};

/// Returns the refusal if the statement is a different one, validly signed.
fn signed(change: impl FnOnce(&mut ApprovalStatement)) -> String {
    let mut statement = statement();
    change(&mut statement);
    refused(&ApprovalToken::sign(statement, &key(1)), &approvers())
}

/// Returns the refusal if the deed is a different one.
fn done(change: impl FnOnce(&mut OwnedApprovalContext)) -> String {
    let mut deed = OwnedApprovalContext::default();
    change(&mut deed);
    refusal(verify(&token(), &deed.subject(), &approvers(), 0))
}

#[test]
fn a_token_that_holds_is_used_once() {
    let deed = OwnedApprovalContext::default();
    let subject = deed.subject();
    let token = ApprovalToken::parse(&token().text()).unwrap();
    assert_eq!(check(&token, &subject, &approvers(), 0), Err(ApprovalRefusal::Unused));
    let (valid, consumption) = verify(&token, &subject, &approvers(), 0).unwrap();
    assert_eq!((valid.signers.len(), valid.signers[0].name.as_str()), (1, "ada"));
    assert_eq!(valid.signers[0].key_id, key(1).public().id());
    let ApprovalConsumption { nonce, execution, .. } = consumption;
    assert_eq!((nonce, execution), (statement().nonce, 1));
    assert_eq!(check(&token, &subject, &approvers(), 1), Ok(valid));
    let replayed = verify(&token, &subject, &approvers(), 1);
    assert_eq!(refusal(replayed), "the approval is used up: 1 of 1 uses");
    assert!(check(&token, &subject, &approvers(), 2).is_err());
}

#[test]
fn no_two_uses_are_bound_to_the_same() {
    let mut statement = statement();
    statement.executions = 2;
    let token = ApprovalToken::sign(statement, &key(1));
    let deed = OwnedApprovalContext::default();
    let other = OwnedApprovalContext { run: RunId::from_bytes([2; 16]), ..OwnedApprovalContext::default() };
    let used = |deed: &OwnedApprovalContext, used| {
        let (_, consumption) = verify(&token, &deed.subject(), &approvers(), used).unwrap();
        consumption.binding
    };
    let bindings = [used(&deed, 0), used(&deed, 1), used(&other, 0)];
    assert!(bindings[0] != bindings[1] && bindings[0] != bindings[2]);
    let twice = verify(&token, &deed.subject(), &approvers(), 2);
    assert_eq!(refusal(twice), "the approval is used up: 2 of 2 uses");
}

#[test]
fn what_was_signed_is_refused_in_its_own_words() {
    assert_eq!(
        signed(|it| {
            it.verdict = ApprovalDecision::Denied;
            it.reason = Some("not today".into());
        }),
        "the signed decision is a denial: not today"
    );
    assert_eq!(
        signed(|it| it.scope = ApprovalScope::SkillInstall),
        "the approval is for scope `skill_install`, not `full_plan`"
    );
    assert_eq!(signed(|it| it.run = Some(RunId::from_bytes([2; 16]))), "the approval is for run 02020202");
    assert_eq!(
        signed(|it| {
            it.issued = NOW.after(Duration::from_mins(7));
        }),
        "the approval is not valid before 2027-01-15T08:07:00.000Z"
    );
    assert_eq!(
        signed(|it| it.expires = NOW.after(Duration::from_mins(5))),
        "the approval expired on 2027-01-15T08:05:00.000Z"
    );
    assert_eq!(
        signed(|it| it.expires = NOW.after(Duration::from_hours(49))),
        "the approval is valid for 2d1h, but at most 2d is allowed"
    );
    assert_eq!(
        signed(|it| it.plan.path = "other.md".into()),
        "the approval is for plan `nightly` in other.md, not `nightly` in plan.md"
    );
}

#[test]
fn a_clock_that_is_a_little_behind_is_let_pass() {
    let mut statement = statement();
    statement.issued = NOW.after(Duration::from_mins(6));
    let token = ApprovalToken::sign(statement, &key(1));
    assert!(verify(&token, &OwnedApprovalContext::default().subject(), &approvers(), 0).is_ok());
}

#[test]
fn what_is_done_must_be_what_was_approved() {
    assert_eq!(
        done(|it| it.plan = PlanId::parse("weekly").unwrap()),
        "the approval is for plan `nightly` in plan.md, not `weekly` in plan.md"
    );
    assert_eq!(
        done(|it| it.files[0].digest = Sha256Digest::of_bytes(b"rm -rf")),
        "files differ from the approved version: deploy.sh changed"
    );
    assert_eq!(
        done(|it| {
            it.files.remove(0);
            let new = wf_core::machine::PinnedFile::file("new.sh", Sha256Digest::of_bytes(b""));
            it.files.push(new);
        }),
        "files differ from the approved version: deploy.sh missing, new.sh added"
    );
    let param = |name: &str, value: Value| {
        done(|it| {
            it.params.insert(name.into(), value);
        })
    };
    assert_eq!(
        param("day", json!("2027-01-16")),
        "parameter `day` is \"2027-01-16\": \"2027-01-15\" was approved"
    );
    assert_eq!(param("copies", json!(4)), "parameter `copies` is 4: 4 is greater than the maximum of 3");
    assert_eq!(param("force", json!(true)), "parameter `force` is not approved");
    assert_eq!(
        done(|it| {
            it.params.shift_remove("day");
        }),
        "parameter `day` is approved, but the plan does not have it"
    );
}

#[test]
fn numbers_are_the_same_however_they_are_held() {
    assert_eq!(ParamBound::Is(json!(1.0)).bound_violation(&json!(1)), None);
    assert!(ParamBound::Is(json!(1)).bound_violation(&json!("1")).is_some());
    let broken = ParamBound::Within(json!({"type": "no type"}));
    assert!(broken.bound_violation(&json!(1)).unwrap().contains("not a JSON Schema"));
}

#[test]
fn only_who_is_listed_may_sign() {
    let mut few = approvers();
    few.keys.remove(0);
    let id = key(1).public().id();
    assert_eq!(
        refused(&token(), &few),
        format!("signed with the key {id}, which is not listed in approvers.yaml")
    );
    // A signature that counts does not carry one that does not.
    let mut token = token();
    token.add_signature(&key(8));
    assert!(refused(&token, &approvers()).contains("not listed"));
}

#[test]
fn a_revoked_key_signs_nothing_whatever_the_date() {
    let mut approvers = approvers();
    let expires = statement().expires;
    for (since, holds) in [
        (NOW.after(Duration::from_secs(1)), false),
        (Moment::from_millis(0), false),
        (expires, false),
        (expires.after(Duration::from_millis(1)), true),
    ] {
        approvers.keys[0].revoked = Some(since);
        let verified = verify(&token(), &OwnedApprovalContext::default().subject(), &approvers, 0);
        assert_eq!(verified.is_ok(), holds, "{since}");
    }
    approvers.keys[0].revoked = Some(NOW);
    assert_eq!(
        refused(&token(), &approvers),
        "the approval is signed with ada's key, which was revoked on \
         2027-01-15T08:00:00.000Z"
    );
}

#[test]
fn so_many_must_sign_and_none_of_them_runs_it() {
    let mut two = approvers();
    two.required = 2;
    assert_eq!(refused(&token(), &two), "1 of 2 approvers signed");
    let mut token = token();
    // Signed twice by the same key, by hand: it counts once.
    let mut envelope = token.envelope().clone();
    envelope.signatures.push(envelope.signatures[0].clone());
    let text = canonical(&serde_json::to_value(envelope).unwrap()) + "\n";
    let doubled = ApprovalToken::parse(&text).unwrap();
    assert_eq!(refused(&doubled, &two), "1 of 2 approvers signed");
    token.add_signature(&key(1));
    assert_eq!(refused(&token, &two), "1 of 2 approvers signed");
    token.add_signature(&key(2));
    let deed = OwnedApprovalContext::default();
    let (valid, _) = verify(&token, &deed.subject(), &two, 0).unwrap();
    assert_eq!(valid.signers.len(), 2);
    let mut by_ada = deed.subject();
    by_ada.initiator = Some(key(1).public().id());
    assert_eq!(
        refusal(verify(&token, &by_ada, &two, 0)),
        "self-approval is not allowed: the run was started by ada's key; another approver must sign"
    );
    let mut owner = two.clone();
    owner.policy = ReviewPolicy::Owner;
    assert!(verify(&token, &by_ada, &owner, 0).is_ok());
    token.add_signature(&key(3));
    let (valid, _) = verify(&token, &by_ada, &two, 0).unwrap();
    let names: std::collections::BTreeSet<&str> = valid.signers.iter().map(|by| by.name.as_str()).collect();
    assert_eq!(names, ["bob", "eve"].into());
    // A policy that requires no approver is invalid.
    let mut none = approvers();
    none.required = 0;
    assert_eq!(none.required, 0);
    let mut by_ada = deed.subject();
    by_ada.initiator = Some(key(1).public().id());
    assert!(verify(&super::fixture::token(), &by_ada, &none, 0).is_err());
}

#[test]
fn an_answer_fits_one_request_of_one_run() {
    let ask = |number| ApprovalRequestRef {
        place: Some("deploy[eu]".into()),
        number,
        proposal: Sha256Digest::of_bytes(b"deploy to eu"),
    };
    let deed = OwnedApprovalContext::default();
    let mut statement = statement();
    statement.scope = ApprovalScope::Step;
    statement.run = Some(deed.run.clone());
    statement.request_ref = Some(ask(3));
    let token = ApprovalToken::parse(&ApprovalToken::sign(statement, &key(1)).text()).unwrap();
    let asks = [ask(3), ask(4)];
    let mut subject = deed.subject();
    subject.scope = ApprovalScope::Step;
    subject.request_ref = Some(&asks[0]);
    assert!(verify(&token, &subject, &approvers(), 0).is_ok());
    subject.request_ref = Some(&asks[1]);
    assert_eq!(
        refusal(verify(&token, &subject, &approvers(), 0)),
        "the approval answers another request than the pending one"
    );
    subject.request_ref = None;
    assert!(verify(&token, &subject, &approvers(), 0).is_err());
}

#[test]
fn a_standing_approval_starts_only_what_has_its_form() {
    let spawned =
        SpawnedPlan { policy: Sha256Digest::of_bytes(b"repair"), plan: Sha256Digest::of_bytes(b"a repair") };
    let mut statement = statement();
    statement.scope = ApprovalScope::Standing;
    statement.executions = 3;
    statement.spawn_policy = Some(spawned.policy);
    let token = ApprovalToken::parse(&ApprovalToken::sign(statement, &key(1)).text()).unwrap();
    let deed = OwnedApprovalContext::default();
    let mut subject = deed.subject();
    subject.scope = ApprovalScope::Standing;
    assert_eq!(
        refusal(verify(&token, &subject, &approvers(), 0)),
        "a standing approval covers only runs started by a goal, but none was started"
    );
    subject.spawned = Some(&spawned);
    let (_, one) = verify(&token, &subject, &approvers(), 0).unwrap();
    let another = SpawnedPlan { plan: Sha256Digest::of_bytes(b"another repair"), ..spawned };
    subject.spawned = Some(&another);
    let (_, two) = verify(&token, &subject, &approvers(), 0).unwrap();
    assert_ne!(one.binding, two.binding);
    let other = SpawnedPlan { policy: Sha256Digest::of_bytes(b"anything"), ..spawned };
    subject.spawned = Some(&other);
    assert_eq!(
        refusal(verify(&token, &subject, &approvers(), 0)),
        "the run to start does not match the standing approval"
    );
}
