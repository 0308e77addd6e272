//! An answer to a request elsewhere, signed with a key of this user. The server drafts the statement, and records it if the signature
//! counts there.

use serde::Deserialize;
use serde_json::{Value, json};

use super::ServerClient;
use crate::{
    Caller, CliExitCode, CommandError,
    approve::{RemoteAnswer, SigningOptions, confirm},
    keys::{key_folder, open_key, require_signing_key},
};
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::AnswerOptions;
use wf_report::decision::signed_decision_text;
use wf_sign::{
    DsseEnvelope,
    approval::{ApprovalDecision, ApprovalStatement, PAYLOAD},
    canonical,
};

/// A request that waits at a server.
#[derive(Clone, Debug, Deserialize)]
pub struct ServerRequest {
    pub run: RunId,
    pub number: u32,
    /// The outermost run it belongs to.
    pub top: RunId,
    pub name: String,
    pub plan: String,
    pub message: String,
    pub is_question: bool,
    #[serde(default)]
    pub options: Option<AnswerOptions>,
    /// All that the decision covers, for people.
    #[serde(default)]
    pub text: Option<String>,
}

/// A statement that the server drafted.
#[derive(Deserialize)]
struct DraftedStatement {
    payload_type: String,
    payload: String,
    proposal: String,
}

/// The record of an answer.
#[derive(Deserialize)]
struct RecordedAnswer {
    text: String,
}

/// Shows a request and what is signed, asks, signs, and sends the answer; returns a sentence about the record.
pub fn sign_answer(
    caller: &dyn Caller,
    client: &ServerClient,
    request: &ServerRequest,
    answer: &RemoteAnswer,
    signing: &SigningOptions,
) -> Result<String, CommandError> {
    let place = format!("/requests/{}/{}", request.run, request.number);
    let folder = key_folder(caller.host())?;
    let key = require_signing_key(caller.host(), &folder, signing.key.as_deref())?;
    let draft: DraftedStatement = client.post(&format!("{place}/statement"), None, &json!(answer))?;
    let shown = shown_statement(&draft, request, answer).ok_or_else(|| {
        let message = "the server asks for a signature about something else: nothing was signed";
        CommandError::new(CliExitCode::Approval, message)
    })?;
    if let Some(text) = &request.text {
        caller.message(&format!("{text}\n"));
    }
    caller.message(&shown);
    let question = match (answer.yes, request.is_question) {
        (false, _) => "Deny?",
        (true, true) => "Answer?",
        (true, false) => "Approve?",
    };
    confirm(caller, signing.is_confirmed, question)?;
    let signer = open_key(caller, &folder, &key, signing.passphrase_file.as_deref())?;
    let envelope = DsseEnvelope::seal(&draft.payload_type, draft.payload.as_bytes(), &signer);
    let envelope = serde_json::to_value(&envelope)
        .map_err(|error| CommandError::new(CliExitCode::Bug, error.to_string()))?;
    let body = json!({"token": canonical(&envelope) + "\n"});
    let recorded: RecordedAnswer = client.post(&format!("{place}/answer"), None, &body)?;
    Ok(recorded.text)
}

/// Returns the text of what is signed, made from the very bytes; `None`: they are about another request, or say something else than
/// the answer.
fn shown_statement(
    draft: &DraftedStatement,
    request: &ServerRequest,
    answer: &RemoteAnswer,
) -> Option<String> {
    let statement: ApprovalStatement = serde_json::from_str(&draft.payload).ok()?;
    let subject = statement.request_ref.as_ref()?;
    let verdict = if answer.yes { ApprovalDecision::Approved } else { ApprovalDecision::Denied };
    let is_asked = draft.payload_type == PAYLOAD
        && statement.text() == draft.payload
        && statement.verdict == verdict
        && statement.reason == answer.reason
        && statement.run.as_ref() == Some(&request.run)
        && subject.number == request.number
        && subject.proposal == Sha256Digest::of_bytes(draft.proposal.as_bytes());
    let decision = signed_decision_text(&draft.payload, &draft.proposal).filter(|_| is_asked)?;
    let proposal: Value = serde_json::from_str(&draft.proposal).ok()?;
    Some(format!("what is signed:\n{proposal:#}\n{decision}"))
}
