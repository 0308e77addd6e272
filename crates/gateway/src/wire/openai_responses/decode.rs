use serde_json::Value;
use wf_core::agent::{ModelReply, StopReason, ToolCall};
use wf_model::TokenUsage;

use crate::wire::{
    WireError,
    format::{ReplyDraft, ReplyField},
};

/// Reads a complete reply.
pub fn decode(json: &Value) -> Result<ModelReply, WireError> {
    let response = ReplyField::root(json);
    if response.get("error").is_some() {
        return Err(WireError::reported(json));
    }
    let items = response.need("output")?.items()?;
    decode_parts(&response, items)
}

/// Reads a reply whose items of output may have arrived before it.
pub(super) fn decode_parts(
    response: &ReplyField<'_>,
    items: Vec<ReplyField<'_>>,
) -> Result<ModelReply, WireError> {
    let mut draft = ReplyDraft::default();
    if let Some(usage) = response.get("usage") {
        draft.usage = read_usage(&usage)?;
    }
    let mut refused = false;
    for item in items {
        match item.need_text("type")? {
            "message" => {
                for part in item.need("content")?.items()? {
                    refused |= take_part(&part, &mut draft)?;
                }
            }
            "function_call" => draft.tool_calls.push(ToolCall {
                id: item.need_text("call_id")?.to_owned(),
                tool: item.need_text("name")?.to_owned(),
                arguments: item.need_text("arguments")?.to_owned(),
            }),
            _ => {}
        }
    }
    let stop = read_stop(response)?;
    Ok(draft.finish(if refused { Some(StopReason::Refusal) } else { stop }))
}

/// Takes a part of a message. Returns true if it is a refusal.
fn take_part(part: &ReplyField<'_>, draft: &mut ReplyDraft) -> Result<bool, WireError> {
    match part.need_text("type")? {
        "output_text" => draft.text.push_str(part.need_text("text")?),
        "refusal" => {
            draft.text.push_str(part.need_text("refusal")?);
            return Ok(true);
        }
        _ => {}
    }
    Ok(false)
}

fn read_stop(response: &ReplyField<'_>) -> Result<Option<StopReason>, WireError> {
    let status = response.need("status")?;
    match status.text()? {
        "completed" => Ok(None),
        "incomplete" => {
            let details = response.need("incomplete_details")?;
            Ok(Some(match details.need_text("reason")? {
                "content_filter" => StopReason::Refusal,
                _ => StopReason::MaxTokens,
            }))
        }
        _ => Err(WireError::Cut),
    }
}

fn read_usage(usage: &ReplyField<'_>) -> Result<TokenUsage, WireError> {
    let details = usage.get("input_tokens_details");
    Ok(TokenUsage {
        input: usage.need("input_tokens")?.count()?,
        cached_input: details
            .map_or(Ok(None), |details| details.count_or_none("cached_tokens"))?
            .unwrap_or(0),
        cache_write: 0,
        output: usage.need("output_tokens")?.count()?,
    })
}
