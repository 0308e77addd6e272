//! The enrolment of a key by an approver elsewhere, as in a browser: one who is listed signs that another key is listed, too.
//!
//! As with requests, the server drafts the statement, the browser shows and signs it, and what comes back counts only if it
//! is the statement that would be drafted now. It has the digest of `approvers.yaml` as it will be, so it counts for one change of
//! one text. The user's own keys, which count in a terminal without being listed, sign nothing here.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use serde_json::Value;

use super::{
    approvers::{NewApprover, add_key, text_with},
    asked::noted_keys,
    known::approvers_of,
};
use crate::{
    APPROVERS, Caller, CliExitCode, CommandError,
    approve::{draft_statement, rejected_signature},
    failure::usage_error,
};
use wf_base::{digest::Sha256Digest, name::PlanId, remedy::UserAction, time::Moment, untrusted::plain};
use wf_core::{machine::PinnedFile, risk::RiskLevel};
use wf_model::JsonObject;
use wf_report::unified_diff;
use wf_sign::{
    ApproverKey,
    approval::{
        ApprovalContext, ApprovalRefusal, ApprovalScope, ApprovalStatement, ApprovalToken, Approvers,
        PAYLOAD, ParamBound, PlanRef, check_unconsumed, plan_digest,
    },
};

/// The longest time between a draft and its signature.
const DRAFT_TIME: Duration = Duration::from_mins(15);

/// The id that a statement about approvers has in the place of that of a plan.
const SUBJECT: &str = "approvers";

/// A key to be enrolled under a name.
#[derive(Clone, Copy)]
pub struct KeyCandidate<'a> {
    pub key: &'a ApproverKey,
    /// The name of the approver.
    pub name: &'a str,
}

/// A text to sign for another key.
#[derive(Clone, Debug, Serialize)]
pub struct EnrolmentDraft {
    pub payload_type: &'static str,
    /// The statement, in its only form.
    pub payload: String,
    /// The change of `approvers.yaml`, for the reader: the statement has the digest of its text.
    pub changes: String,
    /// The risk: a passkey signs what cannot be taken back, so only a passkey signs for it.
    pub level: RiskLevel,
}

/// The name of the approver who signed for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrolledBy(pub String);

/// The statement about a key as it would be drafted now.
struct EnrolmentReview {
    statement: ApprovalStatement,
    approvers: Approvers,
    /// The text of the file before and after.
    before: String,
    after: String,
}

/// Fails if no approver of the workspace can sign alone for another key.
pub fn check_signable(caller: &dyn Caller) -> Result<(), CommandError> {
    let (approvers, _) = approvers_of(caller)?;
    let now = caller.host().now();
    let refused = |message: String| {
        let error = CommandError::new(CliExitCode::Approval, message);
        Err(error.remedy("add it in the workspace: ", UserAction::EnrolKey))
    };
    if !approvers.keys.iter().any(|one| one.revoked.is_none_or(|since| since > now)) {
        return refused(format!("{APPROVERS} lists no key that could sign for another one"));
    }
    // One of several could make up for the others with keys of their own.
    match approvers.required.max(1) {
        1 => Ok(()),
        required => {
            refused(format!("{required} approvers must agree in this workspace, and a page asks one"))
        }
    }
}

/// Drafts the statement that lists another key.
pub fn draft_enrolment(
    caller: &dyn Caller,
    candidate: KeyCandidate<'_>,
) -> Result<EnrolmentDraft, CommandError> {
    let EnrolmentReview { statement, before, after, .. } = EnrolmentReview::of(caller, candidate)?;
    Ok(EnrolmentDraft {
        payload_type: PAYLOAD,
        payload: statement.text(),
        changes: plain(&unified_diff(APPROVERS, &before, &after)),
        level: level_of(candidate.key),
    })
}

