use std::{
    fmt::{self, Write as _},
    path::PathBuf,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{AgentCalls, ModelCallRecord, ToolCallRecord};
use wf_base::{
    digest::Sha256Digest,
    untrusted::{BAD, DIM, NAME, paint, untrusted},
};
use wf_core::{
    agent::{ContextCut, Message, ModelReply, ModelRequest, ToolResult},
    machine::{Attempt, CallEffort, ModelCallOutcome},
};
use wf_store::StoreError;

/// A reader of stored bodies.
pub type BodyReader<'a> = &'a dyn Fn(&Sha256Digest) -> Result<Value, CallBodyError>;

/// The reason why a part of a call cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CallBodyError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file of a body has no JSON.
    #[error("{}: {cause}", .path.display())]
    NotJson { path: PathBuf, cause: serde_json::Error },
    /// A body is of another kind.
    #[error(transparent)]
    OtherKind(#[from] serde_json::Error),
    #[error("{attempt} has no call {number}")]
    NoCall { attempt: Attempt, number: usize },
    /// The model did not reply; the text is the recorded reason.
    #[error("{0}")]
    NoReply(String),
}

/// Returns the exchange of an agent with its model and its tools, as a person reads it.
pub fn exchange_text(calls: &AgentCalls, bodies: BodyReader<'_>) -> String {
    let mut text = format!("{}\n", paint(NAME, &untrusted(&calls.summary()).to_string()));
    match read_body::<ModelRequest>(bodies, &calls.request) {
        Ok(request) => {
            section(&mut text, "system", &request.system);
            for message in &request.messages {
                if let Message::User { text: told } = message {
                    section(&mut text, "user", told);
                }
            }
        }
        Err(error) => problem(&mut text, error),
    }
    let mut context = ContextCut::default();
    for (number, call) in (1_usize..).zip(&calls.calls) {
        if call.context != context {
            context = call.context.clone();
            section(&mut text, "context", &context.to_string());
        }
        if let Some(mistake) = &call.repairs {
            section(&mut text, "user", mistake);
        }
        if let Some(added) = &call.supplement.context {
            match read_body::<String>(bodies, &added.text) {
                Ok(added) => section(&mut text, "context of gates", &added),
                Err(error) => problem(&mut text, error),
            }
        }
        model_call(&mut text, &format!("{}.{number}", calls.attempt), call, bodies);
    }
    text
}

fn model_call(text: &mut String, address: &str, call: &ModelCallRecord, bodies: BodyReader<'_>) {
    let Some(end) = &call.end else {
        return section(text, &format!("call {address}"), "under way");
    };
    let CallEffort { usage, cost, duration_ms, .. } = &end.effort;
    let cost = if cost.is_zero() { String::new() } else { format!(", {cost}") };
    let about = format!("{} + {} tokens{cost}, {duration_ms} ms", usage.input, usage.output);
    let reply = match &end.outcome {
        ModelCallOutcome::Replied { reply, .. } if let Some(gate) = &end.answered_by => {
            section(text, &format!("call {address} · answered by gate `{gate}`, not made"), "");
            read_body::<ModelReply>(bodies, reply)
        }
        ModelCallOutcome::Replied { model, reply, .. } => {
            section(text, &format!("call {address} · {model} · {about}"), "");
            read_body::<ModelReply>(bodies, reply)
        }
        ModelCallOutcome::Failed { reason, .. } => {
            section(text, &format!("call {address} · failed"), "");
            Err(CallBodyError::NoReply(reason.clone()))
        }
        ModelCallOutcome::Stopped => return section(text, &format!("call {address}"), "stopped"),
    };
    match reply {
        Ok(reply) => {
            block(text, &reply.text);
            for (number, (asked, tool)) in (1_usize..).zip(reply.tool_calls.iter().zip(&call.tools)) {
                let heading = format!("{address}.{number} {} {}", asked.tool, asked.arguments);
                section(text, &heading, &result_text(tool, bodies));
            }
        }
        Err(error) => problem(text, error),
    }
}

/// Returns the result of a tool call, or the reason why there is none.
pub(super) fn result_text(tool: &ToolCallRecord, bodies: BodyReader<'_>) -> String {
    if let Some(reason) = &tool.refused {
        return format!("refused: {reason}");
    }
    match &tool.result {
        None => "under way".into(),
        Some(digest) => match read_body::<ToolResult>(bodies, digest) {
            Ok(result) if result.is_error => format!("failed: {}", result.text),
            Ok(result) => result.text,
            Err(error) => error.to_string(),
        },
    }
}

pub(super) fn read_body<T: DeserializeOwned>(
    bodies: BodyReader<'_>,
    digest: &Sha256Digest,
) -> Result<T, CallBodyError> {
    Ok(serde_json::from_value(bodies(digest)?)?)
}

pub(super) fn section(text: &mut String, heading: &str, content: &str) {
    let _ = writeln!(text, "\n{}", paint(DIM, &untrusted(heading).to_string()));
    block(text, content);
}

pub(super) fn block(text: &mut String, content: &str) {
    if !content.trim().is_empty() {
        let _ = writeln!(text, "{}", untrusted(content.trim_end()).block());
    }
}

pub(super) fn problem(text: &mut String, reason: impl fmt::Display) {
    let _ = writeln!(text, "{}", paint(BAD, &untrusted(&reason.to_string()).to_string()));
}
