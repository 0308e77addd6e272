use serde_json::Value;

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

/// Reads the body of a reply whose status is an error, in any of the usual forms. A body that is no JSON, such as the
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
