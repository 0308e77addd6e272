//! The decisions of approvers: their signed answers, as far as they are recorded.
//!
//! A replay has nobody to ask. It may be given the answers of the run it repeats: its starter vouches for them.

use std::sync::Arc;

use wf_base::digest::Sha256Digest;
use wf_core::machine::{
    ApprovalOutcome, ApprovalRequest, ApprovalSigner, Artifact, InputKind, RequestDecision, TimerKind,
};
use wf_model::JsonObject;
use wf_sign::approval::{self, ApprovalContext, ApprovalScope, ApprovalToken, Quorum, QuorumState};
use wf_store::StoreError;

use crate::{run::RunContext, session::UnitResult};

pub(crate) async fn check_decision(run: Arc<RunContext>, request: Box<ApprovalRequest>) -> UnitResult {
    let looked = tokio::task::spawn_blocking(move || {
        let outcome = approval_outcome(&run, &request)?;
        Ok::<_, StoreError>(
            outcome.map(|outcome| InputKind::Answered { number: request.request, given: outcome }),
        )
    });
    match looked.await {
        Ok(answer) => Ok(answer?),
        Err(_) => Ok(None),
    }
}

/// Checks once more after the deadline: an answer given before it counts.
pub(crate) async fn check_decision_last(run: Arc<RunContext>, request: Box<ApprovalRequest>) -> UnitResult {
    let number = request.request;
    let decision = check_decision(run, request).await?;
    let timer = TimerKind::Ask { number };
    Ok(decision.or(Some(InputKind::Woke { timer })))
}

/// Returns the input following from answers to a request, as far as they count; `None`: not enough have answered.
pub(crate) async fn decide(
    run: Arc<RunContext>,
    request: Box<ApprovalRequest>,
    tokens: Vec<ApprovalToken>,
) -> UnitResult {
    let counted = tokio::task::spawn_blocking(move || {
        let outcome = outcome_of(&run, &request, &tokens)?;
        Ok::<_, StoreError>(outcome.map(|given| InputKind::Answered { number: request.request, given }))
    });
    match counted.await {
        Ok(answer) => Ok(answer?),
        Err(_) => Ok(None),
    }
}

/// Returns the approvers' decision on a request; `None`: not enough have answered.
fn approval_outcome(
    run: &RunContext,
    request: &ApprovalRequest,
) -> Result<Option<ApprovalOutcome>, StoreError> {
    let session = &run.session;
    if let Some(recorded) = session.shared.answers.get() {
        return Ok(recorded.answer(&run.run_ref, request));
    }
    let answers = session.store.reader()?.approvals().answers(&run.run_ref.id, request.request)?;
    if answers.is_empty() {
        return Ok(None);
    }
    let tokens = answers.iter();
    let tokens: Vec<ApprovalToken> =
        tokens.filter_map(|answer| ApprovalToken::parse(&answer.token).ok()).collect();
    outcome_of(run, request, &tokens)
}

/// Returns the decision on a request following from answers.
fn outcome_of(
    run: &RunContext,
    ask: &ApprovalRequest,
    tokens: &[ApprovalToken],
) -> Result<Option<ApprovalOutcome>, StoreError> {
    let session = &run.session;
    let evidence = evidence(run, ask);
    let approved = run.approved.as_ref();
    let plan = approved.map_or_else(|| Sha256Digest::of_bytes(b""), |approved| approved.plan_digest);
    let request = approval::ApprovalRequestRef {
        place: ask.task_id.as_ref().map(ToString::to_string),
        number: ask.request,
        proposal: approval::proposal(ask, &run.run_ref.id, plan, &evidence),
    };
    let row = session.store.reader()?.runs().get(&run.run_ref.id)?;
    let subject = ApprovalContext {
        scope: scope(ask),
        plan: &run.run_ref.plan,
        path: &row.path,
        files: &[],
        params: &JsonObject::new(),
        run: Some(&run.run_ref.id),
        request_ref: Some(&request),
        initiator: ask.barred(approved.and_then(|approved| approved.initiator)),
        spawned: None,
        now: session.clock.now(),
    };
    let approvers = session.approvers.approvers();
    let quorum = Quorum {
        approvers: &approvers,
        required: ask.required,
        until: ask.expires,
        names: &ask.approvers,
        options: ask.answer.as_ref(),
    };
    let (decided, _) = approval::decide(tokens, &subject, &quorum);
    Ok(answer(run, ask, decided, &evidence))
}

pub fn scope(request: &ApprovalRequest) -> ApprovalScope {
    match request.point {
        None => ApprovalScope::Step,
        Some(_) => ApprovalScope::Gate,
    }
}

/// Returns the files a request relies on, as they were when they were checked.
fn evidence(run: &RunContext, request: &ApprovalRequest) -> Vec<Artifact> {
    let places = run.tasks_with_evidence(request.covers_steps.iter());
    let files = places.iter().filter_map(|place| run.evidence_of(place));
    files.flatten().collect()
}

/// Returns the answer for the machine. The approved files must still be there.
fn answer(
    run: &RunContext,
    request: &ApprovalRequest,
    quorum: QuorumState,
    evidence: &[Artifact],
) -> Option<ApprovalOutcome> {
    match quorum {
        QuorumState::Open { .. } => None,
        QuorumState::Denied { by, token, reason } => Some(ApprovalOutcome {
            decision: RequestDecision::Denied,
            by: vec![by],
            tokens: vec![token],
            reason: reason.unwrap_or_default(),
            answer: None,
        }),
        QuorumState::Approved { by, tokens, texts, answer } => {
            let session = &run.session;
            let changed = wf_exec::evidence::first_stale(&session.root, evidence, &session.shared.memo, true);
            let (decision, reason) = match changed {
                None if request.is_question() => (RequestDecision::Answered, answers_text(&by, &texts)),
                None => (RequestDecision::Approved, String::new()),
                Some(path) => (RequestDecision::Void, format!("{path} changed after it was checked")),
            };
            let answer = answer.filter(|_| decision == RequestDecision::Approved);
            Some(ApprovalOutcome { decision, by, tokens, reason, answer })
        }
    }
}

/// Returns the answers of people to a question; of several, each with its name.
fn answers_text(signers: &[ApprovalSigner], texts: &[String]) -> String {
    match texts {
        [text] => text.clone(),
        texts => {
            let each = signers.iter().zip(texts).map(|(by, text)| format!("{}: {text}", by.name));
            each.collect::<Vec<_>>().join("\n")
        }
    }
}
