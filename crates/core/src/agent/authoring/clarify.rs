//! The knowledge of a perceiver beside the wish: the last wishes of the workspace, and the answers to its questions.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::super::{Message, ModelReply, ModelRequest};
use super::reply::sendable;

/// The number of rounds of questions (artoo v0.8, R1).
pub const MAX_CLARIFICATIONS: usize = 2;

/// The number of former wishes a perceiver is told.
pub const PAST_WISHES: usize = 5;

/// The maximum number of questions of a round.
pub(super) const MAX_QUESTIONS: usize = 5;

/// The maximum length of a question, in characters.
pub(super) const MAX_QUESTION: usize = 400;

/// The number of characters of a former wish, and of its summary, that are told.
const PAST_CHARS: usize = 400;

/// A former wish of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastWish {
    /// The words of the user.
    pub input: String,
    /// The result in a sentence.
    pub summary: String,
}

/// A question of a perceiver, and the answer of the user; empty: there was none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clarification {
    pub question: String,
    pub answer: String,
}

/// Returns the message to a perceiver: the former wishes, oldest first, and the wish.
pub(super) fn wish_message(wish: &str, past: &[PastWish]) -> String {
    if past.is_empty() {
        return wish.to_owned();
    }
    let past_wish: Vec<PastWish> =
        past.iter().map(|one| PastWish { input: cut(&one.input), summary: cut(&one.summary) }).collect();
    let past = serde_json::to_string_pretty(&past_wish).unwrap_or_default();
    format!("## Earlier wishes, oldest first\n\n{past}\n\n## The wish\n\n{wish}")
}

/// Appends the questions of a perceiver and the answers to them.
pub fn append_answers(request: &mut ModelRequest, reply: ModelReply, clarifications: &[Clarification]) {
    let mut text = String::new();
    if clarifications.iter().all(|one| one.answer.is_empty()) {
        text.push_str("The user gave no answer. Ask nothing more, assume nothing, and answer with the task.");
    } else {
        text.push_str("The user answered:\n");
        for Clarification { question, answer } in clarifications {
            let answer = if answer.is_empty() { "(no answer)" } else { answer };
            let _ = write!(text, "\n- {question}\n  {answer}");
        }
    }
    request.append_turn(sendable(reply), Vec::new(), None);
    request.messages.push(Message::User { text });
}

/// Returns a text in one line, cut to a number of characters.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    wf_base::units::fit(&line, PAST_CHARS)
}

impl ModelRequest {
    /// Returns the messages following those of an earlier request; all, if it does not continue that one.
    pub fn messages_after<'a>(&'a self, earlier: Option<&Self>) -> &'a [Message] {
        let continued = earlier.and_then(|earlier| self.messages.strip_prefix(earlier.messages.as_slice()));
        continued.unwrap_or(&self.messages)
    }
}
