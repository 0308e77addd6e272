use serde_json::{Value, json};
use wf_core::agent::{Message, ToolCall, ToolDefinition, ToolResult};

use crate::wire::{WireRequest, strict_schema::SchemaDemands};

/// The demands on the schema of an answer.
pub(in crate::wire) const DEMANDS: SchemaDemands =
    SchemaDemands { refused: &["default"], all_required: true };

/// Returns the body of a request.
pub fn encode(wire: &WireRequest<'_>) -> Value {
    let request = wire.request;
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in &request.messages {
        match message {
            Message::User { text } => messages.push(user(text)),
            Message::Omitted { turns } => messages.push(user(&Message::omission_text(*turns))),
            Message::Assistant { text, tool_calls } => messages.push(assistant(text, tool_calls)),
            Message::Tool { results } => messages.extend(results.iter().map(
                |result| json!({"role": "tool", "tool_call_id": result.id, "content": result_text(result)}),
            )),
        }
    }
    let mut body = json!({"model": wire.model, "messages": messages, "stream": wire.stream});
    let limit = if wire.is_inventor { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(wire.max_output);
    if wire.stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(schema) = &request.answer_schema {
        let strict = DEMANDS.accepts(schema);
        let named = json!({"name": "answer", "schema": schema, "strict": strict});
        body["response_format"] = json!({"type": "json_schema", "json_schema": named});
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    body
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Returns the text of a result. The format has no field for failures.
pub(in crate::wire) fn result_text(result: &ToolResult) -> String {
    if result.is_error { format!("Error: {}", result.text) } else { result.text.clone() }
}

fn assistant(text: &str, tool_calls: &[ToolCall]) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if !tool_calls.is_empty() {
        message["tool_calls"] = tool_calls.iter().map(write_call).collect();
    }
    message
}

/// Returns a call of a tool, of a conversation or of a reply.
pub(crate) fn write_call(call: &ToolCall) -> Value {
    let function = json!({"name": call.tool, "arguments": call.arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn tool(tool: &ToolDefinition) -> Value {
    let function =
        json!({"name": tool.name, "description": tool.description, "parameters": tool.arguments_schema});
    json!({"type": "function", "function": function})
}
