use crate::sse::SseError;
use serde_json::Value;

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
    /// Takes an error a provider reported in JSON.
    pub(super) fn reported(json: &Value) -> Self {
        let provider_message = read_error_json(json);
        Self::Reported { word: provider_message.word, message: provider_message.message }
    }
}

/// The longest message of a provider that is kept, in characters.
const MAX_CHARS: usize = 300;

/// An error as a provider describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderMessage {
    /// The provider's word for it; empty: none.
    pub word: String,
    /// The message, on one line; empty: none.
    pub message: String,
}

/// Reads the body of a reply with the status of an error, in any of the usual forms. A body other than JSON, such as the
/// page of a proxy, is cut to a short message.
pub fn read_error_body(body: &[u8]) -> ProviderMessage {
    match serde_json::from_slice::<Value>(body) {
        Ok(json) => read_error_json(&json),
        Err(_) => ProviderMessage { word: String::new(), message: shorten(&String::from_utf8_lossy(body)) },
    }
}

/// Reads an error in JSON: the object itself, or the one in its field `error`.
pub(super) fn read_error_json(json: &Value) -> ProviderMessage {
    let inner = json.get("error").filter(|error| !error.is_null()).unwrap_or(json);
    if let Value::String(message) = inner {
        return ProviderMessage { word: String::new(), message: shorten(message) };
    }
    // The code is the more exact word, if a provider gives both: `insufficient_quota`.
    let word = ["code", "type"].iter().find_map(|key| match inner.get(key)? {
        Value::String(word) if word != "error" => Some(word.clone()),
        Value::Number(code) => Some(code.to_string()),
        _ => None,
    });
    let message = ["message", "detail", "msg"].iter().find_map(|key| inner.get(key)?.as_str());
    let message = message.map_or_else(|| inner.to_string(), str::to_owned);
    ProviderMessage { word: word.unwrap_or_default(), message: shorten(&message) }
}

/// Returns a text as one line of bounded length, without control characters.
fn shorten(text: &str) -> String {
    let clean = |word: &str| word.chars().filter(|c| !c.is_control()).collect::<String>();
    // Enough words for the longest message, so that a huge body takes no time.
    let words: Vec<String> = text.split_whitespace().take(MAX_CHARS).map(clean).collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
