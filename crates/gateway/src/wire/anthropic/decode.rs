use serde_json::Value;
use wf_core::agent::{ModelReply, StopReason, ToolCall};
use wf_model::TokenUsage;

use crate::{
    field::{FieldError, JsonField},
    wire::{
        WireError,
        format::{ReplyDraft, ReplyField},
    },
};

/// Reads a complete reply.
pub fn decode(json: &Value) -> Result<ModelReply, WireError> {
    let reply = ReplyField::root(json);
    let mut draft = ReplyDraft { usage: read_usage(&reply.need("usage")?)?, ..ReplyDraft::default() };
    for block in reply.need("content")?.items()? {
        match block.need_text("type")? {
            "text" => draft.text.push_str(block.need_text("text")?),
            "tool_use" => draft.tool_calls.push(read_call(&block)?),
            _ => {}
        }
    }
    Ok(draft.finish(stop_reason(reply.need_text("stop_reason")?)))
}

/// Reads a whole call of a tool, of a reply or of a conversation.
pub(crate) fn read_call<E: FieldError>(block: &JsonField<'_, E>) -> Result<ToolCall, E> {
    Ok(ToolCall {
        id: block.need_text("id")?.to_owned(),
        tool: block.need_text("name")?.to_owned(),
        arguments: block.need("input")?.json().to_string(),
    })
}

/// Returns the meaning of a `stop_reason`, if the content does not give it.
pub(super) fn stop_reason(word: &str) -> Option<StopReason> {
    match word {
        "max_tokens" | "model_context_window_exceeded" => Some(StopReason::MaxTokens),
        "refusal" => Some(StopReason::Refusal),
        _ => None,
    }
}

fn read_usage(usage: &ReplyField<'_>) -> Result<TokenUsage, WireError> {
    usage.need("input_tokens")?;
    usage.need("output_tokens")?;
    let mut counts = AnthropicUsage::default();
    counts.update(usage)?;
    Ok(counts.total())
}

/// The tokens of a reply, as this provider counts them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnthropicUsage {
    input: u64,
    cache_read: u64,
    cache_written: u64,
    output: u64,
}

impl AnthropicUsage {
    /// Takes the counts that are there. Each is a total, and replaces the one before.
    pub(super) fn update(&mut self, usage: &ReplyField<'_>) -> Result<(), WireError> {
        for (key, count) in [
            ("input_tokens", &mut self.input),
            ("cache_read_input_tokens", &mut self.cache_read),
            ("cache_creation_input_tokens", &mut self.cache_written),
            ("output_tokens", &mut self.output),
        ] {
            if let Some(field) = usage.get(key) {
                *count = field.count()?;
            }
        }
        Ok(())
    }

    pub(super) fn total(self) -> TokenUsage {
        let input = self.input.saturating_add(self.cache_read).saturating_add(self.cache_written);
        TokenUsage {
            input,
            cached_input: self.cache_read,
            cache_write: self.cache_written,
            output: self.output,
        }
    }
}
