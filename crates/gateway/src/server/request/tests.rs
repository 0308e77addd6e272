use serde_json::{Value, json};
use wf_core::agent::{Message, ModelRequest, ToolCall, ToolResult};
use wf_model::ModelDefinition;

use super::{RequestError, read_request};
use crate::{
    server::{
        ClientApi::{self, Anthropic, OpenaiChat, OpenaiResponses},
        ClientRequest, ClientTool,
    },
    wire::{WireRequest, encode_request},
};

const ALL: [ClientApi; 3] = [Anthropic, OpenaiChat, OpenaiResponses];

fn read(api: ClientApi, body: &Value) -> Result<ClientRequest, RequestError> {
    read_request(api, &body.to_string())
}

fn user(text: &str) -> Message {
    Message::User { text: text.into() }
}

fn call(id: &str, tool: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), tool: tool.into(), arguments: arguments.into() }
}

fn said(text: &str, tool_calls: Vec<ToolCall>) -> Message {
    Message::Assistant { text: text.into(), tool_calls }
}

fn results(all: &[(&str, &str, bool)]) -> Message {
    let result = |(id, text, is_error): &(&str, &str, bool)| ToolResult {
        id: (*id).into(),
        text: (*text).into(),
        is_error: *is_error,
    };
    Message::Tool { results: all.iter().map(result).collect() }
}

/// Returns a request, as a format can carry it.
fn carried(api: ClientApi) -> ModelRequest {
    let mut request = crate::wire::tests::conversation();
    request.system = "Sei kürz.\n\nZweitens: 日本 🦀".into();
    request.messages.insert(3, user("And, in a row:"));
    // No format carries an empty reply of the model.
    request.messages.retain(|message| *message != said("", Vec::new()));
    if api != Anthropic {
        // These formats have no field for a failure.
        request.messages[2] = results(&[("a", "text", false), ("b", "Error: no JSON", false)]);
        return request;
    }
    // This one has objects only.
    let Message::Assistant { tool_calls, .. } = &mut request.messages[1] else { panic!() };
    tool_calls[1].arguments = r#"{"INVALID_JSON":"{broken"}"#.into();
    request
}

#[test]
fn what_is_sent_to_a_provider_is_read_as_it_was() {
    for (api, stream) in ALL.into_iter().flat_map(|api| [(api, true), (api, false)]) {
        let mut request = carried(api);
        for (max_output, temperature) in [(500, Some(0.5)), (7, None)] {
            request.max_output = max_output;
            request.temperature = temperature;
            for is_inventor in [true, false] {
                let wire = WireRequest { request: &request, model: "m-1", max_output, stream, is_inventor };
                let body = encode_request(api.model_api(), &wire).unwrap();
                let expected = ClientRequest {
                    api,
                    model: "m-1".into(),
                    stream,
                    includes_usage: stream && api == OpenaiChat,
                    max_output: Some(max_output),
                    renamed_tools: [].into(),
                    request: request.clone(),
                };
                assert_eq!(read(api, &body), Ok(expected), "{api:?}");
            }
        }
    }
}

#[test]
fn a_short_request_has_defaults() {
    for (api, body) in [
        (Anthropic, json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]})),
        (OpenaiChat, json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]})),
        (OpenaiResponses, json!({"model": "m", "input": "hi"})),
    ] {
        let read = read(api, &body).unwrap();
        assert!(!read.stream && !read.includes_usage && read.max_output.is_none());
        assert_eq!(read.request.max_output, ModelDefinition::MAX_OUTPUT);
        assert_eq!(read.request.messages, [user("hi")]);
        assert!(read.request.system.is_empty() && read.request.tools.is_empty());
    }
}

