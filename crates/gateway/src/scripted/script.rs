use std::time::Duration;

use wf_base::time::Moment;
use wf_core::agent::{Message, ModelReply, ModelRequest, StopReason, ToolCall};
use wf_model::TokenUsage;

use crate::{
    estimate::estimate_usage,
    retry::{ModelFailure, ModelFailureKind, classify_status},
    wire::ProviderMessage,
};

/// The replies of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelScript {
    /// The path of the file, for messages.
    pub path: String,
    /// The conversations; the first that fits is played.
    pub conversations: Vec<ScriptedConversation>,
}

/// The replies of a conversation, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedConversation {
    /// The text a message before the first reply must contain; `None`: it fits any.
    pub when: Option<String>,
    pub replies: Vec<ScriptedReply>,
}

/// A reply of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptedReply {
    pub text: String,
    /// The tools it calls, without the ids.
    pub tool_calls: Vec<ToolCall>,
    /// The tokens; `None`: estimated from the lengths.
    pub usage: Option<TokenUsage>,
    /// The reason for its end; `None`: it follows from the tool calls.
    pub stop: Option<StopReason>,
    /// The failure that happens instead of a reply.
    pub error: Option<ScriptedError>,
    /// The text the last message of the request must contain.
    pub expected: Option<String>,
}

/// A failure in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedError {
    /// The status of the provider.
    pub status: u16,
    /// The time after which it wants to be called again, in seconds.
    pub retry_after: Option<u64>,
}

/// The reason why a script cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Its file cannot be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// The path as written.
        path: String,
        reason: String,
    },
    /// Its text is wrong.
    #[error("{path}:{line}:{column}: {message}")]
    Text {
        /// The path as written.
        path: String,
        line: usize,
        column: usize,
        message: String,
    },
}

impl ModelScript {
    /// Returns the reply to a request: in the first fitting conversation, the one with the number of the
    /// replies so far. So a script has no state, and gives the same reply after a crash.
    pub fn reply(&self, request: &ModelRequest) -> Result<ModelReply, ModelFailure> {
        let unscripted = |message: String| ModelFailure::new(ModelFailureKind::Unscripted, message);
        let is_reply = |message: &&Message| matches!(message, Message::Assistant { .. });
        // A coding agent puts messages of its own before its instructions.
        let begin = request.messages.iter().take_while(|message| !is_reply(message)).map(message_text);
        let begin: Vec<String> = begin.collect();
        let fits = |listed_conversation: &&ScriptedConversation| {
            listed_conversation
                .when
                .as_ref()
                .is_none_or(|when| begin.iter().any(|text| text.contains(when.as_str())))
        };
        let Some(conversation) = self.conversations.iter().find(fits) else {
            let path = &self.path;
            return Err(unscripted(format!(
                "no conversation of {path} has a `when` that fits the first messages"
            )));
        };
        let replies = request.messages.iter().map(|message| match message {
            Message::Assistant { .. } => 1,
            Message::Omitted { turns } => *turns as usize,
            Message::User { .. } | Message::Tool { .. } => 0,
        });
        let before = replies.sum::<usize>();
        let Some(reply) = conversation.replies.get(before) else {
            let (path, count) = (&self.path, conversation.replies.len());
            let number = before + 1;
            let message =
                format!("{path} has {count} replies, and this is call {number} of the conversation: add one");
            return Err(unscripted(message));
        };
        if let Some(expected) = &reply.expected
            && !request.messages.last().map(message_text).unwrap_or_default().contains(expected.as_str())
        {
            let number = before + 1;
            return Err(unscripted(format!(
                "reply {number} of {} expects that the last message contains {expected:?}, and it does not",
                self.path
            )));
        }
        match reply.error {
            Some(error) => Err(error.failure()),
            None => Ok(reply.complete(before, request)),
        }
    }
}

impl ScriptedReply {
    /// Returns the reply with ids of its calls, and with the tokens.
    fn complete(&self, before: usize, request: &ModelRequest) -> ModelReply {
        let numbered = self
            .tool_calls
            .iter()
            .enumerate()
            .map(|(at, call)| ToolCall { id: format!("call_{}_{}", before + 1, at + 1), ..call.clone() });
        let default = if self.tool_calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
        let mut reply = ModelReply {
            text: self.text.clone(),
            tool_calls: numbered.collect(),
            stop: self.stop.unwrap_or(default),
            usage: TokenUsage::default(),
        };
        reply.usage = self.usage.unwrap_or_else(|| estimate_usage(request, &reply));
        reply
    }
}

impl ScriptedError {
    fn failure(self) -> ModelFailure {
        let provider_message = ProviderMessage { word: String::new(), message: "scripted".into() };
        let mut failure = classify_status(self.status, &provider_message, None, Moment::default());
        failure.retry_after = self.retry_after.map(Duration::from_secs);
        failure
    }
}

/// Returns the text of a message, with that of all results.
fn message_text(message: &Message) -> String {
    match message {
        Message::User { text } | Message::Assistant { text, .. } => text.clone(),
        Message::Omitted { turns } => Message::omission_text(*turns),
        Message::Tool { results } => {
            results.iter().map(|result| result.text.as_str()).collect::<Vec<_>>().join("\n")
        }
    }
}
