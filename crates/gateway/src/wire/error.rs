use serde_json::Value;

use super::error_body::read_error_json;
use crate::sse::SseError;

/// The reason why a reply cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// It is not JSON.
    #[error("the reply is not JSON: {0}")]
    Json(String),
    /// A field is missing.
    #[error("the reply lacks `{field}`")]
    Missing {
        /// The path of the field.
        field: String,
    },
    /// A field is of another kind.
    #[error("`{field}` of the reply is not {expected}")]
    Kind {
        /// The path of the field.
        field: String,
        expected: &'static str,
    },
    /// The provider reported an error within the reply.
    #[error("the provider reported an error in its reply: {message}")]
    Reported {
        /// The provider's word for it; empty: none.
        word: String,
        /// The provider's message.
        message: String,
    },
    /// The stream ended before the reply did.
    #[error("the stream ended before the reply was complete")]
    Cut,
    /// The stream is no stream of events.
    #[error(transparent)]
    Stream(#[from] SseError),
}

impl WireError {
    /// Takes an error that a provider reported in JSON.
    pub(super) fn reported(json: &Value) -> Self {
        let told = read_error_json(json);
        Self::Reported { word: told.word, message: told.message }
    }
}
