use serde_json::json;
use wf_core::agent::StopReason;
use wf_model::{ModelApi, TokenUsage};

use super::decode;
use crate::wire::{
    WireError, open_stream,
    tests::{check_cuts, closed_schema, conversation, encode, events, read_stream},
    usage_so_far,
};

pub(in crate::wire) const STREAM: &str = r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}
    {"choices":[{"index":0,"delta":{"content":"Grü"}}]}
    {"choices":[{"index":0,"delta":{"content":"n"}}]}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":""}}]}}]}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pa"}}]}}]}
    {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"list","arguments":"{}"}},{"index":0,"function":{"arguments":"th"}}]}}]}
    {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
    {"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":40}}}
    [DONE]"#;

#[test]
fn a_conversation_is_encoded() {
    let body = encode(ModelApi::Openai, &conversation(), true);
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
    let read = json!({"name": "read", "description": "Reads.", "parameters": {"type": "object"}});
    let answer = json!({"name": "answer", "schema": closed_schema(), "strict": true});
    let expected = json!({
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Read it."},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                call("a", r#"{"path":"x"}"#), call("b", "{broken"),
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "text"},
            {"role": "tool", "tool_call_id": "b", "content": "Error: no JSON"},
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "Now."},
        ],
        "stream": true,
        "max_completion_tokens": 500,
        "stream_options": {"include_usage": true},
        "tools": [{"type": "function", "function": read}],
        "response_format": {"type": "json_schema", "json_schema": answer},
        "temperature": 0.5,
    });
    assert_eq!(body, expected);
    let compatible = encode(ModelApi::Openai, &conversation(), false);
    assert_eq!((compatible.get("max_completion_tokens"), &compatible["max_tokens"]), (None, &json!(500)));
}

#[test]
fn a_stream_becomes_a_reply() {
    let reply = read_stream(ModelApi::Openai, &events(STREAM)).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("Grün", StopReason::ToolCalls));
    let calls: Vec<_> =
        reply.tool_calls.iter().map(|one| (one.id.as_str(), one.arguments.as_str())).collect();
    assert_eq!(calls, [("c1", "{\"path"), ("c2", "{}")]);
    assert_eq!(reply.usage, TokenUsage { input: 50, cached_input: 40, cache_write: 0, output: 7 });
    check_cuts(ModelApi::Openai, STREAM, 7);
}

#[test]
fn calls_without_indexes_are_told_apart_by_their_ids() {
    let lines = r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}
        {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"y","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let reply = read_stream(ModelApi::Openai, &events(lines)).unwrap();
    let calls: Vec<_> =
        reply.tool_calls.iter().map(|one| (one.id.as_str(), one.arguments.as_str())).collect();
    assert_eq!(
        (calls.as_slice(), reply.stop),
        ([("a", "{}"), ("b", "{}")].as_slice(), StopReason::ToolCalls)
    );
}

#[test]
fn a_call_without_an_id_is_an_error() {
    let lines = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"x"}}]},"finish_reason":"stop"}]}"#;
    let found = read_stream(ModelApi::Openai, &events(lines));
    assert_eq!(found, Err(WireError::Missing { field: "tool_calls[0].id".into() }));
}

#[test]
fn a_reply_has_a_bounded_number_of_calls() {
    let mut stream = open_stream(ModelApi::Openai);
    for index in 0..=1_000 {
        let line =
            format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{index},"id":"c{index}"}}]}}}}]}}"#);
        let taken = stream.take(&events(&line)[0]);
        assert_eq!(taken.is_ok(), index < 1_000, "{taken:?}");
    }
}

#[test]
fn a_refusal_is_a_reply() {
    let lines = r#"{"choices":[{"delta":{"refusal":"No"}}]}
        {"choices":[{"delta":{"refusal":"."},"finish_reason":"stop"}]}"#;
    let reply = read_stream(ModelApi::Openai, &events(lines)).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("No.", StopReason::Refusal));
    let whole =
        json!({"choices": [{"message": {"content": null, "refusal": "No."}, "finish_reason": "stop"}]});
    assert_eq!(decode(&whole).unwrap(), reply);
}

#[test]
fn a_reply_that_broke_off_is_billed_by_an_estimate() {
    let mut stream = open_stream(ModelApi::Openai);
    let line = format!(r#"{{"choices":[{{"delta":{{"reasoning_content":"{}"}}}}]}}"#, "x".repeat(70));
    stream.take(&events(&line)[0]).unwrap();
    let request = conversation();
    let usage = usage_so_far(&*stream, &request);
    assert_eq!((usage.input, usage.output), (request.estimated_tokens(), 20));
}

#[test]
fn a_whole_reply_is_read() {
    let body = |finish: &str| {
        json!({
            "object": "chat.completion",
            "choices": [{
                "message": {"content": null, "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "read", "arguments": "not JSON"}},
                ]},
                "finish_reason": finish,
            }],
            "usage": {"prompt_tokens": 5, "completion_tokens": 6},
        })
    };
    let reply = decode(&body("tool_calls")).unwrap();
    assert_eq!(reply.tool_calls[0].arguments, "not JSON");
    assert_eq!(reply.usage, TokenUsage { input: 5, cached_input: 0, cache_write: 0, output: 6 });
    for (word, stop) in [
        ("stop", StopReason::ToolCalls),
        ("length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
    ] {
        assert_eq!(decode(&body(word)).unwrap().stop, stop, "{word}");
    }
    let mut broken = body("stop");
    broken["choices"][0]["finish_reason"] = json!(null);
    assert_eq!(decode(&broken), Err(WireError::Missing { field: "choices[0].finish_reason".into() }));
    broken["choices"] = json!([]);
    assert_eq!(decode(&broken), Err(WireError::Missing { field: "choices[0]".into() }));
}

#[test]
fn an_error_in_a_stream_ends_it() {
    let error = r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#;
    let reported =
        WireError::Reported { word: "server_error".into(), message: "The server had an error".into() };
    assert_eq!(read_stream(ModelApi::Openai, &events(error)), Err(reported));
}
