//! Requests in the format of Anthropic.

use crate::wire::{WireRequest, strict_schema::SchemaDemands};
use serde_json::{Map, Value, json};
use wf_core::agent::{Message, ToolCall, ToolDefinition, ToolResult};

/// The demands of the provider on a schema that it enforces.
const DEMANDS: SchemaDemands = SchemaDemands {
    refused: &[
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
    ],
    all_required: false,
};

/// Returns the body of a request.
pub fn encode(wire: &WireRequest<'_>) -> Value {
    let request = wire.request;
    let mut system = request.system.clone();
    let mut body = json!({
        "model": wire.model,
        "max_tokens": wire.max_output,
        "messages": messages(&request.messages),
        "stream": wire.stream,
    });
    match &request.answer_schema {
        Some(schema) if DEMANDS.accepts(schema) => {
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
        }
        // A schema that the provider does not enforce is a wish: the caller validates answers anyway.
        Some(schema) => {
            if !system.is_empty() {
                system.push_str("\n\n");
            }
            system.push_str("Answer with JSON alone that conforms to this JSON Schema: ");
            system.push_str(&schema.to_string());
        }
        None => {}
    }
    if !system.is_empty() {
        body["system"] = json!(system);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool_entry).collect();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    // What is cached for the first time costs more, so requests that nothing follows are not marked.
    if !request.tools.is_empty() {
        mark_breakpoints(&mut body);
    }
    body
}

/// Returns the messages. Those of one role in a row become one, and empty ones, which are refused, are left out.
fn messages(messages: &[Message]) -> Value {
    let mut turns: Vec<(&'static str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::User { text } => ("user", text_block(text).into_iter().collect()),
            Message::Omitted { turns } => {
                ("user", text_block(&Message::omission_text(*turns)).into_iter().collect())
            }
            Message::Tool { results } => ("user", results.iter().map(result_block).collect()),
            Message::Assistant { text, tool_calls } => {
                let calls = tool_calls.iter().map(call_block);
                ("assistant", text_block(text).into_iter().chain(calls).collect::<Vec<_>>())
            }
        };
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last_role, content)) if *last_role == role => content.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn result_block(result: &ToolResult) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text});
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// Returns a call as the model made it. The format has objects only, so other arguments are wrapped.
fn call_block(call: &ToolCall) -> Value {
    let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments);
    let input = arguments.map_or_else(|_| json!({"INVALID_JSON": call.arguments}), Value::Object);
    json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": input})
}

fn tool_entry(tool: &ToolDefinition) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.arguments_schema})
}

/// The number of user messages at the end that are marked: the newest, for the next call, and the one before it,
/// which the last call marked. One mark would not do: a provider looks for a cached beginning only a few blocks
/// before a mark, and a turn may have more.
const MARKED_AT_END: usize = 2;

/// Marks where the beginning of a request may be cached: after the tools and the instructions, after the briefing,
/// which a cut of the conversation leaves as it is, and at the end. These are four, the most the format allows.
pub(super) fn mark_breakpoints(body: &mut Value) {
    if let Some(system) = body.get("system").and_then(Value::as_str) {
        body["system"] = json!([{"type": "text", "text": system}]);
        mark_last(&mut body["system"]);
    } else {
        mark_last(&mut body["tools"]);
    }
    let messages = body["messages"].as_array_mut().into_iter().flatten();
    let mut user_messages: Vec<_> = messages.filter(|message| message["role"] == "user").collect();
    let first_at_end = user_messages.len().saturating_sub(MARKED_AT_END);
    for (at, message) in user_messages.iter_mut().enumerate() {
        if at == 0 || at >= first_at_end {
            mark_last(&mut message["content"]);
        }
    }
}

fn mark_last(blocks: &mut Value) {
    if let Some(last) = blocks.as_array_mut().and_then(|blocks| blocks.last_mut()) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
}
