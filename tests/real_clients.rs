//! Real coding agents at work: Claude Code and Codex, in the sandbox of a step, with a model that replies from a file.
//!
//! `tests/real/install-clients` downloads them, which takes 200 MB, so these tests run on request only:
//! `cargo nextest run -p wf --run-ignored only -E 'test(real_clients)'`. They fail, and are not skipped, where something
//! is missing.

use std::{path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::{Sandbox, until};

/// The steps of both: their tools write through other files in the same folder.
fn plan(engine: &str, programs: &str) -> String {
    let folder = Path::new(programs).parent().expect("the programs are in a folder").display();
    format!(
        r#"---
kind: plan
id: coding
budget: {{max_tokens: 1000000}}
steps:
  - id: mend
    agent: {{role: executor, engine: {engine}, max_turns: 8}}
    allow: {{write: [src], read: ["{folder}"], env: [ANTHROPIC_API_KEY, OPENAI_API_KEY]}}
    env: {{PATH: "{programs}:/usr/bin:/bin"}}
    timeout: 2m
    retry: {{max: 1, backoff: 0s, on: [logical]}}
    outputs: {{summary: {{type: string}}}}
    verify: [{{name: is_two, run: grep -qx two src/a.txt}}]
---

## mend

The file src/a.txt must say two.
"#
    )
}

/// The replies for Claude Code. With a schema it answers by a tool; its first attempt leaves the mistake.
fn claude_replies(file: &str) -> Value {
    let answer =
        |text: &str| json!({"tool_calls": [{"tool": "StructuredOutput", "arguments": {"summary": text}}]});
    let shell = |script: &str| json!({"tool_calls": [{"tool": "Bash", "arguments": {"command": script}}]});
    let read = json!({"tool_calls": [{"tool": "Read", "arguments": {"file_path": file}}]});
    let edit = json!({"file_path": file, "old_string": "one", "new_string": "two"});
    json!([
        {"when": "Previous attempt 1 failed", "replies": [
            read, {"tool_calls": [{"tool": "Edit", "arguments": edit}]}, answer("mended"), {"text": "done"}]},
        {"replies": [shell(PROBE), answer("all is well"), {"text": "done"}]},
    ])
}

fn codex_replies(file: &str) -> Value {
    let shell =
        |script: &str| json!({"tool_calls": [{"tool": "exec_command", "arguments": {"cmd": script}}]});
    json!([
        {"when": "Previous attempt 1 failed", "replies": [
            shell(&format!("sed -i s/one/two/ {file}")), {"text": "{\"summary\": \"mended\"}"}]},
        {"replies": [shell(PROBE), {"text": "{\"summary\": \"all is well\"}"}]},
    ])
}

#[expect(clippy::disallowed_methods, reason = "a test starts programs of its own")]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// Looks for keys and for a way out.
const PROBE: &str = "env | grep -c hunter2; grep -rl hunter2 /proc/[0-9]*/environ 2>/dev/null | wc -l; \
    python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 80), 3)' 2>&1 | tail -n 1";

/// A workspace in which an agent is refuted, after a pause in its first attempt.
fn workspace(engine: &str, pause: u32) -> Sandbox {
    let replies = if engine == "codex" { codex_replies } else { claude_replies };
    let sandbox = workspace_with(engine, replies);
    let text =
        sandbox.read("replies.yaml").replace("env | grep -c", &format!("sleep {pause}; env | grep -c"));
    sandbox.file("replies.yaml", text);
    sandbox
}

/// A workspace in which the model replies to an agent as it is given the path of its file.
fn workspace_with(engine: &str, replies: fn(&str) -> Value) -> Sandbox {
    let done = program("tests/real/install-clients").output().expect("the installation can be started");
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "the coding agents cannot be installed:\n{told}");
    let programs = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    let sandbox = Sandbox::new();
    sandbox.file("src/a.txt", "one\n");
    sandbox.file("plan.md", plan(engine, &programs));
    sandbox.file("wf.yaml", "models: {m: {api: scripted, model: replies.yaml}}\nroles: {executor: m}\n");
    let file = sandbox.at("src/a.txt").display().to_string();
    sandbox.file("replies.yaml", replies(&file).to_string());
    sandbox
}

/// The replies for Claude Code, which rejects an answer that breaks the schema, asks once more, and ends with free text.
/// Begun again, it is told the mistake.
fn careless_claude_replies(file: &str) -> Value {
    let call = |tool: &str, arguments: Value| json!({"tool_calls": [{"tool": tool, "arguments": arguments}]});
    let shell = call("Bash", json!({"command": format!("sed -i s/one/two/ {file}")}));
    let answer = |summary: Value| call("StructuredOutput", json!({"summary": summary}));
    let text = json!({"text": "It is mended."});
    json!([
        {"when": "not a single JSON object", "replies": [answer("mended".into()), {"text": "done"}]},
        {"replies": [shell, answer(2.into()), text, text]},
    ])
}