/// The form in which Claude Code 2.1 asks.
#[test]
fn claude_code_is_understood() {
    let mark = json!({"type": "ephemeral"});
    let body = json!({
        "model": "strong",
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "<system-reminder>x</system-reminder>"},
                {"type": "text", "text": "say hi"},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I "},
                {"type": "text", "text": "read."},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a"}},
                {"type": "tool_use", "id": "t2", "name": "Read", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "text", "text": "mind the time"},
                {"tool_use_id": "t1", "type": "tool_result", "content": "1\tone"},
                {"tool_use_id": "t2", "type": "tool_result", "is_error": true, "cache_control": mark,
                 "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "file"}]},
                {"type": "text", "text": "and the money"},
            ]},
            {"role": "system", "content": "late"},
            {"role": "user", "content": [{"tool_use_id": "t3", "type": "tool_result"}]},
        ],
        "system": [
            {"type": "text", "text": "You are.", "cache_control": mark},
            {"type": "text", "text": "CWD: /w"},
        ],
        "tools": [
            {"name": "Read", "description": "reads", "input_schema": {"type": "object"}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
        ],
        "metadata": {"user_id": "{}"},
        "max_tokens": 32000,
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": []},
        "output_config": {"effort": "high"},
        "stream": true,
    });
    let read = read(Anthropic, &body).unwrap();
    assert_eq!(read.request.system, "You are.\n\nCWD: /w\n\nlate");
    assert_eq!(read.max_output, Some(32_000));
    let calls = vec![call("t1", "Read", r#"{"file_path":"/a"}"#), call("t2", "Read", "{}")];
    let expected = [
        user("<system-reminder>x</system-reminder>"),
        user("say hi"),
        said("I read.", calls),
        results(&[("t1", "1\tone", false), ("t2", "no\nfile", true)]),
        user("mind the time"),
        user("and the money"),
        results(&[("t3", "", false)]),
    ];
    assert_eq!(read.request.messages, expected);
    let names: Vec<_> = read.request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["Read"]);
    assert_eq!(read.request.answer_schema, None);
}

