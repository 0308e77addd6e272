//! An approval that holds, for tests to spoil.

use super::{
    Approver, Approvers, Bound, Nonce, PlanRef, Policy, Refusal, Scope, Statement, Subject, Token,
    Verdict, plan_digest, verify,
};
use crate::digest::Digest;
use crate::machine::Pin;
use crate::model::Object;
use crate::name::{PlanId, RunId};
use crate::seal::Signer;
use crate::time::Moment;
use serde_json::json;
use std::time::Duration;

pub(super) const NOW: Moment = Moment::from_millis(1_800_000_000_000);

pub(super) fn key(of: u8) -> Signer {
    Signer::from_bytes(&[of; 32])
}

pub(super) fn approver(name: &str, of: u8) -> Approver {
    Approver {
        name: name.into(),
        public: key(of).public(),
        revoked: None,
    }
}

pub(super) fn approvers() -> Approvers {
    Approvers {
        policy: Policy::Reviewed,
        required: 1,
        keys: vec![approver("ada", 1), approver("bob", 2), approver("eve", 3)],
        validity: Duration::from_hours(48),
    }
}

pub(super) fn files() -> Vec<Pin> {
    let pin = |path: &str, text: &[u8]| Pin::file(path, Digest::of(text));
    vec![pin("deploy.sh", b"echo"), pin("plan.md", b"---")]
}

pub(super) fn statement() -> Statement {
    Statement {
        v: 1,
        scope: Scope::FullPlan,
        verdict: Verdict::Approved,
        reason: None,
        plan: PlanRef {
            id: PlanId::parse("nightly").unwrap(),
            path: "plan.md".into(),
            digest: plan_digest(&files()),
        },
        files: files(),
        params: [
            ("day".to_owned(), Bound::Is(json!("2027-01-15"))),
            (
                "copies".to_owned(),
                Bound::Within(json!({"type": "integer", "maximum": 3})),
            ),
        ]
        .into(),
        run: None,
        ask: None,
        nonce: Nonce::from_bytes([7; 16]),
        issued: NOW,
        expires: NOW.after(Duration::from_hours(24)),
        executions: 1,
        spawn_policy: None,
    }
}

pub(super) fn token() -> Token {
    Token::sign(statement(), &key(1))
}

/// What is about to be done, as it owns it.
pub(super) struct Deed {
    pub(super) plan: PlanId,
    pub(super) path: String,
    pub(super) files: Vec<Pin>,
    pub(super) params: Object,
    pub(super) run: RunId,
}

impl Default for Deed {
    fn default() -> Self {
        let params = json!({"day": "2027-01-15", "copies": 2});
        Self {
            plan: PlanId::parse("nightly").unwrap(),
            path: "plan.md".into(),
            files: files(),
            params: params.as_object().unwrap().clone(),
            run: RunId::from_bytes([1; 16]),
        }
    }
}

impl Deed {
    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            scope: Scope::FullPlan,
            plan: &self.plan,
            path: &self.path,
            files: &self.files,
            params: &self.params,
            run: Some(&self.run),
            ask: None,
            initiator: Some(key(9).public().id()),
            spawned: None,
            now: NOW.after(Duration::from_mins(5)),
        }
    }
}

/// What is said to a token.
pub(super) fn refused(token: &Token, approvers: &Approvers) -> String {
    let deed = Deed::default();
    refusal(verify(token, &deed.subject(), approvers, 0))
}

/// What is said, which has a remedy.
pub(super) fn refusal<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
    let refusal = result.unwrap_err();
    assert!(!refusal.remedy().is_empty());
    refusal.to_string()
}
