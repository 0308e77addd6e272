//! The server with real clients: Claude Code and Codex, whose replies come from a script.
//!
//! They are large, so these tests run on request only, with `claude` and `codex` on the `PATH`, where
//! `tests/real/install-clients` puts them:
//! `PATH="$(tests/real/install-clients):$PATH" cargo nextest run -p wf-gateway --run-ignored only -E 'binary(real_clients)'`.
//! They fail, and are not skipped, where something is missing.
#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect fails")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, process::Command, task::JoinSet};
use wf_core::agent::{Message, ModelReply, StopReason, ToolCall};
use wf_gateway::server::{CallRefusal, ClientCallFuture, ClientCalls, ClientRequest, ClientToken, serve};
use wf_model::TokenUsage;

/// The way to start Claude Code without the variables of this process. All that follows are more arguments.
const CLAUDE: &str = r#"exec env -i PATH="$PATH" HOME="$HOME_DIR" ANTHROPIC_BASE_URL="$URL" ANTHROPIC_API_KEY="$TOKEN" \
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
  DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK=1 \
  claude --bare -p "Turn one into two." --model strong --output-format stream-json --verbose \
  --no-session-persistence --permission-mode dontAsk --allowedTools Bash Edit Read "$@" </dev/null"#;

/// The way to start Codex. Its own sandbox is off: that of the step is around it.
const CODEX: &str = r#"exec env -i PATH="$PATH" HOME="$HOME_DIR" WF_TOKEN="$TOKEN" \
  codex exec --json --ephemeral --ignore-user-config --skip-git-repo-check -s danger-full-access -m strong \
  -c model_provider=wf -c "model_providers.wf={name=\"wf\",base_url=\"$URL/v1\",env_key=\"WF_TOKEN\",\
wire_api=\"responses\",request_max_retries=0,stream_max_retries=0}" \
  -c analytics.enabled=false -c web_search=disabled --disable multi_agent --disable goals --disable plugins \
  --disable apps -c 'shell_environment_policy.exclude=["WF_TOKEN"]' "$@" "Turn one into two." </dev/null"#;

const SCHEMA: &str = r#"{"type":"object","properties":{"done":{"type":"boolean"}},"required":["done"],
    "additionalProperties":false}"#;

const USAGE: TokenUsage = TokenUsage { input: 10, cached_input: 4, cache_write: 0, output: 3 };

type ScriptedResult = Result<ModelReply, CallRefusal>;

/// A model whose replies are known: the next after those that the conversation has.
struct ScriptedCalls {
    replies: Vec<ScriptedResult>,
    pause: Duration,
    asked: Mutex<Vec<ClientRequest>>,
}

impl ClientCalls for ScriptedCalls {
    fn call(&self, request: ClientRequest) -> ClientCallFuture<'_> {
        Box::pin(async move {
            let is_reply = |message: &&Message| matches!(message, Message::Assistant { .. });
            let before = request.request.messages.iter().filter(is_reply).count();
            self.asked.lock().unwrap().push(request);
            tokio::time::sleep(self.pause).await;
            let missing = CallRefusal::new(400, format!("there is no reply {before}"));
            self.replies.get(before).cloned().unwrap_or(Err(missing))
        })
    }
}

fn text(text: &str) -> ModelReply {
    ModelReply { text: text.into(), tool_calls: Vec::new(), stop: StopReason::EndTurn, usage: USAGE }
}

fn call(id: &str, tool: &str, arguments: &Value) -> ModelReply {
    let call = ToolCall { id: id.into(), tool: tool.into(), arguments: arguments.to_string() };
    ModelReply { text: "So:".into(), tool_calls: vec![call], stop: StopReason::ToolCalls, usage: USAGE }
}

/// A run of a client in an empty home, beside a file with the text `one`.
struct ClientRun {
    folder: TempDir,
    calls: Arc<ScriptedCalls>,
    token: String,
    /// The objects that it printed, one a line.
    lines: Vec<Value>,
    is_ok: bool,
}

