use serde_json::{Value, json};
use wf_core::agent::{ModelReply, StopReason, ToolCall};

use super::write::EventText;
use crate::server::{ClientRequest, ClientTool};

/// Returns a reply of OpenAI Responses.
pub(super) fn json(request: &ClientRequest, reply: &ModelReply, id: &str) -> Value {
    let mut response = response(request, id, "completed");
    if let Some(reason) = incomplete_reason(reply.stop) {
        response["status"] = json!("incomplete");
        response["incomplete_details"] = json!({"reason": reason});
    }
    response["output"] = output(request, reply, id).into();
    let usage = reply.usage;
    response["usage"] = json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached_input},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total(),
    });
    response
}

/// Returns a streamed reply of OpenAI Responses.
pub(super) fn events(request: &ClientRequest, reply: &ModelReply, id: &str) -> String {
    let mut events = EventText::default();
    events.numbered("response.created", json!({"response": response(request, id, "in_progress")}));
    for (index, item) in output(request, reply, id).iter().enumerate() {
        write_item(&mut events, index, item);
    }
    let whole = json(request, reply, id);
    let is_complete = incomplete_reason(reply.stop).is_none();
    let kind = if is_complete { "response.completed" } else { "response.incomplete" };
    events.numbered(kind, json!({"response": whole}));
    events.finish()
}

/// Returns a response without output.
fn response(request: &ClientRequest, id: &str, status: &str) -> Value {
    json!({
        "id": format!("resp_{id}"),
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "model": request.model,
        "output": [],
        "usage": null,
    })
}

/// Returns the reason for which a reply is not complete. A refusal is one: Codex leaves out the parts the format has
/// for it, and takes the rest for success.
fn incomplete_reason(stop: StopReason) -> Option<&'static str> {
    match stop {
        StopReason::EndTurn | StopReason::ToolCalls => None,
        StopReason::MaxTokens => Some("max_output_tokens"),
        StopReason::Refusal => Some("content_filter"),
    }
}

/// Returns the items of the output.
fn output(request: &ClientRequest, reply: &ModelReply, id: &str) -> Vec<Value> {
    let part = json!({"type": "output_text", "text": reply.text, "annotations": []});
    let message = (!reply.text.is_empty()).then(|| {
        json!({
            "type": "message",
            "id": format!("msg_{id}"),
            "role": "assistant",
            "status": "completed",
            "content": [part],
        })
    });
    let calls = reply.tool_calls.iter().enumerate();
    let calls = calls.map(|(at, call)| call_item(request, call, &format!("{id}_{at}")));
    message.into_iter().chain(calls).collect()
}

fn call_item(request: &ClientRequest, call: &ToolCall, id: &str) -> Value {
    let function = |name: &str| {
        json!({
            "type": "function_call",
            "id": format!("fc_{id}"),
            "call_id": call.id,
            "name": name,
            "arguments": call.arguments,
            "status": "completed",
        })
    };
    match request.renamed_tools.get(&call.tool) {
        None => function(&call.tool),
        Some(ClientTool::Namespaced { namespace, name }) => {
            let mut item = function(name);
            item["namespace"] = json!(namespace);
            item
        }
        Some(ClientTool::Custom) => json!({
            "type": "custom_tool_call",
            "id": format!("ctc_{id}"),
            "call_id": call.id,
            "name": call.tool,
            "input": custom_input(&call.arguments),
            "status": "completed",
        }),
    }
}

/// Returns the text for a tool taking a text. Arguments without it are passed on whole, so the tool's own error
/// tells the model.
fn custom_input(arguments: &str) -> String {
    let json = serde_json::from_str::<Value>(arguments).unwrap_or_default();
    json.get("input").and_then(Value::as_str).unwrap_or(arguments).to_owned()
}

/// Writes the events where an item of the output grows.
fn write_item(events: &mut EventText, index: usize, item: &Value) {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    for growing in ["content", "arguments", "input"] {
        if let Some(field) = begun.get_mut(growing) {
            *field = if field.is_array() { json!([]) } else { json!("") };
        }
    }
    events.numbered("response.output_item.added", json!({"output_index": index, "item": begun}));
    let place = json!({"item_id": item["id"], "output_index": index});
    match item["type"].as_str() {
        Some("message") => write_part(events, &place, &item["content"][0]),
        Some("custom_tool_call") => {
            write_text(events, "response.custom_tool_call_input", &place, "input", &item["input"]);
        }
        _ => write_text(events, "response.function_call_arguments", &place, "arguments", &item["arguments"]),
    }
    events.numbered("response.output_item.done", json!({"output_index": index, "item": item}));
}

/// Writes the events where the only part of a message grows.
fn write_part(events: &mut EventText, place: &Value, part: &Value) {
    let mut place = place.clone();
    place["content_index"] = json!(0);
    let mut begun = part.clone();
    begun["text"] = json!("");
    let with = |part: &Value| {
        let mut data = place.clone();
        data["part"] = part.clone();
        data
    };
    events.numbered("response.content_part.added", with(&begun));
    write_text(events, "response.output_text", &place, "text", &part["text"]);
    events.numbered("response.content_part.done", with(part));
}

/// Writes a text as one delta, and then whole.
fn write_text(events: &mut EventText, kind: &str, place: &Value, key: &str, text: &Value) {
    let mut delta = place.clone();
    delta["delta"] = text.clone();
    events.numbered(&format!("{kind}.delta"), delta);
    let mut done = place.clone();
    done[key] = text.clone();
    events.numbered(&format!("{kind}.done"), done);
}
