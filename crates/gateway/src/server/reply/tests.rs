use proptest::prelude::*;
use serde_json::{Value, json};
use wf_core::agent::{ModelReply, StopReason, ToolCall};
use wf_model::TokenUsage;

use super::{ReplyBody, write_error, write_error_event, write_reply};
use crate::{
    server::{ClientApi, ClientRequest, ClientTool, read_request},
    sse::{SseEvent, SseParser},
    wire::{ProviderMessage, WireError, decode_reply, open_stream, read_error_body},
};

const ALL: [ClientApi; 3] = [ClientApi::Anthropic, ClientApi::OpenaiChat, ClientApi::OpenaiResponses];

fn asked(api: ClientApi, stream: bool) -> ClientRequest {
    let options = json!({"include_usage": true});
    let body =
        json!({"model": "m", "messages": [], "input": [], "stream": stream, "stream_options": options});
    read_request(api, &body.to_string()).unwrap()
}

fn events(text: &str) -> Vec<SseEvent> {
    let mut events = Vec::new();
    SseParser::new(1_000_000).push(text.as_bytes(), &mut events).unwrap();
    events
}

/// Reads a reply as the client of a provider does.
fn read(api: ClientApi, body: &ReplyBody) -> Result<ModelReply, WireError> {
    let text = match body {
        ReplyBody::Json(text) => return decode_reply(api.model_api(), text),
        ReplyBody::Events(text) => text,
    };
    let mut stream = open_stream(api.model_api());
    for event in events(text) {
        assert!(!stream.is_done() || event.data == "[DONE]", "{event:?} after the end");
        stream.take(&event)?;
    }
    assert!(stream.is_done());
    stream.finish()
}

/// Returns a reply as a format can carry it.
fn carried(api: ClientApi, stream: bool, reply: &ModelReply) -> ModelReply {
    let mut reply = reply.clone();
    for call in &mut reply.tool_calls {
        if api == ClientApi::Anthropic {
            let object = serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments);
            call.arguments = match object {
                Ok(_) if stream => call.arguments.clone(),
                Ok(object) => Value::Object(object).to_string(),
                Err(_) if call.arguments.trim().is_empty() => "{}".into(),
                Err(_) => json!({"INVALID_JSON": call.arguments}).to_string(),
            };
        }
    }
    if api != ClientApi::Anthropic {
        // The other formats do not know it.
        reply.usage.cache_write = 0;
    }
    reply
}

fn a_reply() -> impl Strategy<Value = ModelReply> {
    let arguments = prop_oneof![
        Just(String::new()),
        Just("{}".to_owned()),
        Just(r#"{ "path": "é\n" , "deep": [1, {"x": null}] }"#.to_owned()),
        Just("[1]".to_owned()),
        Just("{broken".to_owned()),
        ".{0,20}",
    ];
    let call = ("[a-z_0-9]{1,8}", "[A-Za-z_]{1,8}", arguments).prop_map(|(id, tool, arguments)| ToolCall {
        id,
        tool,
        arguments,
    });
    let stop = prop::sample::select(vec![None, Some(StopReason::MaxTokens), Some(StopReason::Refusal)]);
    let usage = (0_u64..1_000_000, 0_u64..1_000, 0_u64..1_000, 0_u64..1_000_000);
    let text = prop_oneof![Just(String::new()), "(?s).{0,200}", Just("data: x\r\n\n\u{2028}🦀".to_owned())];
    (text, prop::collection::vec(call, 0..4), stop, usage).prop_map(|(text, tool_calls, stop, usage)| {
        let (fresh, cached_input, cache_write, output) = usage;
        let done = if tool_calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolCalls };
        let usage =
            TokenUsage { input: fresh + cached_input + cache_write, cached_input, cache_write, output };
        ModelReply { text, tool_calls, stop: stop.unwrap_or(done), usage }
    })
}

proptest! {
    #[test]
    fn what_a_client_reads_is_the_reply(reply in a_reply()) {
        for (api, stream) in ALL.into_iter().flat_map(|api| [(api, true), (api, false)]) {
            let body = write_reply(&asked(api, stream), &reply, "7");
            prop_assert_eq!(stream, matches!(body, ReplyBody::Events(_)));
            prop_assert_eq!(read(api, &body), Ok(carried(api, stream, &reply)), "{:?}: {:?}", api, body);
        }
    }
}

