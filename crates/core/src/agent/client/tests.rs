use std::collections::BTreeMap;

use serde_json::json;
use wf_model::{AgentEngine, TokenUsage};

use super::{ClientAnswer, ClientCommand, ClientLaunch, ClientOutput, repair_prompt};
use crate::agent::{ModelReply, StopReason, ToolCall};

fn launch(engine: AgentEngine, schema: Option<&serde_json::Value>) -> ClientCommand {
    let env =
        [("PATH", "/bin"), ("ANTHROPIC_AUTH_TOKEN", "key"), ("OPENAI_API_KEY", "key"), ("CODEX_HOME", "/x")];
    let launch = ClientLaunch {
        engine,
        command: &["agent.py".to_owned(), "--fast".to_owned()],
        model: "strong",
        address: "http://127.0.0.1:4319",
        token: "token",
        prompt: "mend it",
        answer_schema: schema,
        repairs: None,
    };
    launch.command(env.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
}

fn value<'a>(command: &'a ClientCommand, name: &str) -> Option<&'a str> {
    command.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn answer(engine: AgentEngine, lines: &[&str]) -> ClientAnswer {
    let mut output = ClientOutput::new(engine);
    for line in lines {
        output.take(line);
    }
    output.answer()
}

#[test]
fn no_program_gets_another_way_to_a_model() {
    for engine in [AgentEngine::ClaudeCode, AgentEngine::Codex, AgentEngine::Command] {
        let command = launch(engine, None);
        assert!(command.env.iter().all(|(_, value)| value != "key"), "{engine}: {:?}", command.env);
        assert_eq!(value(&command, "PATH"), Some("/bin"));
        assert_eq!(value(&command, "CODEX_HOME"), None);
        assert!(command.env.iter().any(|(_, value)| value == "token"), "{engine}");
        assert!(!command.argv.iter().any(|word| word.contains("token")), "{engine}: {:?}", command.argv);
    }
}

#[test]
fn a_prompt_is_read_from_standard_input() {
    for engine in [AgentEngine::ClaudeCode, AgentEngine::Codex] {
        let command = launch(engine, None);
        assert_eq!(command.input, "mend it");
        assert!(!command.argv.iter().any(|word| word.contains("mend it")));
    }
    let own = launch(AgentEngine::Command, Some(&json!({"type": "object"})));
    assert_eq!(own.argv, ["agent.py", "--fast"]);
    let input: serde_json::Value = serde_json::from_str(&own.input).unwrap();
    assert_eq!(input, json!({"type": "briefing", "text": "mend it", "answer_schema": {"type": "object"}}));
}

#[test]
fn a_schema_reaches_the_program() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let claude = launch(AgentEngine::ClaudeCode, Some(&schema));
    let at = claude.argv.iter().position(|word| word == "--json-schema").unwrap();
    assert_eq!(claude.argv[at + 1], schema.to_string());
    let codex = launch(AgentEngine::Codex, Some(&schema));
    assert_eq!(codex.argv[..2], ["sh", "-c"]);
    assert_eq!(value(&codex, "WF_ANSWER_SCHEMA"), Some(schema.to_string().as_str()));
    assert_eq!(value(&launch(AgentEngine::Codex, None), "WF_ANSWER_SCHEMA"), None);
}

