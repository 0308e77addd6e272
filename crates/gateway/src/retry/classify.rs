use wf_base::time::{Moment, parse_retry_after};

use super::{ModelFailure, ModelFailureKind};
use crate::sse::SseError;
use crate::wire::{ProviderMessage, WireError};

/// The parts of words with which providers report that they are overloaded, or have a failure of their own.
const TRANSIENT_WORDS: [&str; 7] =
    ["overloaded", "server_error", "api_error", "timeout", "unavailable", "internal", "capacity"];

/// Classifies a reply whose status is an error. `retry_after` is its header of that name.
pub fn classify_status(
    status: u16,
    message: &ProviderMessage,
    retry_after: Option<&str>,
    now: Moment,
) -> ModelFailure {
    let kind = match status {
        _ if is_out_of_credit(&message.word) => ModelFailureKind::NoCredit,
        // Some proxies pass on an exhausted limit with another status.
        _ if message.word.contains("rate_limit") => ModelFailureKind::RateLimited,
        _ => kind_of_status(status),
    };
    let event = if message.message.is_empty() {
        format!("the provider replied with status {status}")
    } else {
        format!("the provider replied with status {status} (\"{}\")", message.message)
    };
    let mut failure = ModelFailure::advised(kind, &event);
    failure.retry_after = retry_after.and_then(|text| parse_retry_after(text, now));
    failure
}

/// Classifies a reply that cannot be used.
pub fn classify_wire(error: &WireError) -> ModelFailure {
    match error {
        WireError::Reported { word, message } => {
            let event = format!("the provider reported an error in its reply (\"{message}\")");
            ModelFailure::advised(kind_of_word(word), &event)
        }
        WireError::Cut => ModelFailure::new(ModelFailureKind::BrokenStream, error.to_string()),
        WireError::Stream(SseError::TooLarge { .. }) => {
            ModelFailure::new(ModelFailureKind::ReplyTooLarge, error.to_string())
        }
        _ => ModelFailure::advised(ModelFailureKind::BadReply, &error.to_string()),
    }
}

fn kind_of_status(status: u16) -> ModelFailureKind {
    match status {
        401 => ModelFailureKind::Unauthorized,
        402 => ModelFailureKind::NoCredit,
        403 => ModelFailureKind::Forbidden,
        404 => ModelFailureKind::NotFound,
        408 | 504 => ModelFailureKind::TimedOut,
        409 | 425 | 500..=599 => ModelFailureKind::Overloaded,
        413 => ModelFailureKind::RequestTooLarge,
        429 => ModelFailureKind::RateLimited,
        _ => ModelFailureKind::Rejected,
    }
}

/// Returns the kind that a word in a reply with status 200 means.
fn kind_of_word(word: &str) -> ModelFailureKind {
    if let Ok(status) = word.parse::<u16>() {
        return kind_of_status(status);
    }
    if is_out_of_credit(word) {
        ModelFailureKind::NoCredit
    } else if word.contains("rate_limit") {
        ModelFailureKind::RateLimited
    } else if word.is_empty() || TRANSIENT_WORDS.iter().any(|part| word.contains(part)) {
        // Once a reply has begun, the request was accepted: an error without a name is the provider's.
        ModelFailureKind::Overloaded
    } else {
        ModelFailureKind::Rejected
    }
}

fn is_out_of_credit(word: &str) -> bool {
    ["insufficient_quota", "billing", "credit"].iter().any(|part| word.contains(part))
}
