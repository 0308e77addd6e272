use std::fs;

use tempfile::TempDir;
use wf_core::agent::{Message, StopReason, ToolResult};
use wf_model::TokenUsage;

use super::{ModelScript, load_script};
use crate::{
    retry::{CallFailureClass, ModelFailureKind},
    tests::request,
};

const SCRIPT: &str = r#"
- tool_calls:
    - tool: read
      arguments: {path: notes.md, lines: [1, 2]}
    - tool: list
    - {tool: run, arguments: "{broken"}
  expect: {contains: "go"}
- text: |
    done
  expect:
    contains: '# Notes'
  usage: {input: 100, output: 20, cached_input: 50}
  stop: max_tokens
- error: {status: 429, retry_after: 7}
"#;

fn script() -> ModelScript {
    ModelScript::parse("s.yaml", SCRIPT).unwrap()
}

fn reply_of(text: &str) -> Message {
    Message::Assistant { text: text.into(), tool_calls: Vec::new() }
}

#[test]
fn replies_follow_the_conversation() {
    let mut request = request("go");
    let first = script().reply(&request).unwrap();
    assert_eq!(first, script().reply(&request).unwrap(), "the same call has the same reply");
    let calls: Vec<_> =
        first.tool_calls.iter().map(|one| (one.id.as_str(), one.arguments.as_str())).collect();
    let arguments = r#"{"path":"notes.md","lines":[1,2]}"#;
    assert_eq!(calls, [("call_1_1", arguments), ("call_1_2", "{}"), ("call_1_3", "{broken")]);
    assert_eq!(first.stop, StopReason::ToolCalls);
    // 11 characters of the request; names and arguments of the calls.
    assert_eq!(first.usage, TokenUsage { input: 3, cached_input: 0, cache_write: 0, output: 15 });

    request.messages.push(Message::Assistant { text: String::new(), tool_calls: first.tool_calls });
    let results =
        ["x", "# Notes"].map(|text| ToolResult { id: "1".into(), text: text.into(), is_error: false });
    request.messages.push(Message::Tool { results: results.into() });
    let second = script().reply(&request).unwrap();
    assert_eq!((second.text.as_str(), second.stop), ("done\n", StopReason::MaxTokens));
    assert_eq!(second.usage, TokenUsage { input: 100, cached_input: 50, cache_write: 0, output: 20 });

    request.messages.push(reply_of("done"));
    let third = script().reply(&request).unwrap_err();
    assert_eq!((third.kind, third.class()), (ModelFailureKind::RateLimited, CallFailureClass::Transient));
    assert_eq!(third.retry_after.unwrap().as_secs(), 7);

    request.messages.push(reply_of("once more"));
    let fourth = script().reply(&request).unwrap_err();
    assert_eq!(fourth.message, "s.yaml has 3 replies, and this is call 4 of the conversation: add one");
    assert_eq!(fourth.class(), CallFailureClass::Permanent);
}

#[test]
fn an_unexpected_message_fails() {
    let failure = script().reply(&request("stop")).unwrap_err();
    assert_eq!(failure.kind, ModelFailureKind::Unscripted);
    let message = "reply 1 of s.yaml expects that the last message contains \"go\", and it does not";
    assert_eq!(failure.message, message);
}

#[test]
fn the_first_message_chooses_the_conversation() {
    let text = "
- when: planner
  replies:
    - text: a plan
- when: worker
  replies:
    - text: the work
    - text: more work
";
    let script = ModelScript::parse("s.yaml", text).unwrap();
    assert_eq!(script.reply(&request("you are the planner")).unwrap().text, "a plan");
    let mut work = request("you are a worker");
    work.messages.push(reply_of("the work"));
    work.messages.push(Message::User { text: "as the planner said".into() });
    assert_eq!(script.reply(&work).unwrap().text, "more work");
    let other = script.reply(&request("you are a judge")).unwrap_err();
    assert_eq!(other.kind, ModelFailureKind::Unscripted);
    for (text, expected) in [
        ("- replies: []", "1:1: a script has at least one reply"),
        ("- replies: [{text: a}]\n- when: b", "2:3: `replies` is missing"),
        ("- replies: [{text: a}]\n- text: b", "2:3: unknown key `text`: expected when, replies"),
        (
            "- when: 1\n  replies: [{text: a}]",
            "1:9: expected text, found a number: put it in quotes if it is text",
        ),
    ] {
        let error = ModelScript::parse("s.yaml", text).unwrap_err();
        assert_eq!(error.to_string(), format!("s.yaml:{expected}"), "{text}");
    }
}

#[test]
fn mistakes_have_locations() {
    for (text, expected) in [
        ("", "1:1: a script has at least one reply"),
        ("text: a", "1:1: expected a list, found a mapping"),
        ("- a", "1:3: expected a mapping, found text"),
        ("- stop: end_turn", "1:3: a reply needs `text`, `tool_calls` or `error`"),
        ("- text: 5", "1:9: expected text, found a number: put it in quotes if it is text"),
        (
            "- text: a\n  txt: b",
            "2:3: unknown key `txt`: expected text, tool_calls, usage, stop, error, expect",
        ),
        ("- text: a\n  text: b", "2:3: the duplicate key `text` is not supported"),
        ("- text: &x a", "1:9: an anchor is not supported"),
        ("- text: a\n  stop: later", "2:9: expected one of end_turn, tool_calls, max_tokens, refusal"),
        ("- text: a\n  usage: {input: -1}", "2:18: expected a whole number, found a number"),
        (
            "- text: a\n  usage: {tokens: 1}",
            "2:11: unknown key `tokens`: expected input, output, cached_input, cache_write",
        ),
        ("- tool_calls: [{arguments: {}}]", "1:17: `tool` is missing"),
        ("- tool_calls: [{tool: a, arguments: [1]}]", "1:37: expected a mapping or text, found a list"),
        ("- error: {status: 200}", "1:19: a status is a number from 400 to 599"),
        (
            "- error: {status: 500}\n  text: a",
            "1:3: an `error` happens instead of a reply: leave out the rest",
        ),
        ("- expect: {has: a}", "1:12: unknown key `has`: expected contains"),
    ] {
        let error = ModelScript::parse("s.yaml", text).unwrap_err();
        assert_eq!(error.to_string(), format!("s.yaml:{expected}"), "{text}");
    }
    let broken = ModelScript::parse("s.yaml", "- text: 'a\n").unwrap_err();
    assert!(broken.to_string().starts_with("s.yaml:"), "{broken}");
}

#[test]
fn a_script_is_a_file_of_the_workspace() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("workspace");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("s.yaml"), "- text: a\n").unwrap();
    fs::write(dir.path().join("outside.yaml"), "- text: a\n").unwrap();
    fs::write(root.join("binary.yaml"), b"\xff").unwrap();
    std::os::unix::fs::symlink("../outside.yaml", root.join("link.yaml")).unwrap();
    assert_eq!(load_script(&root, "s.yaml").unwrap().conversations[0].replies[0].text, "a");
    for (path, expected) in [
        ("missing.yaml", "missing.yaml: cannot read the script: "),
        ("../outside.yaml", "../outside.yaml: a script must be in the workspace"),
        ("link.yaml", "link.yaml: a script must be in the workspace"),
        ("/etc/passwd", "/etc/passwd: a script must be in the workspace"),
        (".", ".: a script must be a file"),
        ("binary.yaml", "binary.yaml: cannot read the script: "),
    ] {
        let error = load_script(&root, path).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
