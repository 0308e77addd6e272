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
    if reply.get("error").is_some() {
        return Err(WireError::reported(json));
    }
    let choices = reply.need("choices")?.items()?;
    let first = choices.first().ok_or_else(|| WireError::Missing { field: "choices[0]".into() })?;
    let message = first.need("message")?;
    let mut draft = ReplyDraft::default();
    if let Some(usage) = reply.get("usage") {
        draft.usage = read_usage(&usage)?;
    }
    draft.text.push_str(message.text_or_empty("content")?);
    for call in message.items_or_none("tool_calls")? {
        draft.tool_calls.push(read_call(&call)?);
    }
    let mut stop = stop_reason(first.need_text("finish_reason")?);
    let refusal = message.text_or_empty("refusal")?;
    if !refusal.is_empty() {
        draft.text.push_str(refusal);
        stop = Some(StopReason::Refusal);
    }
    Ok(draft.finish(stop))
}

/// Reads a whole call of a tool, of a reply or of a conversation.
pub(crate) fn read_call<E: FieldError>(call: &JsonField<'_, E>) -> Result<ToolCall, E> {
    let function = call.need("function")?;
    Ok(ToolCall {
        id: call.need_text("id")?.to_owned(),
        tool: function.need_text("name")?.to_owned(),
        arguments: function.text_or_empty("arguments")?.to_owned(),
    })
}

/// Returns the meaning of a `finish_reason`, if the content does not give it.
pub(super) fn stop_reason(word: &str) -> Option<StopReason> {
    match word {
        "length" => Some(StopReason::MaxTokens),
        "content_filter" => Some(StopReason::Refusal),
        _ => None,
    }
}

pub(super) fn read_usage(usage: &ReplyField<'_>) -> Result<TokenUsage, WireError> {
    let details = usage.get("prompt_tokens_details");
    Ok(TokenUsage {
        input: usage.need("prompt_tokens")?.count()?,
        cached_input: details
            .map_or(Ok(None), |details| details.count_or_none("cached_tokens"))?
            .unwrap_or(0),
        cache_write: 0,
        output: usage.count_or_none("completion_tokens")?.unwrap_or(0),
    })
}
