use serde_json::{Value, json};
use wf_core::agent::{ModelReply, StopReason};

use super::write::EventText;
use crate::{server::ClientRequest, wire::openai_chat::write_call};

/// Returns a reply of OpenAI Chat Completions.
pub(super) fn json(request: &ClientRequest, reply: &ModelReply, id: &str) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text, "refusal": null});
    if !reply.tool_calls.is_empty() {
        message["tool_calls"] = reply.tool_calls.iter().map(write_call).collect();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_reason(reply.stop)});
    json!({
        "id": format!("chatcmpl-{id}"),
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [choice],
        "usage": usage(reply),
    })
}

/// Returns a streamed reply of OpenAI Chat Completions.
pub(super) fn events(request: &ClientRequest, reply: &ModelReply, id: &str) -> String {
    let mut events = EventText::default();
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{id}"),
            "object": "chat.completion.chunk",
            "created": 0,
            "model": request.model,
            "choices": choices,
        })
    };
    let mut send = |delta: Value, finish: Option<&str>| {
        events.data(&chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}])));
    };
    send(json!({"role": "assistant", "content": ""}), None);
    if !reply.text.is_empty() {
        send(json!({"content": reply.text}), None);
    }
    for (index, call) in reply.tool_calls.iter().enumerate() {
        let mut part = write_call(call);
        part["index"] = json!(index);
        send(json!({"tool_calls": [part]}), None);
    }
    send(json!({}), Some(finish_reason(reply.stop)));
    if request.includes_usage {
        let mut last = chunk(json!([]));
        last["usage"] = usage(reply);
        events.data(&last);
    }
    events.finish() + "data: [DONE]\n\n"
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolCalls => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
    }
}

fn usage(reply: &ModelReply) -> Value {
    let usage = reply.usage;
    json!({
        "prompt_tokens": usage.input,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input},
        "completion_tokens": usage.output,
        "total_tokens": usage.total(),
    })
}
