use std::borrow::Cow;

use super::{ContextCut, size::is_maskable};
use crate::agent::{Message, ModelRequest, ToolCall, ToolResult, estimate_tokens};

/// The maximum number of characters of a tool's name in a mask: a model may write any.
const NAME_CHARS: usize = 64;

impl ModelRequest {
    /// Returns the request as it is sent after a cut.
    pub fn after_cut(&self, cut: &ContextCut) -> Cow<'_, Self> {
        if cut.is_none() {
            return Cow::Borrowed(self);
        }
        let mut messages = Vec::new();
        let mut turn = 0;
        let mut calls: &[ToolCall] = &[];
        for message in &self.messages {
            if let Message::Assistant { tool_calls, .. } = message {
                turn += 1;
                calls = tool_calls;
                if cut.omits(turn) {
                    omit_turn(&mut messages);
                }
            }
            match message {
                _ if turn > 0 && cut.omits(turn) => {}
                Message::Tool { results } if turn <= cut.masked_turns => {
                    let results = results.iter().map(|result| masked(calls, result)).collect();
                    messages.push(Message::Tool { results });
                }
                message => messages.push(message.clone()),
            }
        }
        let Self { system, messages: _, tools, answer_schema, max_output, temperature } = self;
        Cow::Owned(Self {
            system: system.clone(),
            messages,
            tools: tools.clone(),
            answer_schema: answer_schema.clone(),
            max_output: *max_output,
            temperature: *temperature,
        })
    }
}

impl Message {
    /// Returns the text the model gets in place of omitted turns.
    pub fn omission_text(turns: u32) -> String {
        format!(
            "[Turns of this conversation were left out here to save space: {turns}. What they changed in the workspace \
             is there; call a tool again to see its result.]"
        )
    }
}

/// Puts the message in place of an omitted turn, one for all in a row.
fn omit_turn(messages: &mut Vec<Message>) {
    match messages.last_mut() {
        Some(Message::Omitted { turns }) => *turns += 1,
        _ => messages.push(Message::Omitted { turns: 1 }),
    }
}

/// Returns a result as it is sent once it is old.
fn masked(calls: &[ToolCall], result: &ToolResult) -> ToolResult {
    let tokens = estimate_tokens(&result.text);
    if !is_maskable(tokens) {
        return result.clone();
    }
    let call = calls.iter().find(|call| call.id == result.id);
    let tool: String = call.map_or("a tool", |call| call.tool.as_str()).chars().take(NAME_CHARS).collect();
    let outcome = if result.is_error { "FAILED" } else { "SUCCEEDED" };
    let text = format!(
        "[Result of {tool} ({outcome}) — {tokens} tokens — left out to save space; call the tool again to see it]"
    );
    ToolResult { id: result.id.clone(), text, is_error: result.is_error }
}