/// Returns a request in the form in which Codex 0.171 asks.
fn codex_request() -> Value {
    let text = |kind: &str, text: &str| json!([{"type": kind, "text": text}]);
    json!({
        "model": "strong",
        "stream": true,
        "instructions": "Be good.",
        "input": [
            {"type": "message", "id": "m1", "role": "developer", "content": text("input_text", "You code.")},
            {"type": "message", "role": "user", "content": text("input_text", "say hi")},
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            {"type": "message", "role": "assistant", "content": text("output_text", "I look.")},
            {"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"ls\"}", "call_id": "c1"},
            {"type": "custom_tool_call", "name": "apply_patch", "input": "*** \"é\"", "call_id": "c2"},
            {"type": "function_call", "namespace": "many", "name": "spawn", "arguments": "{", "call_id": "c3"},
            {"type": "message", "role": "assistant", "content": text("output_text", " Now.")},
            {"type": "function_call_output", "call_id": "c1", "output": "a\nb"},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": text("input_text", "done")},
            {"type": "function_call_output", "call_id": "c3", "output": "none"},
            {"type": "local_shell_call", "call_id": "c4", "action": {"type": "exec", "command": ["ls"]}},
            {"type": "local_shell_call_output", "call_id": "c4", "output": "x"},
            {"type": "message", "role": "assistant", "content": text("output_text", "First.")},
            {"type": "message", "role": "assistant", "content": text("output_text", "Second.")},
        ],
        "tools": [
            {"type": "function", "name": "exec_command", "description": "runs", "strict": false,
             "parameters": {"type": "object"}},
            {"type": "custom", "name": "apply_patch", "description": "Edits.",
             "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}},
            {"type": "namespace", "name": "many", "description": "agents", "tools": [
                {"type": "function", "name": "spawn", "parameters": {"type": "object"}},
            ]},
            {"type": "web_search", "external_web_access": false},
        ],
        "tool_choice": "auto",
        "reasoning": {"summary": "auto"},
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "text": {"format": {"type": "json_schema", "strict": true, "name": "x", "schema": {"type": "object"}}},
    })
}

#[test]
fn codex_is_understood() {
    let read = read(OpenaiResponses, &codex_request()).unwrap();
    assert_eq!(read.request.system, "Be good.\n\nYou code.");
    let calls = vec![
        call("c1", "exec_command", r#"{"cmd":"ls"}"#),
        call("c2", "apply_patch", r#"{"input":"*** \"é\""}"#),
        call("c3", "many__spawn", "{"),
    ];
    let shell = call("c4", "local_shell", r#"{"type":"exec","command":["ls"]}"#);
    let expected = [
        user("say hi"),
        // Results must follow the calls, so the later text joins the reply.
        said("I look. Now.", calls),
        results(&[("c1", "a\nb", false), ("c2", "done", false), ("c3", "none", false)]),
        said("", vec![shell]),
        results(&[("c4", "x", false)]),
        said("First.", Vec::new()),
        said("Second.", Vec::new()),
    ];
    assert_eq!(read.request.messages, expected);
    let names: Vec<_> = read.request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["exec_command", "apply_patch", "many__spawn"]);
    let description = &read.request.tools[1].description;
    assert_eq!(description, "Edits.\n\nThe input must follow this grammar (lark):\nstart: x");
    let spawn = ClientTool::Namespaced { namespace: "many".into(), name: "spawn".into() };
    let renamed = [("apply_patch".to_owned(), ClientTool::Custom), ("many__spawn".to_owned(), spawn)];
    assert_eq!(read.renamed_tools, renamed.into());
    assert_eq!(read.request.answer_schema, Some(json!({"type": "object"})));
}

#[test]
fn a_client_can_forbid_tools_and_ask_for_any_json() {
    let function = json!({"name": "f", "parameters": {"type": "object"}});
    let tools =
        json!([{"type": "function", "function": function}, {"type": "custom", "custom": {"name": "g"}}]);
    let body = |choice: Value| {
        json!({
            "model": "m",
            "messages": [{"role": "user", "content": "x"}],
            "tools": tools,
            "tool_choice": choice,
            "response_format": {"type": "json_object"},
        })
    };
    for (choice, count) in
        [(json!("none"), 0), (json!({"type": "none"}), 0), (json!("auto"), 1), (json!({"type": "any"}), 1)]
    {
        let read = read(OpenaiChat, &body(choice)).unwrap();
        assert_eq!(read.request.tools.len(), count);
        assert_eq!(read.request.answer_schema, Some(json!({"type": "object"})));
    }
}

#[test]
fn a_refusal_names_the_field() {
    let user = |content: Value| json!({"model": "m", "messages": [{"role": "user", "content": content}]});
    let image = json!([{"type": "text", "text": "see"}, {"type": "image", "source": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t", "content": image}]);
    let seen = json!([{"type": "image_url", "image_url": {"url": "data:"}}]);
    let of = |input: Value| json!({"model": "m", "input": [input]});
    for (api, body, expected) in [
        (Anthropic, json!([]), "lacks `model`"),
        (Anthropic, json!({"model": 1}), "`model` of the request is not text"),
        (Anthropic, json!({"model": "m"}), "lacks `messages`"),
        (Anthropic, json!({"model": "m", "messages": {}}), "`messages` of the request is not a list"),
        (Anthropic, json!({"model": "m", "messages": [{}]}), "lacks `messages[0].content`"),
        (
            Anthropic,
            json!({"model": "m", "messages": [], "stream": 1}),
            "`stream` of the request is not true or",
        ),
        (
            Anthropic,
            json!({"model": "m", "messages": [], "max_tokens": -1}),
            "`max_tokens` of the request is not a",
        ),
        (Anthropic, json!({"model": "m", "messages": [], "temperature": "x"}), "is not a number"),
        (Anthropic, json!({"model": "m", "messages": [], "tools": [{}]}), "lacks `tools[0].name`"),
        (Anthropic, user(image.clone()), "`messages[0].content[1]` of the request has an image"),
        (Anthropic, user(result), "`messages[0].content[0].content[1]` of the request has an image"),
        (Anthropic, user(json!([{"type": "document"}])), "has a document"),
        (Anthropic, user(json!([{"type": "odd"}])), "has the type \"odd\""),
        (OpenaiChat, user(seen), "`messages[0].content[0]` of the request has an image"),
        (OpenaiChat, user(json!([{"type": "input_audio"}])), "has a sound"),
        (OpenaiChat, json!({"model": "m", "messages": [{"role": "odd"}]}), "the role \"odd\""),
        (OpenaiChat, json!({"model": "m", "messages": [], "n": 2}), "several choices"),
        (OpenaiResponses, json!({"model": "m"}), "lacks `input`"),
        (OpenaiResponses, of(json!({"type": "item_reference", "id": "x"})), "the type \"item_reference\""),
        (OpenaiResponses, of(json!({"role": "user", "content": [{"type": "input_image"}]})), "has an image"),
        (
            OpenaiResponses,
            json!({"model": "m", "previous_response_id": "r"}),
            "`previous_response_id` of the request",
        ),
    ] {
        let refused = read(api, &body).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    let broken = read_request(Anthropic, "{\"model\":").unwrap_err().to_string();
    assert!(broken.starts_with("the request is not JSON: "), "{broken}");
}

proptest::proptest! {
    #[test]
    fn no_request_is_a_panic(
        api in proptest::sample::select(ALL.to_vec()),
        changes in proptest::collection::vec(
            (proptest::prelude::any::<proptest::sample::Index>(), "[0-9a-z\\[\\]{}\",:.-]?"), 1..6),
    ) {
        let request = carried(api);
        let wire = WireRequest { request: &request, model: "m", max_output: 1, stream: true, is_inventor: true };
        let mut text = encode_request(api.model_api(), &wire).unwrap().to_string();
        for (at, new) in &changes {
            let at = text.floor_char_boundary(at.index(text.len()));
            let end = text.ceil_char_boundary(at + 1);
            text.replace_range(at..end, new);
        }
        let _ = read_request(api, &text);
    }
}
