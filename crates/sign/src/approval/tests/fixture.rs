//! A valid approval, for tests to spoil.

use crate::{
    Signer,
    approval::{
        ApprovalContext, ApprovalDecision, ApprovalNonce, ApprovalRefusal, ApprovalScope, ApprovalStatement,
        ApprovalToken, Approver, Approvers, ParamBound, PlanRef, ReviewPolicy, plan_digest, verify,
    },
};
use serde_json::json;
use std::time::Duration;
use wf_base::{
    digest::Sha256Digest,
    name::{PlanId, RunId},
    time::Moment,
};
use wf_core::machine::PinnedFile;
use wf_model::JsonObject;

pub(in crate::approval) const NOW: Moment = Moment::from_millis(1_800_000_000_000);

pub(in crate::approval) fn key(of: u8) -> Signer {
    Signer::from_bytes(&[of; 32])
}

pub(in crate::approval) fn approver(name: &str, of: u8) -> Approver {
    Approver { name: name.into(), public: key(of).public().into(), revoked: None }
}

pub(in crate::approval) fn approvers() -> Approvers {
    Approvers {
        policy: ReviewPolicy::Reviewed,
        required: 1,
        keys: vec![approver("ada", 1), approver("bob", 2), approver("eve", 3)],
        validity: Duration::from_hours(48),
    }
}

pub(in crate::approval) fn files() -> Vec<PinnedFile> {
    let pin = |path: &str, text: &[u8]| PinnedFile::file(path, Sha256Digest::of_bytes(text));
    vec![pin("deploy.sh", b"echo"), pin("plan.md", b"---")]
}

pub(in crate::approval) fn statement() -> ApprovalStatement {
    ApprovalStatement {
        v: crate::approval::VERSION,
        scope: ApprovalScope::FullPlan,
        verdict: ApprovalDecision::Approved,
        reason: None,
        plan: PlanRef {
            id: PlanId::parse("nightly").unwrap(),
            path: "plan.md".into(),
            digest: plan_digest(&files()),
        },
        files: files(),
        params: [
            ("day".to_owned(), ParamBound::Is(json!("2027-01-15"))),
            ("copies".to_owned(), ParamBound::Within(json!({"type": "integer", "maximum": 3}))),
        ]
        .into(),
        run: None,
        request_ref: None,
        answer: None,
        nonce: ApprovalNonce::from_bytes([7; 16]),
        issued: NOW,
        expires: NOW.after(Duration::from_hours(24)),
        executions: 1,
        spawn_policy: None,
        settings: None,
        workspace: None,
    }
}

pub(in crate::approval) fn token() -> ApprovalToken {
    ApprovalToken::sign(statement(), &key(1))
}

/// An owned [`Subject`].
pub(in crate::approval) struct OwnedApprovalContext {
    pub(in crate::approval) plan: PlanId,
    pub(in crate::approval) path: String,
    pub(in crate::approval) files: Vec<PinnedFile>,
    pub(in crate::approval) params: JsonObject,
    pub(in crate::approval) run: RunId,
}

impl Default for OwnedApprovalContext {
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

impl OwnedApprovalContext {
    pub(in crate::approval) fn subject(&self) -> ApprovalContext<'_> {
        ApprovalContext {
            scope: ApprovalScope::FullPlan,
            plan: &self.plan,
            path: &self.path,
            files: &self.files,
            params: &self.params,
            run: Some(&self.run),
            request_ref: None,
            initiator: Some(key(9).public().id()),
            spawned: None,
            now: NOW.after(Duration::from_mins(5)),
        }
    }
}

pub(in crate::approval) fn refused(token: &ApprovalToken, approvers: &Approvers) -> String {
    let deed = OwnedApprovalContext::default();
    refusal(verify(token, &deed.subject(), approvers, 0))
}

/// Returns the text of a refusal, which must have a remedy.
pub(in crate::approval) fn refusal<T: std::fmt::Debug>(result: Result<T, ApprovalRefusal>) -> String {
    let refusal = result.unwrap_err();
    assert!(!refusal.remedy().is_empty());
    refusal.to_string()
}
