use wf_core::agent::{ModelReply, StopReason, ToolCall};
use wf_model::TokenUsage;

use super::decode::{read_usage, stop_reason};
use crate::{
    sse::SseEvent,
    wire::{
        ReplyStream, WireError,
        format::{ReplyDraft, ReplyField, parse_json},
    },
};

/// The maximum number of tool calls of a reply. Each part of a call is looked for among them.
const MAX_CALLS: usize = 1_000;

/// A streamed reply of OpenAI Chat Completions.
#[derive(Debug, Default)]
pub struct ChatStream {
    draft: ReplyDraft,
    /// The calls and their indexes, the provider's.
    calls: Vec<ChatToolCall>,
    refused: bool,
    stop: Option<String>,
    is_done: bool,
    generated: usize,
}

/// A tool call that grows.
#[derive(Debug)]
struct ChatToolCall {
    index: Option<u64>,
    call: ToolCall,
}

impl ReplyStream for ChatStream {
    fn take(&mut self, event: &SseEvent) -> Result<(), WireError> {
        if event.data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        let json = parse_json(&event.data)?;
        let chunk = ReplyField::root(&json);
        if chunk.get("error").is_some() {
            return Err(WireError::reported(&json));
        }
        if let Some(usage) = chunk.get("usage") {
            self.draft.usage = read_usage(&usage)?;
        }
        // The last chunk, which has the usage, has no choice.
        for choice in chunk.items_or_none("choices")?.into_iter().take(1) {
            if let Some(stop) = choice.get("finish_reason") {
                self.stop = Some(stop.text()?.to_owned());
            }
            if let Some(delta) = choice.get("delta") {
                self.grow(&delta)?;
            }
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn counted(&self) -> TokenUsage {
        self.draft.usage
    }

    fn generated(&self) -> usize {
        self.generated
    }

    fn finish(mut self: Box<Self>) -> Result<ModelReply, WireError> {
        let stop = self.stop.ok_or(WireError::Cut)?;
        for (at, ChatToolCall { call, .. }) in self.calls.into_iter().enumerate() {
            for (name, text) in [("id", &call.id), ("function.name", &call.tool)] {
                if text.is_empty() {
                    return Err(WireError::Missing { field: format!("tool_calls[{at}].{name}") });
                }
            }
            self.draft.tool_calls.push(call);
        }
        let stop = if self.refused { Some(StopReason::Refusal) } else { stop_reason(&stop) };
        Ok(self.draft.finish(stop))
    }
}

impl ChatStream {
    fn grow(&mut self, delta: &ReplyField<'_>) -> Result<(), WireError> {
        let content = delta.text_or_empty("content")?;
        let refusal = delta.text_or_empty("refusal")?;
        // Thinking, as some compatible servers send it, is billed, too.
        let thought = delta.get("reasoning_content").and_then(|field| field.text().ok()).unwrap_or_default();
        self.generated += content.len() + refusal.len() + thought.len();
        self.draft.text.push_str(content);
        self.draft.text.push_str(refusal);
        self.refused |= !refusal.is_empty();
        for part in delta.items_or_none("tool_calls")? {
            self.grow_call(&part)?;
        }
        Ok(())
    }

    fn grow_call(&mut self, part: &ReplyField<'_>) -> Result<(), WireError> {
        let index = part.count_or_none("index")?;
        let id = part.text_or_empty("id")?;
        let position = match index {
            Some(_) => self.calls.iter().position(|earlier| earlier.index == index),
            // A server without indexes sends each call at once, or names it again.
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => self.calls.iter().position(|chat_tool_call| chat_tool_call.call.id == id),
        };
        if position.is_none() && self.calls.len() == MAX_CALLS {
            return Err(WireError::Kind { field: "tool_calls".into(), expected: "a list of at most 1000" });
        }
        let number = position.unwrap_or_else(|| {
            let call = ToolCall { id: String::new(), tool: String::new(), arguments: String::new() };
            self.calls.push(ChatToolCall { index, call });
            self.calls.len() - 1
        });
        let Some(ChatToolCall { call, .. }) = self.calls.get_mut(number) else {
            return Ok(());
        };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if let Some(function) = part.get("function") {
            let name = function.text_or_empty("name")?;
            if call.tool.is_empty() {
                name.clone_into(&mut call.tool);
            }
            let arguments = function.text_or_empty("arguments")?;
            self.generated += arguments.len();
            call.arguments.push_str(arguments);
        }
        Ok(())
    }
}
