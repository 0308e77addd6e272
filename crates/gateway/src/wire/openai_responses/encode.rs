use serde_json::{Value, json};
use wf_core::agent::{Message, ToolDefinition};

use crate::wire::{
    WireRequest,
    openai_chat::{DEMANDS, result_text},
};

/// Returns the body of a request.
pub fn encode(wire: &WireRequest<'_>) -> Value {
    let request = wire.request;
    let input: Vec<Value> = request.messages.iter().flat_map(items).collect();
    let mut body = json!({
        "model": wire.model,
        "input": input,
        "max_output_tokens": wire.max_output,
        "stream": wire.stream,
        "store": false,
    });
    if !request.system.is_empty() {
        body["instructions"] = json!(request.system);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(schema) = &request.answer_schema {
        let strict = DEMANDS.accepts(schema);
        let format = json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": strict});
        body["text"] = json!({"format": format});
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    body
}

fn items(message: &Message) -> Vec<Value> {
    match message {
        Message::User { text } => vec![user(text)],
        Message::Omitted { turns } => vec![user(&Message::omission_text(*turns))],
        Message::Assistant { text, tool_calls } => {
            let text_item = (!text.is_empty()).then(|| assistant(text));
            let calls = tool_calls.iter().map(|call| {
                json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.tool,
                    "arguments": call.arguments,
                })
            });
            text_item.into_iter().chain(calls).collect()
        }
        Message::Tool { results } => {
            let outputs = results.iter().map(|result| {
                json!({"type": "function_call_output", "call_id": result.id, "output": result_text(result)})
            });
            outputs.collect()
        }
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Returns what the model said, as a provider replies. Some servers (llama.cpp) refuse the shorter form without type.
fn assistant(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// Returns a tool. Its schema is not enforced, since any schema is allowed here: the caller validates arguments.
fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.arguments_schema,
        "strict": false,
    })
}
