//! The rules after a failed call: its class, whether and when to call again, and the wait before.
//!
//! **Invariant:** pure; the time is passed in.

use crate::{
    sse::SseError,
    wire::{ProviderMessage, WireError},
};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};
use wf_base::{
    keywords,
    time::{Moment, parse_retry_after},
};

keywords! {
    /// The kind of a failure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CallFailureClass {
        /// The same call may succeed later.
        Transient = "transient",
        /// The same call fails again until something is changed.
        Permanent = "permanent",
    }
}

keywords! {
    /// The reason why a call failed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ModelFailureKind {
        /// Too many calls.
        RateLimited = "rate_limited",
        /// The provider has a failure of its own.
        Overloaded = "overloaded",
        /// The call took too long.
        TimedOut = "timed_out",
        /// The provider cannot be reached.
        Unreachable = "unreachable",
        /// The reply broke off.
        BrokenStream = "broken_stream",
        /// The model failed before, and is left alone for a while.
        LeftAlone = "left_alone",
        /// The provider refuses the request.
        Rejected = "rejected",
        /// The provider does not accept the key.
        Unauthorized = "unauthorized",
        /// The key may not do this.
        Forbidden = "forbidden",
        /// The account has no credit.
        NoCredit = "no_credit",
        /// There is no such model or address.
        NotFound = "not_found",
        /// The request is too large.
        RequestTooLarge = "request_too_large",
        /// The provider sends the request elsewhere.
        Redirected = "redirected",
        /// The reply is not in the wire format.
        BadReply = "bad_reply",
        /// The reply is too large.
        ReplyTooLarge = "reply_too_large",
        /// The model cannot be called as it is configured.
        Misconfigured = "misconfigured",
        /// The script has no reply to this.
        Unscripted = "unscripted",
        /// The cassette has no reply to this, or cannot take it.
        Unrecorded = "unrecorded",
    }
}

impl ModelFailureKind {
    pub fn class(self) -> CallFailureClass {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::TimedOut
            | Self::Unreachable
            | Self::BrokenStream
            | Self::LeftAlone => CallFailureClass::Transient,
            _ => CallFailureClass::Permanent,
        }
    }

    /// True if the conversation is too large: that is due to the work, whichever provider it goes to.
    pub fn is_size(self) -> bool {
        matches!(self, Self::RequestTooLarge | Self::ReplyTooLarge)
    }

    /// Returns the meaning and the remedy, as a sentence without its end; empty where the message says it.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::RateLimited => "too many calls; call less often, or ask the provider for a higher limit",
            Self::Overloaded => "the provider has a problem of its own; try again later",
            Self::Rejected => {
                "the provider does not accept this request; check the model's definition in wf.yaml"
            }
            Self::Unauthorized => "the provider does not accept the key; check `key` of the model in wf.yaml",
            Self::Forbidden => {
                "the key has no access to this model; ask the provider for it, or use another key"
            }
            Self::NoCredit => "the account has no credit left; add some at the provider",
            Self::NotFound => {
                "the provider has no such model or address; check `model` and `base_url` in wf.yaml"
            }
            Self::RequestTooLarge => {
                "the request is too large; let the agent read less, or use another model"
            }
            Self::BadReply => {
                "the reply is not in the format of `api`; check `api` and `base_url` in wf.yaml"
            }
            _ => "",
        }
    }
}

/// A failed call of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFailure {
    /// The reason.
    pub kind: ModelFailureKind,
    /// The reason in a sentence, with a remedy.
    pub message: String,
    /// The time after which the provider wants to be called again.
    pub retry_after: Option<Duration>,
}

impl ModelFailure {
    /// Makes the failure of a call under a useless configuration.
    pub fn misconfigured(reason: impl fmt::Display) -> Self {
        Self::new(ModelFailureKind::Misconfigured, reason.to_string())
    }

    /// Makes a failure with a remedy in its message.
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    /// Makes a failure from what happened; the remedy of its kind is added.
    pub(super) fn advised(kind: ModelFailureKind, event: &str) -> Self {
        let advice = kind.advice();
        let message = if advice.is_empty() { event.to_owned() } else { format!("{event}: {advice}") };
        Self::new(kind, message)
    }

    pub fn class(&self) -> CallFailureClass {
        self.kind.class()
    }
}

impl fmt::Display for ModelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelFailure {}

/// The parts of words for an overload of a provider, or a failure of its own.
const TRANSIENT_WORDS: [&str; 7] =
    ["overloaded", "server_error", "api_error", "timeout", "unavailable", "internal", "capacity"];

/// Classifies a reply with the status of an error. `retry_after` is its header of this name.
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

/// Returns the kind a word in a reply with status 200 means.
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

/// The number of calls after a failed one, and the delays before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryDelays {
    /// The maximum number of calls after the first.
    pub further: u32,
    /// The delay before the second call; each further one is twice as long.
    pub base: Duration,
    /// The longest delay that is not the provider's wish.
    pub cap: Duration,
    /// The longest delay a provider is granted.
    pub retry_after_cap: Duration,
}

impl Default for RetryDelays {
    fn default() -> Self {
        Self {
            further: 2,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(30),
            retry_after_cap: Duration::from_mins(1),
        }
    }
}

impl RetryDelays {
    /// Returns the delay before the next call, after `tries` calls of which the last failed so; `None`: there is no
    /// next call.
    pub fn before_next(&self, tries: u32, failure: &ModelFailure) -> Option<Duration> {
        if failure.class() == CallFailureClass::Permanent || tries > self.further {
            return None;
        }
        let doublings = tries.saturating_sub(1).min(31);
        let own = self.base.saturating_mul(1 << doublings).min(self.cap);
        let wish = failure.retry_after.unwrap_or_default().min(self.retry_after_cap);
        Some(own.max(wish))
    }
}

#[cfg(test)]
mod tests;
