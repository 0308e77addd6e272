use serde_json::{Value, json};
use wf_core::agent::{Message, ModelRequest, StopReason, ToolCall, ToolResult};
use wf_model::{ModelApi, TokenUsage};

use super::decode;
use crate::wire::{
    WireError, open_stream,
    tests::{check_cuts, closed_schema, conversation, encode, events, read_stream},
    usage_so_far,
};

pub(in crate::wire) const STREAM: &str = r#"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":30,"cache_creation_input_tokens":5,"output_tokens":1}}}
    {"type":"ping"}
    {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}
    {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}
    {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
    {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grü"}}
    {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"n"}}
    {"type":"content_block_stop","index":1}
    {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{}}}
    {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}
    {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"broken"}}
    {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"t2","name":"list","input":{}}}
    {"type":"content_block_stop","index":3}
    {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":20}}
    {"type":"message_stop"}"#;

#[test]
fn a_conversation_is_encoded() {
    let body = encode(ModelApi::Anthropic, &conversation(), true);
    let mark = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "m-1",
        "max_tokens": 500,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Read it.", "cache_control": mark}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
                {"type": "tool_use", "id": "b", "name": "read", "input": {"INVALID_JSON": "{broken"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "text"},
                {"type": "tool_result", "tool_use_id": "b", "content": "no JSON", "is_error": true},
                {"type": "text", "text": "Go on."},
                {"type": "text", "text": "Now.", "cache_control": mark},
            ]},
        ],
        "stream": true,
        "output_config": {"format": {"type": "json_schema", "schema": closed_schema()}},
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "tools": [{"name": "read", "description": "Reads.", "input_schema": {"type": "object"}}],
        "temperature": 0.5,
    });
    assert_eq!(body, expected);
}

#[test]
fn an_open_schema_becomes_an_instruction() {
    let mut request = conversation();
    request.answer_schema = Some(json!({"type": "object"}));
    let body = encode(ModelApi::Anthropic, &request, true);
    assert!(body.get("output_config").is_none());
    let system = body["system"][0]["text"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\n") && system.ends_with(r#"{"type":"object"}"#), "{system}");
}

#[test]
fn blank_messages_are_left_out() {
    let mut request = conversation();
    request.messages = vec![Message::User { text: " \n".into() }, Message::User { text: "go".into() }];
    let body = encode(ModelApi::Anthropic, &request, true);
    let mark = json!({"type": "ephemeral"});
    let blocks = json!([{"type": "text", "text": "go", "cache_control": mark}]);
    assert_eq!(body["messages"], json!([{"role": "user", "content": blocks}]));
}

/// The paths of the blocks after which a request is cached.
fn breakpoints(request: &ModelRequest) -> Vec<String> {
    fn find(value: &Value, path: &str, found: &mut Vec<String>) {
        if value.get("cache_control").is_some() {
            found.push(path.to_owned());
        }
        let inner: Vec<(String, &Value)> = match value {
            Value::Array(all) => all.iter().enumerate().map(|(at, one)| (at.to_string(), one)).collect(),
            Value::Object(all) => all.iter().map(|(key, one)| (key.clone(), one)).collect(),
            _ => Vec::new(),
        };
        for (key, one) in inner {
            find(one, &format!("{path}/{key}"), found);
        }
    }
    let mut found = Vec::new();
    find(&encode(ModelApi::Anthropic, request, true), "", &mut found);
    found.sort();
    found
}

#[test]
fn a_conversation_is_cached_up_to_its_end() {
    let mut request = ModelRequest { messages: Vec::new(), ..conversation() };
    request.messages.push(Message::User { text: "do it".into() });
    assert_eq!(breakpoints(&request), ["/messages/0/content/0", "/system/0"]);
    for turn in 0..3 {
        let id = format!("call {turn}");
        let call = ToolCall { id: id.clone(), tool: "read".into(), arguments: "{}".into() };
        request.messages.push(Message::Assistant { text: String::new(), tool_calls: vec![call] });
        let result = ToolResult { id, text: "text".into(), is_error: false };
        request.messages.push(Message::Tool { results: vec![result] });
    }
    // The last call ended with message 4.
    let ends = ["/messages/0/content/0", "/messages/4/content/0", "/messages/6/content/0", "/system/0"];
    assert_eq!(breakpoints(&request), ends);
    request.system.clear();
    request.answer_schema = None;
    assert_eq!(breakpoints(&request).last().unwrap(), "/tools/0");
    request.tools.clear();
    assert_eq!(breakpoints(&request), [""; 0], "nothing follows such a request");
}

#[test]
fn omitted_turns_are_a_message_of_the_user() {
    let mut request = conversation();
    request.messages = vec![Message::User { text: "do it".into() }, Message::Omitted { turns: 3 }];
    let body = encode(ModelApi::Anthropic, &request, true);
    assert_eq!(body["messages"][0]["content"][1]["text"], json!(Message::omission_text(3)));
    assert!(body["messages"].get(1).is_none(), "{body}");
}

#[test]
fn a_stream_becomes_a_reply() {
    let reply = read_stream(ModelApi::Anthropic, &events(STREAM)).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("Grün", StopReason::ToolCalls));
    let calls: Vec<_> =
        reply.tool_calls.iter().map(|one| (one.id.as_str(), one.arguments.as_str())).collect();
    assert_eq!(calls, [("t1", "{\"path\":broken"), ("t2", "{}")]);
    assert_eq!(reply.usage, TokenUsage { input: 45, cached_input: 30, cache_write: 5, output: 20 });
    check_cuts(ModelApi::Anthropic, STREAM, 14);
}

