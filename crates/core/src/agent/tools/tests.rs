use proptest::prelude::*;
use serde_json::{Value, json};
use wf_base::keyword::Keyword as _;
use wf_model::AgentTool;

use super::{AgentRequest, RESULT_CHARS, ToolRequest, cut_ends, cut_result, parse_call, tool_definition};
use crate::{
    agent::{Question, SkillRequest, ToolCall},
    memory::MemoryQuery,
};

fn called(tools: &[AgentTool], tool: &str, arguments: &str) -> Result<AgentRequest, String> {
    let call = ToolCall { id: "1".into(), tool: tool.into(), arguments: arguments.into() };
    parse_call(tools, &call).map_err(|mistake| mistake.to_string())
}

fn parsed(tool: &str, arguments: &str) -> ToolRequest {
    match called(AgentTool::ALL, tool, arguments).unwrap() {
        AgentRequest::Sandbox(request) => request,
        other => panic!("{other:?}"),
    }
}

fn mistake(tool: &str, arguments: &str, sentence: &str) {
    assert_eq!(called(AgentTool::ALL, tool, arguments), Err(sentence.to_owned()), "{arguments}");
}

#[test]
fn calls_become_requests() {
    let path = || "a b.txt".to_owned();
    let read = |offset, limit| ToolRequest::Read { path: path(), offset, limit };
    assert_eq!(parsed("read", r#"{"path": "a b.txt"}"#), read(None, None));
    assert_eq!(parsed("read", r#"{"limit": 2.0, "path": "a b.txt", "offset": 7}"#), read(Some(7), Some(2)));
    assert_eq!(parsed("list", " "), ToolRequest::List { path: None });
    assert_eq!(parsed("list", r#"{"path": "a b.txt"}"#), ToolRequest::List { path: Some(path()) });
    assert_eq!(
        parsed("search", r#"{"pattern": "fn \\w+", "glob": "*.rs"}"#),
        ToolRequest::Search { pattern: r"fn \w+".into(), path: None, glob: Some("*.rs".into()) }
    );
    assert_eq!(
        parsed("write", r#"{"path": "a b.txt", "text": ""}"#),
        ToolRequest::Write { path: path(), text: String::new() }
    );
    assert_eq!(
        parsed("edit", r#"{"path": "a b.txt", "old": "\n", "new": ""}"#),
        ToolRequest::Edit { path: path(), old: "\n".into(), new: String::new() }
    );
    assert_eq!(
        parsed("run", r#"{"script": "make", "timeout_seconds": 86400}"#),
        ToolRequest::Run { script: "make".into(), timeout_seconds: Some(86_400) }
    );
}

#[test]
fn calls_that_the_engine_carries_out_become_requests_too() {
    let parsed = |tool: &str, arguments: &str| called(AgentTool::ALL, tool, arguments).unwrap();
    let ask = Question { question: "Which?".into(), choices: vec!["a".into(), "b".into()] };
    assert_eq!(parsed("ask", r#"{"question": "Which?", "choices": ["a", "b"]}"#), AgentRequest::Ask(ask));
    let arguments = json!({"path": "a", "deep": {"x": [1]}}).as_object().unwrap().clone();
    let skill = SkillRequest { skill: "words".into(), script: "count".into(), arguments };
    let text = r#"{"skill": "words", "script": "count", "arguments": {"path": "a", "deep": {"x": [1]}}}"#;
    assert_eq!(parsed("skill", text), AgentRequest::Skill(skill));
    let query = MemoryQuery { text: "curl".into(), limit: Some(3) };
    assert_eq!(parsed("memory", r#"{"query": "curl", "limit": 3}"#), AgentRequest::Memory(query));
    assert_eq!(parsed("fetch", r#"{"url": "https://a.b/"}"#), AgentRequest::Fetch("https://a.b/".into()));
    mistake(
        "ask",
        r#"{"question": "Which?", "choices": ["a", ""]}"#,
        "the argument `choices` of `ask` must be a list of texts that are not empty, not one with something else in it",
    );
    mistake(
        "skill",
        r#"{"skill": "a", "script": "b", "arguments": "c"}"#,
        "the argument `arguments` of `skill` must be an object, not a text",
    );
    mistake(
        "memory",
        r#"{"query": "a", "limit": 51}"#,
        "the argument `limit` of `memory` must be a whole number from 1 to 50, not 51",
    );
    mistake("fetch", r#"{"url": "a", "method": "POST"}"#, "`fetch` has no argument \"method\"; it has `url`");
}

#[test]
fn a_tool_must_exist_and_be_listed() {
    let tools = [AgentTool::Read, AgentTool::List];
    let told = |tools: &[AgentTool], tool: &str| called(tools, tool, "{").unwrap_err();
    assert_eq!(told(&tools, "bash"), "there is no tool \"bash\"; the tools are `read`, `list`");
    assert_eq!(told(&tools, "Read"), "there is no tool \"Read\"; the tools are `read`, `list`");
    assert_eq!(told(&[], "a\n"), "there is no tool \"a\\n\"; this step has no tools");
    assert_eq!(told(&tools, "run"), "this step may not use the tool `run`; the tools are `read`, `list`");
    assert!(told(&tools, &"ä".repeat(10_000)).len() < 300);
}

#[test]
fn arguments_must_be_an_object_of_json() {
    for text in ["{", "{'path': 1}", r#"{"path": "a"} x"#, r#"{"path": "\ud800"}"#, &"[".repeat(100_000)] {
        let told = called(AgentTool::ALL, "read", text).unwrap_err();
        assert!(told.starts_with("the arguments of `read` are not JSON: "), "{told}");
    }
    for (text, kind) in [
        ("null", "null"),
        ("[]", "a list"),
        ("\"{}\"", "a text"),
        ("1", "a number"),
        ("true", "true or false"),
    ] {
        mistake("read", text, &format!("the arguments of `read` must be a JSON object, not {kind}"));
    }
}

#[test]
fn the_first_mistake_is_told() {
    mistake(
        "read",
        r#"{"path": "a", "path": "b"}"#,
        "the arguments of `read` have the key \"path\" more than once; give it once",
    );
    mistake(
        "read",
        r#"{"file": "a", "lines": 1}"#,
        "`read` has no argument \"file\"; it has `path`, `offset`, `limit`",
    );
    mistake("write", r#"{"text": ""}"#, "`write` needs the argument `path`");
    mistake("search", "{}", "`search` needs the argument `pattern`");
    mistake("read", r#"{"path": 1}"#, "the argument `path` of `read` must be a text, not a number");
    mistake("list", r#"{"path": null}"#, "the argument `path` of `list` must be a text, not null");
    mistake("list", r#"{"path": ""}"#, "the argument `path` of `list` must be a text, not an empty one");
    mistake(
        "run",
        r#"{"script": "a\u0000b"}"#,
        "the argument `script` of `run` must be a text without NUL characters, not one with such a character",
    );
    let count = "the argument `limit` of `read` must be a whole number, at least 1, not ";
    for (value, found) in [
        ("0", "0"),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ("1e300", "1e+300"),
        ("\"3\"", "a text"),
        ("{}", "an object"),
    ] {
        mistake("read", &format!(r#"{{"path": "a", "limit": {value}}}"#), &format!("{count}{found}"));
    }
    mistake(
        "run",
        r#"{"script": "a", "timeout_seconds": 86401}"#,
        "the argument `timeout_seconds` of `run` must be a whole number from 1 to 86400, not 86401",
    );
}

#[test]
fn definitions_are_strict_schemas() {
    for tool in AgentTool::ALL {
        let defined = tool_definition(*tool);
        assert_eq!(defined.name, tool.as_str());
        assert!(defined.description.len() > 40, "{tool}");
        let schema = &defined.arguments_schema;
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        let known = schema["properties"].as_object().unwrap();
        assert!(known.values().all(|one| one["description"].as_str().is_some_and(|about| about.len() > 20)));
        for name in schema["required"].as_array().unwrap() {
            assert!(known.contains_key(name.as_str().unwrap()), "{tool} {name}");
        }
    }
    let read = tool_definition(AgentTool::Read).arguments_schema;
    assert_eq!(read["required"], json!(["path"]));
    assert_eq!(read["properties"]["offset"]["minimum"], json!(1));
    assert_eq!(tool_definition(AgentTool::List).arguments_schema["required"], json!([]));
}

#[test]
fn requests_are_read_back() {
    let request = ToolRequest::Read { path: "a\n".into(), offset: None, limit: Some(1) };
    let text = serde_json::to_string(&request).unwrap();
    assert_eq!(text, r#"{"tool":"read","path":"a\n","limit":1}"#);
    assert_eq!(serde_json::from_str::<ToolRequest>(&text).unwrap(), request);
}

#[test]
fn a_long_result_keeps_both_ends() {
    let text = format!("begin{}end", "ä".repeat(RESULT_CHARS));
    let cut = cut_result(&text);
    assert!(cut.starts_with("begin") && cut.ends_with("end"), "{cut}");
    assert!(cut.contains("\n[… 72 characters cut …]\n"), "{cut}");
    let exact = "ä".repeat(RESULT_CHARS);
    assert_eq!(cut_result(&exact), exact);
    assert_eq!(cut_ends("ab", "yz", 1_000_004), "ab\n[… 1000000 bytes cut …]\nyz");
}

/// The number of characters that a marker in a result names.
fn cut_number(result: &str) -> usize {
    let (_, rest) = result.split_once("\n[… ").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

fn argument() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,9}".prop_map(Value::from),
        Just(json!([1])),
        Just(json!({ "a": 1 })),
    ]
}

proptest! {
    #[test]
    fn nothing_is_lost_in_silence(pattern in "[a-zä🦀\n]{1,40}", times in 1..2_000_usize) {
        let text = pattern.repeat(times);
        let count = text.chars().count();
        let cut = cut_result(&text);
        prop_assert!(cut.chars().count() <= RESULT_CHARS);
        if count <= RESULT_CHARS {
            prop_assert_eq!(&cut, &text);
        } else {
            let (head, rest) = cut.split_once("\n[… ").unwrap();
            let (_, tail) = rest.split_once(" characters cut …]\n").unwrap();
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert_eq!(head.chars().count() + tail.chars().count() + cut_number(&cut), count);
        }
        prop_assert_eq!(cut_result(&cut), cut);
    }

    #[test]
    fn no_text_of_a_model_is_a_panic(tool in "read|list|search|write|edit|run|skill|ask|memory|fetch|.{0,5}", arguments in ".{0,60}") {
        if let Err(told) = called(AgentTool::ALL, &tool, &arguments) {
            prop_assert!(!told.contains('\n'), "{}", told);
        }
    }

    #[test]
    fn a_call_is_parsed_exactly_if_its_schema_accepts_it(
        at in 0..AgentTool::ALL.len(),
        given in prop::collection::btree_map("path|offset|limit|pattern|glob|text|old|new|script|x|skill|arguments|question|choices|query|url", argument(), 0..4)) {
        let tool = AgentTool::ALL[at];
        let arguments = serde_json::to_string(&given).unwrap();
        let schema = tool_definition(tool).arguments_schema;
        let known = schema["properties"].as_object().unwrap();
        let fits = |name: &String, value: &Value| {
            let Some(rule) = known.get(name) else { return false };
            match value {
                Value::String(text) => {
                    let filled = rule.get("minLength").is_some();
                    rule["type"] == "string" && !(filled && (text.is_empty() || text.contains('\0')))
                }
                Value::Number(number) => {
                    let whole = number.as_f64().is_some_and(|n| n.fract() == 0.0 && (1.0..=9e15).contains(&n));
                    let most = rule["maximum"].as_f64();
                    let fits = number.as_f64().is_some_and(|n| most.is_none_or(|most| n <= most));
                    rule["type"] == "integer" && fits && (whole || number.as_u64().is_some_and(|n| n >= 1))
                }
                Value::Object(_) => rule["type"] == "object",
                Value::Array(items) => rule["type"] == "array" && items.iter().all(Value::is_string),
                _ => false,
            }
        };
        let complete = schema["required"].as_array().unwrap().iter()
            .all(|name| given.contains_key(name.as_str().unwrap()));
        let valid = complete && given.iter().all(|(name, value)| fits(name, value));
        let found = called(AgentTool::ALL, tool.as_str(), &arguments);
        prop_assert_eq!(found.is_ok(), valid, "{} {}", arguments, found.err().unwrap_or_default());
    }
}
