//! Every way to misuse an approval, and what is said to it.

use super::fixture::{Deed, NOW, approvers, key, refusal, refused, statement, token};
use super::{
    Ask, Bound, Consumption, Policy, Refusal, Scope, Spawned, Statement, Token, Verdict, check,
    verify,
};
use crate::digest::Digest;
use crate::name::{PlanId, RunId};
use crate::seal::canonical;
use crate::time::Moment;
use serde_json::{Value, json};
use std::time::Duration;

/// What is said if the statement is another one, signed all the same.
fn signed(change: impl FnOnce(&mut Statement)) -> String {
    let mut statement = statement();
    change(&mut statement);
    refused(&Token::sign(statement, &key(1)), &approvers())
}

/// What is said if something else is about to be done.
fn done(change: impl FnOnce(&mut Deed)) -> String {
    let mut deed = Deed::default();
    change(&mut deed);
    refusal(verify(&token(), &deed.subject(), &approvers(), 0))
}

#[test]
fn a_token_that_holds_is_used_once() {
    let deed = Deed::default();
    let subject = deed.subject();
    let token = Token::parse(&token().text()).unwrap();
    assert_eq!(
        check(&token, &subject, &approvers(), 0),
        Err(Refusal::Unused)
    );
    let (valid, consumption) = verify(&token, &subject, &approvers(), 0).unwrap();
    assert_eq!((valid.by.len(), valid.by[0].name.as_str()), (1, "ada"));
    assert_eq!(valid.by[0].key, key(1).public().id());
    let Consumption {
        nonce, execution, ..
    } = consumption;
    assert_eq!((nonce, execution), (statement().nonce, 1));
    assert_eq!(check(&token, &subject, &approvers(), 1), Ok(valid));
    let replayed = verify(&token, &subject, &approvers(), 1);
    assert_eq!(
        refusal(replayed),
        "the approval was used already, 1 of 1 times"
    );
    assert!(check(&token, &subject, &approvers(), 2).is_err());
}

#[test]
fn no_two_uses_are_bound_to_the_same() {
    let mut statement = statement();
    statement.executions = 2;
    let token = Token::sign(statement, &key(1));
    let deed = Deed::default();
    let other = Deed {
        run: RunId::from_bytes([2; 16]),
        ..Deed::default()
    };
    let used = |deed: &Deed, used| {
        let (_, consumption) = verify(&token, &deed.subject(), &approvers(), used).unwrap();
        consumption.binding
    };
    let bindings = [used(&deed, 0), used(&deed, 1), used(&other, 0)];
    assert!(bindings[0] != bindings[1] && bindings[0] != bindings[2]);
    let twice = verify(&token, &deed.subject(), &approvers(), 2);
    assert_eq!(
        refusal(twice),
        "the approval was used already, 2 of 2 times"
    );
}

#[test]
fn what_was_signed_is_refused_in_its_own_words() {
    assert_eq!(
        signed(|it| {
            it.verdict = Verdict::Denied;
            it.reason = Some("not today".into());
        }),
        "what was signed is a denial: not today"
    );
    assert_eq!(
        signed(|it| it.scope = Scope::SkillInstall),
        "the approval is for scope `skill_install`, not `full_plan`"
    );
    assert_eq!(
        signed(|it| it.run = Some(RunId::from_bytes([2; 16]))),
        "the approval is for run 02020202"
    );
    assert_eq!(
        signed(|it| {
            it.issued = NOW.after(Duration::from_mins(7));
        }),
        "the approval holds only from 2027-01-15T08:07:00.000Z"
    );
    assert_eq!(
        signed(|it| it.expires = NOW.after(Duration::from_mins(5))),
        "the approval expired on 2027-01-15T08:05:00.000Z"
    );
    assert_eq!(
        signed(|it| it.expires = NOW.after(Duration::from_hours(49))),
        "the approval holds for 2d1h, and at most 2d is allowed"
    );
    assert_eq!(
        signed(|it| it.plan.path = "other.md".into()),
        "the approval is for the plan `nightly` in other.md, not `nightly` in plan.md"
    );
}

#[test]
fn a_clock_that_is_a_little_behind_is_let_pass() {
    let mut statement = statement();
    statement.issued = NOW.after(Duration::from_mins(6));
    let token = Token::sign(statement, &key(1));
    assert!(verify(&token, &Deed::default().subject(), &approvers(), 0).is_ok());
}