fn reply() -> ModelReply {
    ModelReply {
        text: "Hi.".into(),
        tool_calls: vec![
            ToolCall { id: "a".into(), tool: "patch".into(), arguments: r#"{"input":"x\ny"}"#.into() },
            ToolCall { id: "b".into(), tool: "many__spawn".into(), arguments: "{}".into() },
            ToolCall { id: "c".into(), tool: "patch".into(), arguments: "bare".into() },
        ],
        stop: StopReason::ToolCalls,
        usage: TokenUsage { input: 10, cached_input: 4, cache_write: 0, output: 3 },
    }
}

#[test]
fn anthropic_counts_cached_input_apart() {
    let ReplyBody::Events(text) = write_reply(&asked(ClientApi::Anthropic, true), &reply(), "7") else {
        panic!()
    };
    let kinds: Vec<String> = events(&text).into_iter().map(|event| event.event).collect();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let mut expected = vec!["message_start"];
    (0..4).for_each(|_| expected.extend(block));
    expected.extend(["message_delta", "message_stop"]);
    assert_eq!(kinds, expected);
    let start: Value = serde_json::from_str(&events(&text)[0].data).unwrap();
    assert_eq!(start["message"]["id"], "msg_7");
    assert_eq!(start["message"]["stop_reason"], Value::Null);
    assert_eq!(start["message"]["usage"]["input_tokens"], 6);
    assert_eq!(start["message"]["usage"]["cache_read_input_tokens"], 4);
}

#[test]
fn chat_ends_with_the_usage_if_that_is_asked_for() {
    let mut asked = asked(ClientApi::OpenaiChat, true);
    let with = write_reply(&asked, &reply(), "7");
    asked.includes_usage = false;
    let without = write_reply(&asked, &reply(), "7");
    let (ReplyBody::Events(with), ReplyBody::Events(without)) = (with, without) else { panic!() };
    assert_eq!(with.matches("\"usage\"").count(), 1);
    assert!(with.ends_with("\n\ndata: [DONE]\n\n") && without.ends_with("\n\ndata: [DONE]\n\n"));
    assert!(!without.contains("\"usage\""));
}

#[test]
fn a_client_gets_calls_of_the_tools_that_it_has() {
    let mut asked = asked(ClientApi::OpenaiResponses, true);
    let spawn = ClientTool::Namespaced { namespace: "many".into(), name: "spawn".into() };
    asked.renamed_tools =
        [("patch".to_owned(), ClientTool::Custom), ("many__spawn".to_owned(), spawn)].into();
    let ReplyBody::Events(text) = write_reply(&asked, &reply(), "7") else { panic!() };
    let all: Vec<Value> = events(&text).iter().map(|one| serde_json::from_str(&one.data).unwrap()).collect();
    for (at, event) in all.iter().enumerate() {
        assert_eq!(event["sequence_number"], at, "{event}");
    }
    let last = all.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    let output = &last["response"]["output"];
    let call = |item: &Value| json!([item["type"], item["name"], item["namespace"], item["input"]]);
    assert_eq!(call(&output[1]), json!(["custom_tool_call", "patch", null, "x\ny"]));
    assert_eq!(call(&output[2]), json!(["function_call", "spawn", "many", null]));
    assert_eq!(call(&output[3]), json!(["custom_tool_call", "patch", null, "bare"]));
    let done = all.iter().filter(|event| event["type"] == "response.output_item.done");
    let done: Vec<&Value> = done.map(|event| &event["item"]).collect();
    assert_eq!(done, output.as_array().unwrap().iter().collect::<Vec<_>>());
    let begun = all.iter().find(|event| event["item"]["type"] == "custom_tool_call").unwrap();
    assert_eq!((&begun["item"]["input"], &begun["item"]["status"]), (&json!(""), &json!("in_progress")));
}

#[test]
fn errors_are_of_the_format() {
    let told = |word: &str| ProviderMessage { word: word.into(), message: "no".into() };
    for (api, status, word) in [
        (ClientApi::Anthropic, 400, "invalid_request_error"),
        (ClientApi::Anthropic, 401, "authentication_error"),
        (ClientApi::Anthropic, 403, "permission_error"),
        (ClientApi::Anthropic, 404, "not_found_error"),
        (ClientApi::Anthropic, 413, "request_too_large"),
        (ClientApi::Anthropic, 429, "rate_limit_error"),
        (ClientApi::Anthropic, 502, "api_error"),
        (ClientApi::Anthropic, 529, "overloaded_error"),
        (ClientApi::OpenaiChat, 400, "invalid_request_error"),
        (ClientApi::OpenaiChat, 401, "invalid_api_key"),
        (ClientApi::OpenaiResponses, 429, "rate_limit_exceeded"),
        (ClientApi::OpenaiResponses, 502, "server_error"),
    ] {
        assert_eq!(read_error_body(write_error(api, status, "no").as_bytes()), told(word));
    }
    for api in ALL {
        for status in [400, 429, 502] {
            let event = write_error_event(api, status, "no");
            let mut stream = open_stream(api.model_api());
            let found = stream.take(&events(&event)[0]).unwrap_err();
            assert!(matches!(&found, WireError::Reported { message, .. } if message == "no"), "{found}");
        }
    }
}
