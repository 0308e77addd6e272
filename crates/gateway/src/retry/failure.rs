use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wf_base::keywords;

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
    /// Makes a failure whose message says what to do.
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