#[test]
fn what_is_done_must_be_what_was_approved() {
    assert_eq!(
        done(|it| it.plan = PlanId::parse("weekly").unwrap()),
        "the approval is for the plan `nightly` in plan.md, not `weekly` in plan.md"
    );
    assert_eq!(
        done(|it| it.files[0].digest = Digest::of(b"rm -rf")),
        "what was approved is not what would run: deploy.sh was changed"
    );
    assert_eq!(
        done(|it| {
            it.files.remove(0);
            let new = crate::machine::Pin::file("new.sh", Digest::of(b""));
            it.files.push(new);
        }),
        "what was approved is not what would run: deploy.sh is gone, new.sh was added"
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
    assert_eq!(
        param("copies", json!(4)),
        "parameter `copies` is 4: 4 is greater than the maximum of 3"
    );
    assert_eq!(
        param("force", json!(true)),
        "parameter `force` was not approved"
    );
    assert_eq!(
        done(|it| {
            it.params.shift_remove("day");
        }),
        "parameter `day` was approved, and the plan has no such parameter"
    );
}

#[test]
fn numbers_are_the_same_however_they_are_held() {
    assert_eq!(Bound::Is(json!(1.0)).mistake(&json!(1)), None);
    assert!(Bound::Is(json!(1)).mistake(&json!("1")).is_some());
    let broken = Bound::Within(json!({"type": "no type"}));
    assert!(
        broken
            .mistake(&json!(1))
            .unwrap()
            .contains("no JSON Schema")
    );
}

#[test]
fn only_who_is_listed_may_sign() {
    let mut few = approvers();
    few.keys.remove(0);
    let id = key(1).public().id();
    assert_eq!(
        refused(&token(), &few),
        format!("the approval is signed by a key that is not listed as an approver: {id}")
    );
    // One signature that counts does not carry one that does not.
    let mut token = token();
    token.sign_too(&key(8));
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
        let verified = verify(&token(), &Deed::default().subject(), &approvers, 0);
        assert_eq!(verified.is_ok(), holds, "{since}");
    }
    approvers.keys[0].revoked = Some(NOW);
    assert_eq!(
        refused(&token(), &approvers),
        "the approval is signed with the key of ada, which was revoked on \
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
    let doubled = Token::parse(&text).unwrap();
    assert_eq!(refused(&doubled, &two), "1 of 2 approvers signed");
    token.sign_too(&key(1));
    assert_eq!(refused(&token, &two), "1 of 2 approvers signed");
    token.sign_too(&key(2));
    let deed = Deed::default();
    let (valid, _) = verify(&token, &deed.subject(), &two, 0).unwrap();
    assert_eq!(valid.by.len(), 2);
    let mut by_ada = deed.subject();
    by_ada.initiator = Some(key(1).public().id());
    assert_eq!(
        refusal(verify(&token, &by_ada, &two, 0)),
        "ada approved what ada runs; somebody else must"
    );
    let mut owner = two.clone();
    owner.policy = Policy::Owner;
    assert!(verify(&token, &by_ada, &owner, 0).is_ok());
    token.sign_too(&key(3));
    let (valid, _) = verify(&token, &by_ada, &two, 0).unwrap();
    let names: std::collections::BTreeSet<&str> =
        valid.by.iter().map(|by| by.name.as_str()).collect();
    assert_eq!(names, ["bob", "eve"].into());
    // That nobody is required is no policy.
    let mut none = approvers();
    none.required = 0;
    assert_eq!(none.required, 0);
    let mut by_ada = deed.subject();
    by_ada.initiator = Some(key(1).public().id());
    assert!(verify(&super::fixture::token(), &by_ada, &none, 0).is_err());
}

#[test]
fn an_answer_fits_one_request_of_one_run() {
    let ask = |number| Ask {
        place: Some("deploy[eu]".into()),
        number,
        proposal: Digest::of(b"deploy to eu"),
    };
    let deed = Deed::default();
    let mut statement = statement();
    statement.scope = Scope::Step;
    statement.run = Some(deed.run.clone());
    statement.ask = Some(ask(3));
    let token = Token::parse(&Token::sign(statement, &key(1)).text()).unwrap();
    let asks = [ask(3), ask(4)];
    let mut subject = deed.subject();
    subject.scope = Scope::Step;
    subject.ask = Some(&asks[0]);
    assert!(verify(&token, &subject, &approvers(), 0).is_ok());
    subject.ask = Some(&asks[1]);
    assert_eq!(
        refusal(verify(&token, &subject, &approvers(), 0)),
        "the approval answers another request than the one that waits"
    );
    subject.ask = None;
    assert!(verify(&token, &subject, &approvers(), 0).is_err());
}

#[test]
fn a_standing_approval_starts_only_what_has_its_form() {
    let spawned = Spawned {
        policy: Digest::of(b"repair"),
        plan: Digest::of(b"a repair"),
    };
    let mut statement = statement();
    statement.scope = Scope::Standing;
    statement.executions = 3;
    statement.spawn_policy = Some(spawned.policy);
    let token = Token::parse(&Token::sign(statement, &key(1)).text()).unwrap();
    let deed = Deed::default();
    let mut subject = deed.subject();
    subject.scope = Scope::Standing;
    assert_eq!(
        refusal(verify(&token, &subject, &approvers(), 0)),
        "a standing approval allows only what a goal starts, and nothing was started"
    );
    subject.spawned = Some(&spawned);
    let (_, one) = verify(&token, &subject, &approvers(), 0).unwrap();
    let another = Spawned {
        plan: Digest::of(b"another repair"),
        ..spawned
    };
    subject.spawned = Some(&another);
    let (_, two) = verify(&token, &subject, &approvers(), 0).unwrap();
    assert_ne!(one.binding, two.binding);
    let other = Spawned {
        policy: Digest::of(b"anything"),
        ..spawned
    };
    subject.spawned = Some(&other);
    assert_eq!(
        refusal(verify(&token, &subject, &approvers(), 0)),
        "what would be started is not of the form that the standing approval allows"
    );
}