#[test]
fn a_reply_that_broke_off_is_billed() {
    let mut stream = open_stream(ModelApi::Anthropic);
    let request = conversation();
    assert_eq!(usage_so_far(&*stream, &request), TokenUsage::default());
    for event in events(STREAM).iter().take(6) {
        stream.take(event).unwrap();
    }
    assert_eq!(
        usage_so_far(&*stream, &request),
        TokenUsage { input: 45, cached_input: 30, cache_write: 5, output: 1 }
    );
}

#[test]
fn a_whole_reply_is_read() {
    let mut body = json!({
        "type": "message",
        "new_field": [1],
        "content": [
            {"type": "text", "text": "a", "citations": null},
            {"type": "later_invention"},
            {"type": "tool_use", "id": "t", "name": "read", "input": {"z": 1, "a": [2]}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": null},
    });
    let reply = decode(&body).unwrap();
    assert_eq!(reply.tool_calls[0].arguments, r#"{"z":1,"a":[2]}"#);
    assert_eq!(reply.usage, TokenUsage { input: 3, cached_input: 0, cache_write: 0, output: 4 });
    for (word, stop) in [
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("a_new_one", StopReason::ToolCalls),
    ] {
        body["stop_reason"] = json!(word);
        assert_eq!(decode(&body).unwrap().stop, stop, "{word}");
    }
    body["usage"]["input_tokens"] = json!(-1);
    let kind = WireError::Kind { field: "usage.input_tokens".into(), expected: "a whole number" };
    assert_eq!(decode(&body), Err(kind));
    body["usage"]["input_tokens"] = json!(1);
    body["content"][2]["id"] = json!(null);
    assert_eq!(decode(&body), Err(WireError::Missing { field: "content[2].id".into() }));
}

#[test]
fn an_error_in_a_stream_ends_it() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let found = read_stream(ModelApi::Anthropic, &events(error)).unwrap_err();
    assert_eq!(found, WireError::Reported { word: "overloaded_error".into(), message: "Overloaded".into() });
    let lost = r#"{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"x"}}"#;
    let found = read_stream(ModelApi::Anthropic, &events(lost)).unwrap_err();
    assert!(found.to_string().contains("block 9"), "{found}");
}