impl ClientRun {
    /// Plays the replies for a file's path.
    async fn play(
        script: &str,
        arguments: &[&str],
        pause: Duration,
        replies: impl FnOnce(&Path) -> Vec<ScriptedResult>,
    ) -> Self {
        let folder = TempDir::with_prefix_in("client", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = folder.path().join("work/a.txt");
        for part in ["work", "home"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        fs::write(&file, "one\n").unwrap();
        fs::write(folder.path().join("schema.json"), SCHEMA).unwrap();
        let calls = Arc::new(ScriptedCalls { replies: replies(&file), pause, asked: Mutex::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let token = ClientToken::random().unwrap();
        let mut server = JoinSet::new();
        let (own, served) = (token.clone(), Arc::clone(&calls));
        server.spawn(async move { match serve(listener, own, served).await {} });
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args(arguments).current_dir(folder.path().join("work"));
        command.env("URL", url).env("TOKEN", token.expose()).env("HOME_DIR", folder.path().join("home"));
        command.kill_on_drop(true).stderr(Stdio::inherit());
        let ended = tokio::time::timeout(Duration::from_mins(2), command.output()).await.unwrap().unwrap();
        let printed = String::from_utf8(ended.stdout).unwrap();
        let lines = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let token = token.expose().to_owned();
        Self { folder, calls, token, lines, is_ok: ended.status.success() }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Checks that it edited the file with its own tools.
    fn check_edited(&self) {
        assert!(self.is_ok, "{:#?}", self.lines);
        assert_eq!(fs::read_to_string(self.work().join("a.txt")).unwrap(), "two\n", "{:#?}", self.lines);
        let asked = self.calls.asked.lock().unwrap();
        assert!(asked.iter().all(|one| one.model == "strong" && one.stream), "{asked:#?}");
    }

    /// Returns the objects of a type.
    fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }

    fn tools(&self) -> Vec<String> {
        let asked = self.calls.asked.lock().unwrap();
        asked[0].request.tools.iter().map(|tool| tool.name.clone()).collect()
    }
}

fn claude_edits(file: &Path) -> Vec<ScriptedResult> {
    let replies = [
        call("t1", "Read", &json!({"file_path": file})),
        call("t2", "Bash", &json!({"command": "echo $((6 * 7))"})),
        call("t3", "Edit", &json!({"file_path": file, "old_string": "one", "new_string": "two"})),
        text("Done, é."),
    ];
    replies.map(Ok).into()
}

#[tokio::test]
#[ignore = "needs Claude Code"]
async fn claude_code_edits_a_file() {
    let run = ClientRun::play(CLAUDE, &[], Duration::ZERO, claude_edits).await;
    run.check_edited();
    assert_eq!(run.tools(), ["Bash", "Edit", "Read"]);
    let result = run.of("result")[0];
    assert_eq!((&result["result"], &result["is_error"]), (&json!("Done, é."), &json!(false)));
    let usage = &result["usage"];
    let counts = ["input_tokens", "cache_read_input_tokens", "output_tokens"].map(|key| &usage[key]);
    assert_eq!(counts, [&json!(24), &json!(16), &json!(12)]);
    assert!(run.of("user").iter().any(|line| line["message"]["content"][0]["content"] == "42"));
    let last = run.calls.asked.lock().unwrap().last().unwrap().request.messages.clone();
    assert!(matches!(last.last(), Some(Message::Tool { results }) if !results[0].is_error), "{last:#?}");
}

#[tokio::test]
#[ignore = "needs Claude Code"]
async fn claude_code_answers_by_a_schema() {
    let replies = |_: &Path| vec![Ok(call("t1", "StructuredOutput", &json!({"done": true})))];
    let run = ClientRun::play(CLAUDE, &["--json-schema", SCHEMA], Duration::ZERO, replies).await;
    assert!(run.is_ok, "{:#?}", run.lines);
    assert_eq!(run.tools(), ["Bash", "Edit", "Read", "StructuredOutput"]);
    assert_eq!(run.of("result")[0]["structured_output"], json!({"done": true}));
}

#[tokio::test]
#[ignore = "needs Claude Code"]
async fn claude_code_ends_at_a_refusal() {
    for status in [400, 403] {
        let replies = |_: &Path| vec![Err(CallRefusal::new(status, "the budget is spent"))];
        let run = ClientRun::play(CLAUDE, &[], Duration::ZERO, replies).await;
        assert!(!run.is_ok);
        let result = run.of("result")[0];
        assert_eq!((&result["is_error"], &result["api_error_status"]), (&json!(true), &json!(status)));
        assert!(result["result"].as_str().unwrap().contains("the budget is spent"), "{result}");
        assert_eq!(run.calls.asked.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
#[ignore = "needs Claude Code"]
async fn claude_code_waits_for_a_slow_model() {
    let run = ClientRun::play(CLAUDE, &[], Duration::from_secs(21), |_| vec![Ok(text("Late."))]).await;
    assert!(run.is_ok, "{:#?}", run.lines);
    assert_eq!(run.of("result")[0]["result"], "Late.");
    assert_eq!(run.calls.asked.lock().unwrap().len(), 1);
}

fn codex_edits(_: &Path) -> Vec<ScriptedResult> {
    let patch =
        "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\nE";
    let replies = [
        call("c1", "exec_command", &json!({"cmd": "cat a.txt && env"})),
        call("c2", "exec_command", &json!({"cmd": patch})),
        text(r#"{"done":true}"#),
    ];
    replies.map(Ok).into()
}

#[tokio::test]
#[ignore = "needs Codex"]
async fn codex_edits_a_file_and_answers_by_a_schema() {
    let run =
        ClientRun::play(CODEX, &["--output-schema", "../schema.json"], Duration::ZERO, codex_edits).await;
    run.check_edited();
    let items: Vec<_> = run.of("item.completed").iter().map(|line| line["item"].clone()).collect();
    let item = |kind: &str| items.iter().find(|item| item["type"] == kind).unwrap();
    let printed = item("command_execution")["aggregated_output"].as_str().unwrap();
    assert!(printed.starts_with("one\n") && !printed.contains(&run.token), "{printed}");
    assert_eq!(item("file_change")["status"], "completed");
    let said = items.iter().rev().find(|item| item["type"] == "agent_message").unwrap();
    assert_eq!(said["text"], r#"{"done":true}"#);
    let usage = &run.of("turn.completed")[0]["usage"];
    let counts = ["input_tokens", "cached_input_tokens", "output_tokens"].map(|key| &usage[key]);
    assert_eq!(counts, [&json!(30), &json!(12), &json!(9)]);
    assert!(run.tools().contains(&"exec_command".to_owned()), "{:?}", run.tools());
    let asked = run.calls.asked.lock().unwrap();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(asked[0].request.answer_schema, Some(schema));
    assert!(run.of("error").is_empty(), "{:#?}", run.lines);
}

#[tokio::test]
#[ignore = "needs Codex"]
async fn codex_ends_at_a_refusal() {
    for status in [400, 403, 502] {
        let replies = |_: &Path| vec![Err(CallRefusal::new(status, "the budget is spent"))];
        let run = ClientRun::play(CODEX, &[], Duration::ZERO, replies).await;
        assert!(!run.is_ok);
        let failed = run.of("turn.failed")[0].to_string();
        assert!(failed.contains("the budget is spent"), "{failed}");
        assert_eq!(run.calls.asked.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
#[ignore = "needs Codex"]
async fn codex_waits_for_a_slow_model() {
    let run = ClientRun::play(CODEX, &[], Duration::from_secs(21), |_| vec![Ok(text("Late."))]).await;
    assert!(run.is_ok, "{:#?}", run.lines);
    let said = run.of("item.completed").into_iter().find(|line| line["item"]["type"] == "agent_message");
    assert_eq!(said.unwrap()["item"]["text"], "Late.");
    assert_eq!(run.calls.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
#[ignore = "needs Claude Code and Codex"]
async fn a_late_refusal_ends_both() {
    for script in [CLAUDE, CODEX] {
        let replies = |_: &Path| vec![Err(CallRefusal::new(403, "the budget is spent"))];
        let run = ClientRun::play(script, &[], Duration::from_secs(11), replies).await;
        assert!(!run.is_ok, "{:#?}", run.lines);
        let last = run.lines.last().unwrap().to_string();
        assert!(last.contains("the budget is spent"), "{last}");
        assert_eq!(run.calls.asked.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
#[ignore = "needs Claude Code and Codex"]
async fn a_model_that_refuses_fails_both() {
    for script in [CLAUDE, CODEX] {
        let refused = ModelReply { stop: StopReason::Refusal, ..text("I cannot.") };
        let run = ClientRun::play(script, &[], Duration::ZERO, |_| vec![Ok(refused)]).await;
        assert!(!run.is_ok, "{:#?}", run.lines);
        assert_eq!(run.calls.asked.lock().unwrap().len(), 1);
    }
}