#[test]
fn claude_code_answers_with_its_result() {
    let text = answer(
        AgentEngine::ClaudeCode,
        &[
            r#"{"type":"system","subtype":"init"}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look"}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#,
        ],
    );
    assert_eq!(text, ClientAnswer::Text("done".into()));
    let outputs = r#"{"type":"result","is_error":false,"result":"{}","structured_output":{"n":1}}"#;
    assert_eq!(answer(AgentEngine::ClaudeCode, &[outputs]), ClientAnswer::Text(r#"{"n":1}"#.into()));
    let error = r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#;
    assert_eq!(answer(AgentEngine::ClaudeCode, &[error]), ClientAnswer::Error("error_max_turns".into()));
}

#[test]
fn codex_answers_with_its_last_message() {
    let message =
        |text: &str| json!({"type": "item.completed", "item": {"type": "agent_message", "text": text}});
    let lines = [message("I look").to_string(), message("done").to_string()];
    let lines = [lines[0].as_str(), lines[1].as_str(), r#"{"type":"turn.completed","usage":{}}"#];
    assert_eq!(answer(AgentEngine::Codex, &lines), ClientAnswer::Text("done".into()));
    let failed = r#"{"type":"turn.failed","error":{"message":"no budget"}}"#;
    assert_eq!(answer(AgentEngine::Codex, &[lines[0], failed]), ClientAnswer::Error("no budget".into()));
}

#[test]
fn a_program_of_the_author_answers_in_lines_of_json() {
    let mut output = ClientOutput::new(AgentEngine::Command);
    for line in ["plain", r#"{"type":"log","text":"step 1"}"#, "[1]", "", r#"{"type":"other"}"#] {
        output.take(line);
    }
    assert_eq!(output.shown(), ["plain", "step 1", "[1]", r#"{"type":"other"}"#]);
    assert_eq!(output.answer(), ClientAnswer::Nothing);
    output.take(r#"{"type":"answer","outputs":{"n":1}}"#);
    assert_eq!(output.answer(), ClientAnswer::Text(r#"{"n":1}"#.into()));
    output.take(r#"{"type":"error","message":"lost"}"#);
    assert_eq!(output.answer(), ClientAnswer::Error("lost".into()));
}

#[test]
fn output_that_is_shown_is_bounded() {
    let mut output = ClientOutput::new(AgentEngine::Command);
    for _ in 0..100 {
        output.take(&"x".repeat(10_000));
    }
    assert_eq!(output.shown().len(), 6);
}

#[test]
fn a_refused_tool_call_is_taken_out_of_a_reply_and_the_reason_put_in() {
    let call = |tool: &str| ToolCall { id: tool.into(), tool: tool.into(), arguments: "{}".into() };
    let reply = ModelReply {
        text: "I look.".into(),
        tool_calls: vec![call("read"), call("run")],
        stop: StopReason::ToolCalls,
        usage: TokenUsage::default(),
    };
    assert_eq!(reply.without(&BTreeMap::new()), reply);
    let one = reply.without(&BTreeMap::from([(1, "no".into())]));
    assert_eq!(one.text, "I look.\n\n[`run` was not executed: no]");
    assert_eq!((one.tool_calls, one.stop), (vec![call("read")], StopReason::ToolCalls));
    let none = reply.without(&BTreeMap::from([(0, "no".into()), (1, "no".into())]));
    assert_eq!((none.tool_calls, none.stop), (vec![], StopReason::EndTurn));
}

#[test]
fn a_program_that_repairs_its_answer_is_told_what_was_wrong() {
    let prompt = repair_prompt("mend it", Some("{\"sum\": \"four\"}"), "`sum` is not an integer");
    assert_eq!(
        prompt,
        "mend it\n\nYou have already worked on this, what you did is there, and your answer was:\n\n{\"sum\": \"four\"}\n\n\
         [SCHEMA VALIDATION ERROR]\n`sum` is not an integer\n\nRepair the answer."
    );
    assert!(repair_prompt("mend it", None, "x").contains("and you gave no answer."));
    let launch = ClientLaunch {
        engine: AgentEngine::Command,
        command: &["agent.py".to_owned()],
        model: "strong",
        address: "http://127.0.0.1:4319",
        token: "token",
        prompt: &prompt,
        answer_schema: None,
        repairs: Some("`sum` is not an integer"),
    };
    let input: serde_json::Value = serde_json::from_str(&launch.command(Vec::new()).input).unwrap();
    assert_eq!(input, json!({"type": "briefing", "text": prompt, "repairs": "`sum` is not an integer"}));
}