/// The replies for Codex, whose first answer has a number for a text.
fn careless_codex_replies(file: &str) -> Value {
    let shell = json!({"tool": "exec_command", "arguments": {"cmd": format!("sed -i s/one/two/ {file}")}});
    json!([
        {"when": "`summary`", "replies": [{"text": "{\"summary\": \"mended\"}"}]},
        {"replies": [{"tool_calls": [shell]}, {"text": "{\"summary\": 2}"}]},
    ])
}

/// An answer breaks the schema of the outputs. The program is begun again in the same attempt, and keeps it.
fn repairs_its_answer(engine: &str, replies: fn(&str) -> Value) {
    let sandbox = workspace_with(engine, replies);
    let mut command = sandbox.command(&["run", "plan.md"]);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let log = sandbox.wf(&["logs", "--last", "mend"]).out;
    let calls = sandbox.wf(&["logs", "--last", "mend", "--calls"]).out;
    assert!(output.status.success() && told.contains("1 verified"), "{told}\n{log}\n{calls}");
    assert_eq!(log.matches("[asked to repair the answer]").count(), 1, "{log}");
    let shown = shown(&sandbox);
    assert_eq!(shown["agents"].as_array().map(Vec::len), Some(1), "one attempt: {shown:#}");
    assert_eq!(shown["steps"][0]["outputs"]["summary"], "mended", "{shown:#}");
}

fn shown(sandbox: &Sandbox) -> Value {
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    serde_json::from_str(&shown).expect("a run is shown as JSON")
}

/// A check refutes what the agent claims; the next attempt is told, and mends the file.
fn is_refuted_and_then_verified(engine: &str) {
    let sandbox = workspace(engine, 0);
    let mut command = sandbox.command(&["run", "plan.md"]);
    command.env("ANTHROPIC_API_KEY", "hunter2-hunter2").env("OPENAI_API_KEY", "hunter2-hunter2");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let log = sandbox.wf(&["logs", "--last", "mend", "--calls"]).out;
    assert!(output.status.success() && told.contains("1 verified"), "{told}\n{log}");
    let shown = shown(&sandbox);
    let agents = shown["agents"].as_array().expect("the run has agents");
    assert_eq!(agents.len(), 2, "{shown:#}");
    assert!(shown["ledger"]["tokens"].as_u64() > Some(100), "{shown:#}");
    let tools: usize = agents
        .iter()
        .flat_map(|agent| agent["calls"].as_array().unwrap())
        .map(|call| call["tools"].as_array().map_or(0, Vec::len))
        .sum();
    assert!(tools >= 2, "tool calls are recorded: {shown:#}");
    let first = sandbox.wf(&["logs", "--last", "mend#1"]).out;
    assert!(
        first.contains("0 0 OSError: [Errno 101] Network is unreachable"),
        "no key, and no way out: {first}"
    );
    let everything =
        program("grep").args(["-rl", "hunter2-hunter2", ".wf"]).current_dir(sandbox.path()).output().unwrap();
    assert!(everything.stdout.is_empty(), "{}", String::from_utf8_lossy(&everything.stdout));
}

/// The engine is killed while the agent works; the next one lets it begin anew, and what was answered is not paid again.
fn survives_the_engine(engine: &str) {
    let sandbox = workspace(engine, 3);
    let mut child = sandbox.start(&["run", "plan.md"]);
    until("the agent uses a tool", || {
        let shown: Value =
            serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap_or_default();
        shown["agents"][0]["calls"][0]["tools"][0]["tool"].is_string()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let told = sandbox.wf(&["resume", "--last"]).exits(0);
    told.says("1 verified");
    let shown = shown(&sandbox);
    let first = &shown["agents"][0];
    let calls = first["calls"].as_array().expect("the first attempt has calls");
    let requests: std::collections::BTreeSet<String> =
        calls.iter().map(|call| call["client"]["request"].to_string()).collect();
    assert_eq!(requests.len(), calls.len(), "no request is paid twice: {first:#}");
}

#[test]
#[ignore = "downloads coding agents of 200 MB: see docs/agents.md"]
fn claude_code_is_refuted_and_then_verified() {
    is_refuted_and_then_verified("claude_code");
}

#[test]
#[ignore = "downloads coding agents of 200 MB: see docs/agents.md"]
fn codex_is_refuted_and_then_verified() {
    is_refuted_and_then_verified("codex");
}

#[test]
#[ignore = "downloads coding agents of 200 MB: see docs/agents.md"]
fn claude_code_survives_the_engine() {
    survives_the_engine("claude_code");
}

#[test]
#[ignore = "downloads coding agents of 200 MB: see docs/agents.md"]
fn codex_survives_the_engine() {
    survives_the_engine("codex");
}

#[test]
#[ignore = "downloads coding agents of 200 MB: see docs/agents.md"]
fn claude_code_repairs_its_answer() {
    repairs_its_answer("claude_code", careless_claude_replies);
}

#[test]
#[ignore = "downloads coding agents of 200 MB: see docs/agents.md"]
fn codex_repairs_its_answer() {
    repairs_its_answer("codex", careless_codex_replies);
}
