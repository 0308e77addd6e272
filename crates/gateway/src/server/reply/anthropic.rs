use serde_json::{Map, Value, json};
use wf_core::agent::{ModelReply, StopReason, ToolCall};

use super::write::EventText;
use crate::server::ClientRequest;

/// Returns a reply of Anthropic Messages.
pub(super) fn json(request: &ClientRequest, reply: &ModelReply, id: &str) -> Value {
    let text = (!reply.text.is_empty()).then(|| json!({"type": "text", "text": reply.text}));
    let calls = reply.tool_calls.iter().map(|call| {
        let arguments = object_text(&call.arguments);
        // It is an object: `object_text` returns nothing else.
        let input = serde_json::from_str::<Value>(&arguments).unwrap_or_default();
        json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": input})
    });
    let content: Vec<Value> = text.into_iter().chain(calls).collect();
    message(request, reply, id, &content)
}

/// Returns a streamed reply of Anthropic Messages.
pub(super) fn events(request: &ClientRequest, reply: &ModelReply, id: &str) -> String {
    let mut events = EventText::default();
    let mut start = message(request, reply, id, &[]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(0);
    events.typed("message_start", json!({"message": start}));
    let mut index = 0;
    let mut block = |start: Value, delta: Value| {
        events.typed("content_block_start", json!({"index": index, "content_block": start}));
        events.typed("content_block_delta", json!({"index": index, "delta": delta}));
        events.typed("content_block_stop", json!({"index": index}));
        index += 1;
    };
    if !reply.text.is_empty() {
        block(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": reply.text}));
    }
    for ToolCall { id, tool, arguments } in &reply.tool_calls {
        let start = json!({"type": "tool_use", "id": id, "name": tool, "input": {}});
        block(start, json!({"type": "input_json_delta", "partial_json": object_text(arguments)}));
    }
    let delta = json!({"stop_reason": stop_reason(reply.stop), "stop_sequence": null});
    events.typed("message_delta", json!({"delta": delta, "usage": usage(reply)}));
    events.typed("message_stop", json!({}));
    events.finish()
}

fn message(request: &ClientRequest, reply: &ModelReply, id: &str, content: &[Value]) -> Value {
    json!({
        "id": format!("msg_{id}"),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": stop_reason(reply.stop),
        "stop_sequence": null,
        "usage": usage(reply),
    })
}

/// Returns arguments as a JSON object, as they are if they are one. The format has nothing else, so others are wrapped:
/// the client finds that they do not fit the tool, and tells the model.
fn object_text(arguments: &str) -> String {
    if arguments.trim().is_empty() {
        "{}".to_owned()
    } else if serde_json::from_str::<Map<String, Value>>(arguments).is_ok() {
        arguments.to_owned()
    } else {
        json!({"INVALID_JSON": arguments}).to_string()
    }
}

fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolCalls => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal => "refusal",
    }
}

/// Returns the tokens. The format counts input that was cached, or is cached now, apart.
fn usage(reply: &ModelReply) -> Value {
    let usage = reply.usage;
    json!({
        "input_tokens": usage.input.saturating_sub(usage.cached_input).saturating_sub(usage.cache_write),
        "cache_read_input_tokens": usage.cached_input,
        "cache_creation_input_tokens": usage.cache_write,
        "output_tokens": usage.output,
    })
}