/// Lists another key, if the signature for it counts.
pub fn submit_enrolment(
    caller: &dyn Caller,
    candidate: KeyCandidate<'_>,
    token: &str,
) -> Result<EnrolledBy, CommandError> {
    let refused = |message: &str| CommandError::new(CliExitCode::Approval, message);
    let rejected = |refusal: ApprovalRefusal| {
        let error = rejected_signature(caller, &refusal);
        match refusal {
            ApprovalRefusal::Unlisted(_) | ApprovalRefusal::Revoked { .. } => error.remedy(
                "an approver of the workspace signs for it, or whoever works there adds it: ",
                UserAction::EnrolKey,
            ),
            _ => error.hint("sign a new draft, as the page has when it is opened again"),
        }
    };
    let token = ApprovalToken::parse(token).map_err(rejected)?;
    let review = EnrolmentReview::of(caller, candidate)?;
    let (signed, drafted, now) = (token.statement(), &review.statement, caller.host().now());
    // Each draft has a nonce and a time of its own.
    let same = ApprovalStatement {
        nonce: signed.nonce.clone(),
        issued: signed.issued,
        expires: signed.issued.after(drafted.expires.since(drafted.issued)),
        ..drafted.clone()
    };
    if *signed != same {
        let message = "what was signed is not what would be done now: the key, its name, the workspace, or its approvers";
        return Err(refused(message).hint("sign a new draft, as the page has when it is opened again"));
    }
    if token.signers().any(|signer| signer == Some(candidate.key.id())) {
        return Err(refused("a key does not enrol itself").hint("another approver signs for it"));
    }
    let context = ApprovalContext {
        scope: ApprovalScope::KeyEnrol,
        plan: &drafted.plan.id,
        path: APPROVERS,
        files: &drafted.files,
        params: &params(candidate),
        run: None,
        request_ref: None,
        initiator: None,
        spawned: None,
        now,
    };
    let valid = check_unconsumed(&token, &context, &review.approvers).map_err(rejected)?;
    let signer = valid.signers.first().ok_or_else(|| rejected(ApprovalRefusal::Unsigned))?;
    let is_passkey = review.approvers.find(signer.key_id).is_some_and(|one| one.public.is_passkey());
    if level_of(candidate.key) == RiskLevel::Irreversible && !is_passkey {
        let message = "a passkey approves what cannot be taken back, so only a passkey signs for one";
        return Err(refused(message).remedy("make one on /keys, or in the workspace: ", UserAction::EnrolKey));
    }
    let expected = Sha256Digest::of_bytes(review.after.as_bytes());
    let approver = NewApprover { name: candidate.name, key: candidate.key, signed_by: Some(signer.key_id) };
    add_key(caller, approver, |text| {
        check_asked(caller, candidate.key, signed.issued)?;
        let is_signed = Sha256Digest::of_bytes(text.as_bytes()) == expected;
        let changed = || {
            refused("the approvers changed meanwhile")
                .hint("sign a new draft, as the page has when it is opened again")
        };
        is_signed.then_some(()).ok_or_else(changed)
    })?;
    Ok(EnrolledBy(signer.name.clone()))
}

/// Fails unless a key asks since before a signature for it: what was signed once enrols nobody again.
fn check_asked(caller: &dyn Caller, key: &ApproverKey, issued: Moment) -> Result<(), CommandError> {
    let asked = noted_keys(caller)?.into_iter().find(|asked| asked.key == *key);
    if asked.is_some_and(|asked| asked.at <= issued) {
        return Ok(());
    }
    let message =
        "the key does not ask to be enrolled, or asks since a later time than that of the signature";
    let error = CommandError::new(CliExitCode::Approval, message);
    Err(error.hint("let its browser ask on its page of keys, and sign a new draft"))
}

impl EnrolmentReview {
    fn of(caller: &dyn Caller, candidate: KeyCandidate<'_>) -> Result<Self, CommandError> {
        check_signable(caller)?;
        let KeyCandidate { key, name } = candidate;
        if name.is_empty() {
            return Err(usage_error("an approver has a name").hint("say whose key it is"));
        }
        let (approvers, before) = approvers_of(caller)?;
        let Some(after) = text_with(caller, APPROVERS, name, key)? else {
            return Err(usage_error(format!("the key is in {APPROVERS} already")));
        };
        let host = caller.host();
        let files = vec![PinnedFile::file(APPROVERS, Sha256Digest::of_bytes(after.as_bytes()))];
        let id = PlanId::parse(SUBJECT).map_err(|error| usage_error(error.to_string()))?;
        let plan = PlanRef { id, path: APPROVERS.to_owned(), digest: plan_digest(&files) };
        let validity = DRAFT_TIME.min(approvers.validity);
        let purpose = format!("nonce of the key {}", key.id());
        let draft = draft_statement(host, &purpose, ApprovalScope::KeyEnrol, plan, validity)?;
        let bounds = params(candidate).into_iter().map(|(name, value)| (name, ParamBound::Is(value)));
        let params: BTreeMap<String, ParamBound> = bounds.collect();
        let workspace = Some(host.workspace().reference());
        Ok(Self {
            statement: ApprovalStatement { files, params, workspace, ..draft },
            approvers,
            before,
            after,
        })
    }
}

/// Returns the terms of a statement about a key, as its signer reads them.
fn params(candidate: KeyCandidate<'_>) -> JsonObject {
    let KeyCandidate { key, name } = candidate;
    let terms = [("name", name.to_owned()), ("key", key.text()), ("words", key.words())];
    terms.into_iter().map(|(term, text)| (term.to_owned(), Value::String(text))).collect()
}

fn level_of(key: &ApproverKey) -> RiskLevel {
    if key.is_passkey() { RiskLevel::Irreversible } else { RiskLevel::High }
}
