//! Answers to requests signed elsewhere: by a key this machine does not have.
//!
//! A draft is the text to sign. It is kept nowhere: its signed form is compared with the request anew, as any
//! other answer is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    answer::{AnswerRequest, AnswerReview},
    form::AnswerForm,
    questions::approval_requests,
};
use crate::{
    Caller, CliExitCode, CommandError,
    approve::{rules::SigningRules, signing::SigningOptions},
    runs::lineage::outermost_run,
};
use wf_base::{
    digest::Sha256Digest,
    name::RunId,
    remedy::{RequestAnswerForm, UserAction},
};
use wf_core::{
    machine::{AnswerOptions, TypedAnswer},
    risk::{ActionRisk, RiskLevel},
};
use wf_sign::approval::{ApprovalDecision, ApprovalToken, PAYLOAD, QuorumState};
use wf_store::StoreReader;

/// The name of a request: its run, and its number there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestName {
    pub run: RunId,
    /// Its number in that run.
    pub number: u32,
}

/// An answer before its signature.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Answer")]
pub struct RemoteAnswer {
    /// True for a yes and for the answer to a question.
    pub yes: bool,
    /// The reason; for a question, the answer.
    #[serde(default)]
    pub reason: Option<String>,
    /// The chosen word.
    #[serde(default)]
    pub choice: Option<String>,
    /// The text in place of the shown one.
    #[serde(default)]
    pub text: Option<String>,
    /// The positions of the selected entries, from 1.
    #[serde(default)]
    pub selected: Option<Vec<u32>>,
}

/// A text to sign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AnswerDraft {
    /// The type of the statement in its envelope.
    pub payload_type: &'static str,
    /// The statement, in its only form.
    pub payload: String,
    /// The text whose digest the statement has as its proposal: the request, its run, its plan and the files the
    /// answer covers.
    pub proposal: String,
}

impl RemoteAnswer {
    /// Returns the answer beyond yes; a text that is the draft itself is a plain yes.
    fn typed(&self, options: Option<&AnswerOptions>) -> Option<TypedAnswer> {
        let is_draft =
            |text: &String| matches!(options, Some(AnswerOptions::Edit { text: draft, .. }) if draft == text);
        let choice = self.choice.clone().map(TypedAnswer::Choice);
        let text = || self.text.clone().filter(|text| !is_draft(text)).map(TypedAnswer::Text);
        choice.or_else(text).or_else(|| self.selected.clone().map(TypedAnswer::Selected))
    }
}

/// Drafts an answer to a request.
pub fn draft_answer(
    caller: &dyn Caller,
    name: &RequestName,
    answer: &RemoteAnswer,
) -> Result<AnswerDraft, CommandError> {
    with_review(caller, name, answer, |review, request| {
        let statement = review.draft(caller, request)?;
        let proposal = review.proposal_text();
        Ok(AnswerDraft { payload_type: PAYLOAD, payload: statement.text(), proposal })
    })
}

/// A recorded answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmittedAnswer {
    /// The state of the request with all answers.
    pub state: QuorumState,
    /// The outermost run it belongs to.
    pub outermost: RunId,
}

/// Records a signed answer to a request: the engine working on the run continues by it.
pub fn submit_answer(
    caller: &dyn Caller,
    name: &RequestName,
    token: &str,
) -> Result<SubmittedAnswer, CommandError> {
    let token = ApprovalToken::parse(token).map_err(|refusal| {
        CommandError::new(CliExitCode::Approval, refusal.to_string()).hint(refusal.remedy())
    })?;
    let statement = token.statement();
    let mut answer = RemoteAnswer {
        yes: statement.verdict == ApprovalDecision::Approved,
        reason: statement.reason.clone(),
        choice: None,
        text: None,
        selected: None,
    };
    match statement.answer.clone() {
        Some(TypedAnswer::Choice(word)) => answer.choice = Some(word),
        Some(TypedAnswer::Text(text)) => answer.text = Some(text),
        Some(TypedAnswer::Selected(positions)) => answer.selected = Some(positions),
        None => {}
    }
    with_review(caller, name, &answer, |review, request| {
        let is_irreversible = |risk: &ActionRisk| risk.level == RiskLevel::Irreversible;
        let risk = review.request.request.risk_of_approval();
        if answer.yes && risk.is_some_and(is_irreversible) && !is_by_passkey(caller, &token)? {
            let message = "what cannot be taken back is approved with a passkey, not with any other key";
            let (step, form) = (request.step.map(str::to_owned), RequestAnswerForm::Approval);
            let action = UserAction::AnswerRequest { run: request.run.clone(), step, form };
            return Err(CommandError::new(CliExitCode::Approval, message)
                .remedy("make one on /keys, or in the workspace: ", action));
        }
        let state = review.submit(caller, &token)?;
        Ok(SubmittedAnswer { state, outermost: review.outermost.clone() })
    })
}

/// True if the keys a token names are passkeys of approvers. Its signatures are verified when it is recorded.
pub(crate) fn is_by_passkey(caller: &dyn Caller, token: &ApprovalToken) -> Result<bool, CommandError> {
    let approvers = SigningRules::of(caller, &caller.host().workspace())?.approvers;
    let key_of = |id: Option<Sha256Digest>| id.and_then(|id| approvers.find(id));
    Ok(token.signers().all(|id| key_of(id).is_some_and(|approver| approver.public.is_passkey())))
}

/// Finds a pending request, and refuses an invalid answer.
fn with_review<T>(
    caller: &dyn Caller,
    name: &RequestName,
    answer: &RemoteAnswer,
    act: impl FnOnce(&AnswerReview, &AnswerRequest<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let host = caller.host();
    let reader = StoreReader::from_whole_log(&host.workspace().state)?;
    let top = outermost_run(&reader, &name.run)?;
    let is_named = |run: &RunId, number: u32| *run == name.run && number == name.number;
    let requests = approval_requests(&reader, &top)?;
    let matching = requests.into_iter().find(|request| is_named(&request.run, request.request.request));
    let Some(approval_request) = matching.filter(|request| request.outcome.is_none()) else {
        let message =
            format!("request {} of run {} does not wait for an answer", name.number, name.run.short());
        return Err(
            CommandError::new(CliExitCode::Usage, message).hint("it was answered, or its time is over")
        );
    };
    let step = approval_request.name();
    let form = match (answer.yes, approval_request.request.is_question()) {
        (false, _) => AnswerForm::Denial,
        (true, true) => AnswerForm::Text,
        (true, false) => AnswerForm::Approval,
    };
    let typed = |options: Option<&AnswerOptions>| Ok(answer.typed(options));
    let signing = SigningOptions::default();
    let (reason, step) =
        (answer.reason.as_ref(), Some(step.as_str()).filter(|_| !approval_request.path.is_empty()));
    let request = AnswerRequest { run: &top, step, form, reason, typed: &typed, signing: &signing };
    let review = AnswerReview::of(host, &request)?;
    if !is_named(&review.request.run, review.request.request.request) {
        let message = format!("`{}` waits for several answers at once", review.request.name());
        return Err(CommandError::new(CliExitCode::Usage, message).hint("answer the others first"));
    }
    act(&review, &request)
}
