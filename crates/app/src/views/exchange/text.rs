//! The texts of a conversation, each up to a limit.

use serde::Serialize;

use super::page::ExchangeScope;
use wf_base::{digest::Sha256Digest, units};
use wf_core::agent::{Message, ModelRequest};

/// The longest text that a page shows whole, in bytes.
const MAX_TEXT: usize = 20_000;

/// The most tools of a briefing.
const MAX_TOOLS: usize = 100;

/// A text, or its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ExchangeText {
    pub text: String,
    /// The size of the whole text, if its end is left out.
    pub cut: Option<String>,
}

/// The text and the tools that an agent begins with.
#[derive(Debug, Default, Serialize)]
pub struct ExchangeBriefing {
    pub system: ExchangeText,
    /// The messages before its first turn.
    pub messages: Vec<ExchangeText>,
    pub tools: Vec<BriefedTool>,
    /// The reason why it cannot be read.
    pub problem: Option<String>,
}

/// A tool, as a model is told of it.
#[derive(Debug, Serialize)]
pub struct BriefedTool {
    pub name: String,
    pub description: String,
}

impl ExchangeText {
    /// Returns the beginning of a text.
    pub(super) fn new(mut text: String) -> Self {
        let cut = (text.len() > MAX_TEXT).then(|| units::size(text.len() as u64));
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        Self { text, cut }
    }

    pub(super) fn size(&self) -> usize {
        self.text.len()
    }
}

impl ExchangeBriefing {
    /// Returns what the first request has. A program of its own gets it as one text.
    pub(super) fn read(scope: &ExchangeScope<'_>, digest: &Sha256Digest) -> Self {
        let request: ModelRequest = match scope.body(digest) {
            Ok(request) => request,
            Err(problem) => return Self { problem: Some(problem), ..Self::default() },
        };
        let told = request.messages.into_iter().filter_map(|message| match message {
            Message::User { text } => Some(ExchangeText::new(text)),
            Message::Assistant { .. } | Message::Tool { .. } | Message::Omitted { .. } => None,
        });
        let tools = request.tools.into_iter().take(MAX_TOOLS).map(|tool| BriefedTool {
            name: tool.name,
            description: ExchangeText::new(tool.description).text,
        });
        Self {
            system: ExchangeText::new(request.system),
            messages: told.collect(),
            tools: tools.collect(),
            problem: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ExchangeText, MAX_TEXT};

    #[test]
    fn a_long_text_says_that_it_is_cut() {
        let whole = ExchangeText::new("é".repeat(MAX_TEXT / 2));
        assert_eq!((whole.size(), whole.cut), (MAX_TEXT, None));
        let cut = ExchangeText::new(format!("a{}", "é".repeat(MAX_TEXT)));
        assert_eq!((cut.size(), cut.cut.as_deref()), (MAX_TEXT - 1, Some("39.0 KiB")));
    }
}
