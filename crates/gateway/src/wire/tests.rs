use proptest::prelude::*;
use serde_json::{Value, json};
use wf_core::agent::{Message, ModelReply, ModelRequest, ToolCall, ToolDefinition, ToolResult};
use wf_model::ModelApi;

use super::{
    ProviderMessage, WireError, WireRequest, encode_request, open_stream, openai_chat::DEMANDS,
    read_error_body,
};
use crate::sse::{SseEvent, SseParser};

/// Returns a conversation with everything that a request can have.
pub(crate) fn conversation() -> ModelRequest {
    let call = |id: &str, arguments: &str| ToolCall {
        id: id.into(),
        tool: "read".into(),
        arguments: arguments.into(),
    };
    let result = |id: &str, text: &str, is_error| ToolResult { id: id.into(), text: text.into(), is_error };
    ModelRequest {
        system: "Be brief.".into(),
        messages: vec![
            Message::User { text: "Read it.".into() },
            Message::Assistant {
                text: "I look.".into(),
                tool_calls: vec![call("a", r#"{"path":"x"}"#), call("b", "{broken")],
            },
            Message::Tool { results: vec![result("a", "text", false), result("b", "no JSON", true)] },
            Message::User { text: "Go on.".into() },
            Message::Assistant { text: String::new(), tool_calls: Vec::new() },
            Message::User { text: "Now.".into() },
        ],
        tools: vec![ToolDefinition {
            name: "read".into(),
            description: "Reads.".into(),
            arguments_schema: json!({"type": "object"}),
        }],
        answer_schema: Some(closed_schema()),
        max_output: 500,
        temperature: Some(0.5),
    }
}

pub(super) fn closed_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "additionalProperties": false,
    })
}

pub(super) fn encode(api: ModelApi, request: &ModelRequest, is_inventor: bool) -> Value {
    let wire = WireRequest { request, model: "m-1", max_output: 500, stream: true, is_inventor };
    encode_request(api, &wire).unwrap()
}

/// Splits the text of a stream into events; each line is the data of one.
pub(super) fn events(lines: &str) -> Vec<SseEvent> {
    let mut events = Vec::new();
    let text: String = lines.lines().map(|line| format!("data: {}\n\n", line.trim())).collect();
    SseParser::new(1_000_000).push(text.as_bytes(), &mut events).unwrap();
    events
}

pub(super) fn read_stream(api: ModelApi, events: &[SseEvent]) -> Result<ModelReply, WireError> {
    let mut stream = open_stream(api);
    for event in events {
        stream.take(event)?;
    }
    stream.finish()
}

/// Checks that a stream that ends before its event number `complete` is no reply.
pub(super) fn check_cuts(api: ModelApi, lines: &str, complete: usize) {
    let all = events(lines);
    for end in 0..all.len() {
        let found = read_stream(api, &all[..end]);
        assert_eq!(found.is_ok(), end >= complete, "{end}: {found:?}");
        assert!(end >= complete || found == Err(WireError::Cut), "{end}: {found:?}");
    }
}

#[test]
fn errors_of_all_forms_are_read() {
    let told = |word: &str, message: &str| ProviderMessage { word: word.into(), message: message.into() };
    for (body, expected) in [
        (
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"bad\nfield"}}"#,
            told("invalid_request_error", "bad field"),
        ),
        (
            r#"{"error":{"message":"no","type":"insufficient","param":null,"code":"insufficient_quota"}}"#,
            told("insufficient_quota", "no"),
        ),
        (r#"{"error":{"message":"no","code":null,"type":"x"}}"#, told("x", "no")),
        (r#"{"error":{"message":"no","code":502}}"#, told("502", "no")),
        (r#"{"error":"model not found"}"#, told("", "model not found")),
        (r#"{"detail":"Not Found"}"#, told("", "Not Found")),
        (r#"{"a":1}"#, told("", r#"{"a":1}"#)),
        ("<html>\n\u{1b}[31mBad   Gateway", told("", "<html> [31mBad Gateway")),
        ("", told("", "")),
    ] {
        assert_eq!(read_error_body(body.as_bytes()), expected, "{body}");
    }
    let long = read_error_body("é".repeat(100_000).as_bytes());
    assert_eq!(long.message.chars().count(), 301);
    assert_eq!(read_error_body(b"\xff!").message, "\u{fffd}!");
}

#[test]
fn a_schema_is_enforced_if_it_is_closed() {
    let closed = closed_schema();
    assert!(DEMANDS.accepts(&closed));
    let with = |key: &str, value: Value| {
        let mut schema = closed_schema();
        schema[key] = value;
        schema
    };
    for schema in [
        json!(true),
        json!({"type": "string"}),
        json!({"type": "object"}),
        with("additionalProperties", json!(true)),
        with("required", json!([])),
        with("oneOf", json!([])),
        with("properties", json!({"title": {"type": "object", "properties": {}}})),
        with("properties", json!({"title": {"type": "array", "items": {"not": {}}}})),
        with("$defs", json!({"x": {"type": "object"}})),
    ] {
        assert!(!DEMANDS.accepts(&schema), "{schema}");
    }
    // A property may have the name of a keyword.
    let mut named = with("properties", json!({"not": {"anyOf": [{"type": "string"}, {"type": "null"}]}}));
    named["required"] = json!(["not"]);
    assert!(DEMANDS.accepts(&named));
}

#[test]
fn a_broken_reply_names_what_is_wrong() {
    for api in [ModelApi::Anthropic, ModelApi::Openai, ModelApi::OpenaiResponses] {
        let broken = super::decode_reply(api, "{").unwrap_err();
        assert!(matches!(broken, WireError::Json(_)), "{broken}");
        let empty = super::decode_reply(api, "{}").unwrap_err();
        assert!(matches!(empty, WireError::Missing { .. }), "{empty}");
        let mut stream = open_stream(api);
        let event = SseEvent { event: String::new(), data: "nonsense".into() };
        assert!(matches!(stream.take(&event), Err(WireError::Json(_))));
        assert_eq!(open_stream(api).finish(), Err(WireError::Cut));
    }
}

/// Returns a stream of a format.
fn sample(api: ModelApi) -> String {
    use super::{anthropic, openai_chat, openai_responses};
    match api {
        ModelApi::Anthropic => anthropic::tests::STREAM.to_owned(),
        ModelApi::OpenaiResponses => {
            let tests = openai_responses::tests::response("completed", &openai_responses::tests::output());
            openai_responses::tests::stream("response.completed", &tests)
        }
        _ => openai_chat::tests::STREAM.to_owned(),
    }
}

proptest! {
    #[test]
    fn no_reply_is_a_panic(
        api in prop::sample::select(vec![ModelApi::Anthropic, ModelApi::Openai, ModelApi::OpenaiResponses]),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), "[0-9a-z\\[\\]{}\",:.-]?"), 1..6),
        lost in any::<prop::sample::Index>(),
    ) {
        let mut text = sample(api);
        for (at, new) in &changes {
            let at = text.floor_char_boundary(at.index(text.len()));
            let end = text.ceil_char_boundary(at + 1);
            text.replace_range(at..end, new);
        }
        let mut stream = open_stream(api);
        let mut all = events(&text);
        all.remove(lost.index(all.len()));
        for event in &all {
            let _ = stream.take(event);
            let _ = super::usage_so_far(&*stream, &conversation());
        }
        let _ = stream.finish();
        let _ = super::decode_reply(api, &text);
    }
}
