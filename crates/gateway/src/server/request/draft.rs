use wf_core::agent::{Message, ToolCall, ToolResult};

/// A conversation that is being read.
#[derive(Debug, Default)]
pub(super) struct ConversationDraft {
    /// The texts of the system prompt.
    pub(super) system: Vec<String>,
    messages: Vec<Message>,
}

impl ConversationDraft {
    /// Adds texts of the user, each as a message.
    pub(super) fn ask(&mut self, texts: Vec<String>) {
        self.messages.extend(texts.into_iter().map(|text| Message::User { text }));
    }

    /// Adds a text of the model. A reply that has made calls takes it, since results must follow calls. An empty text
    /// is left out: providers refuse it.
    pub(super) fn say(&mut self, more: &str) {
        match self.messages.last_mut() {
            _ if more.is_empty() => {}
            Some(Message::Assistant { text, tool_calls }) if !tool_calls.is_empty() => text.push_str(more),
            _ => self.messages.push(Message::Assistant { text: more.to_owned(), tool_calls: Vec::new() }),
        }
    }

    /// Adds a call to the model's reply.
    pub(super) fn call(&mut self, call: ToolCall) {
        match self.messages.last_mut() {
            Some(Message::Assistant { tool_calls, .. }) => tool_calls.push(call),
            _ => self.messages.push(Message::Assistant { text: String::new(), tool_calls: vec![call] }),
        }
    }

    /// Adds the result of a call.
    pub(super) fn answer(&mut self, result: ToolResult) {
        match self.messages.last_mut() {
            Some(Message::Tool { results }) => results.push(result),
            _ => self.messages.push(Message::Tool { results: vec![result] }),
        }
    }

    pub(super) fn finish(self) -> Vec<Message> {
        self.messages
    }
}
