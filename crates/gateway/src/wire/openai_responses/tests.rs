use serde_json::{Value, json};
use wf_core::agent::StopReason;
use wf_model::{ModelApi, TokenUsage};

use super::decode;
use crate::wire::{
    WireError,
    tests::{check_cuts, closed_schema, conversation, encode, events, read_stream},
};

pub(in crate::wire) fn output() -> Value {
    json!([
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "Grün", "annotations": []},
        ]},
        {"type": "function_call", "id": "f", "call_id": "c1", "name": "read", "arguments": "{\"pa"},
    ])
}

pub(in crate::wire) fn response(status: &str, output: &Value) -> Value {
    json!({
        "object": "response",
        "status": status,
        "error": null,
        "output": output,
        "usage": {
            "input_tokens": 50,
            "input_tokens_details": {"cached_tokens": 40},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 3},
        },
    })
}

pub(in crate::wire) fn stream(last: &str, response: &Value) -> String {
    let mut lines = vec![
        json!({"type": "response.created", "response": {"status": "in_progress", "output": []}}),
        json!({"type": "response.output_text.delta", "delta": "Gr"}),
        json!({"type": "response.function_call_arguments.delta", "delta": "{"}),
    ];
    for item in output().as_array().unwrap() {
        lines.push(json!({"type": "response.output_item.done", "item": item}));
    }
    lines.push(json!({"type": last, "response": response}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_conversation_is_encoded() {
    let body = encode(ModelApi::OpenaiResponses, &conversation(), true);
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": arguments});
    let expected = json!({
        "model": "m-1",
        "input": [
            {"role": "user", "content": "Read it."},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            call("a", r#"{"path":"x"}"#),
            call("b", "{broken"),
            {"type": "function_call_output", "call_id": "a", "output": "text"},
            {"type": "function_call_output", "call_id": "b", "output": "Error: no JSON"},
            {"role": "user", "content": "Go on."},
            {"role": "user", "content": "Now."},
        ],
        "max_output_tokens": 500,
        "stream": true,
        "store": false,
        "instructions": "Be brief.",
        "tools": [{
            "type": "function",
            "name": "read",
            "description": "Reads.",
            "parameters": {"type": "object"},
            "strict": false,
        }],
        "text": {"format": {
            "type": "json_schema", "name": "answer", "schema": closed_schema(), "strict": true,
        }},
        "temperature": 0.5,
    });
    assert_eq!(body, expected);
}

#[test]
fn a_stream_becomes_a_reply() {
    let lines = stream("response.completed", &response("completed", &output()));
    let reply = read_stream(ModelApi::OpenaiResponses, &events(&lines)).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("Grün", StopReason::ToolCalls));
    let call = &reply.tool_calls[0];
    assert_eq!((call.id.as_str(), call.arguments.as_str()), ("c1", "{\"pa"));
    assert_eq!(reply.usage, TokenUsage { input: 50, cached_input: 40, cache_write: 0, output: 7 });
    assert_eq!(decode(&response("completed", &output())), Ok(reply.clone()));
    check_cuts(ModelApi::OpenaiResponses, &lines, 7);
    // A server that leaves the output out of the last event.
    let bare = stream("response.completed", &response("completed", &json!([])));
    assert_eq!(read_stream(ModelApi::OpenaiResponses, &events(&bare)), Ok(reply));
}

#[test]
fn ends_have_reasons() {
    for (reason, stop) in [
        ("max_output_tokens", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("a_new_one", StopReason::MaxTokens),
    ] {
        let mut cut = response("incomplete", &output());
        cut["incomplete_details"] = json!({"reason": reason});
        let lines = stream("response.incomplete", &cut);
        assert_eq!(read_stream(ModelApi::OpenaiResponses, &events(&lines)).unwrap().stop, stop, "{reason}");
    }
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]);
    let reply = decode(&response("completed", &refusal)).unwrap();
    assert_eq!((reply.text.as_str(), reply.stop), ("No.", StopReason::Refusal));
    assert_eq!(decode(&response("in_progress", &output())), Err(WireError::Cut));
}

#[test]
fn what_is_missing_is_named() {
    let mut broken = response("completed", &output());
    broken["output"][2]["call_id"] = json!(null);
    assert_eq!(decode(&broken), Err(WireError::Missing { field: "output[2].call_id".into() }));
    broken["output"] = json!("text");
    assert_eq!(decode(&broken), Err(WireError::Kind { field: "output".into(), expected: "a list" }));
}

#[test]
fn an_error_ends_a_stream() {
    let reported = WireError::Reported { word: "server_error".into(), message: "sorry".into() };
    let error = json!({"code": "server_error", "message": "sorry"});
    for line in [
        json!({"type": "response.failed", "response": {"status": "failed", "error": error}}),
        json!({"type": "error", "code": "server_error", "message": "sorry", "param": null}),
        json!({"type": "error", "error": error}),
    ] {
        let found = read_stream(ModelApi::OpenaiResponses, &events(&line.to_string()));
        assert_eq!(found, Err(reported.clone()), "{line}");
    }
}
