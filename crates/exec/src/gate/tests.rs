use std::{path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::{GateEnvironment, ask};
use crate::{
    HostEnv,
    view::WorkspaceView,
    work::{check::CheckEnvironment, executor::ProcessExecutor},
    work_error::{StopLevel, WorkError},
};
use wf_base::{
    name::{GateId, PlanId},
    redact::SecretMask,
    time::SystemClock,
};
use wf_core::gate::{GateAction, GateAnswer, GateContext};
use wf_model::{
    ApprovalRequirement, BoundedJsonPath, CheckProbe, Expectation, Gate, GateLane, GatePredicate,
    GateProvider, GateScript, GateTrigger, JsonObject, OnStepFailure, Plan, PlanParts, PlanPolicy,
    PredicateRange, ShellScript,
};

fn gate(provider: GateProvider) -> Gate {
    Gate {
        id: GateId::parse("the-gate").unwrap(),
        title: None,
        path: None,
        on: GateTrigger::OnOutput,
        lane: GateLane::Policy,
        provider,
        extract: None,
        on_block: None,
        escalations: Vec::new(),
        approval: ApprovalRequirement::default(),
    }
}

fn script(text: &str) -> GateScript {
    GateScript {
        probe: CheckProbe::Run(ShellScript {
            shell: ["sh", "-eu", "-c"].map(String::from).into(),
            text: text.into(),
        }),
        expect: Expectation::default(),
        then: None,
        env: Vec::new(),
        cwd: None,
        timeout: Duration::from_secs(30),
    }
}

fn running(text: &str) -> Gate {
    gate(GateProvider::Script(Box::new(script(text))))
}

fn object(value: Value) -> GateContext {
    let Value::Object(object) = value else {
        panic!("{value} is no object");
    };
    object
}

fn site(root: &Path) -> GateEnvironment {
    let host = [("PATH", "/usr/bin:/bin"), ("TOKEN", "host")];
    let host = host.map(|(name, value)| (name.to_owned(), value.to_owned()));
    GateEnvironment {
        environment: CheckEnvironment {
            executor: ProcessExecutor::InProcess,
            root: root.to_path_buf(),
            host: Arc::new(HostEnv::from(host)),
            mask: SecretMask::new(["hunter22"]),
            clock: Arc::new(SystemClock),
            grace: Duration::from_millis(100),
            params: object(json!({ "day": "monday" })),
            sandboxes: None,
            pinned_files: None,
            whiteouts: Vec::new(),
            copies: Vec::new(),
            reports: root.join(".wf/reports"),
            prior: Arc::default(),
            precedes_work: false,
        },
        view: None,
    }
}

async fn asked(gate: &Gate, context: Value) -> Result<GateAnswer, WorkError> {
    let dir = tempfile::tempdir().unwrap();
    ask_in(dir.path(), gate, context).await
}

async fn ask_in(root: &Path, gate: &Gate, context: Value) -> Result<GateAnswer, WorkError> {
    let stop = watch::channel(StopLevel::No).1;
    ask(gate, &object(context), &site(root), stop).await
}

#[tokio::test]
async fn a_program_finds_all_in_its_environment_and_nothing_else() {
    let text = "env | cut -d= -f1 | grep -v '^PWD$\\|^_$\\|^SHLVL$\\|^WF_MARK' | sort | tr '\\n' ' ' \
                | sed 's/^/flags: /; s/ /,/g'; echo; echo \"reason: $WF_GATE $WF_GATE_TRIGGER \
                $WF_GATE_VALUE $WF_PARAM_DAY $WF_GATE_CONTEXT\"";
    let context = json!({ "response": "it's; $(x)", "message": "hunter22" });
    let answer = asked(&running(text), context).await.unwrap();
    let expected = "the-gate on_output it's; $(x) monday \
                    {\"response\":\"it's; $(x)\",\"message\":\"***\"}";
    assert_eq!(answer.reason, expected);
    let names: Vec<&str> = answer.flags.iter().map(|flag| flag.trim()).collect();
    for name in &names {
        assert!(["PATH", "HOME", "OLDPWD"].contains(name) || name.starts_with("WF_"), "{name}");
    }
}

#[tokio::test]
async fn what_a_program_says_is_its_answer() {
    for (text, action, reason) in [
        ("true", GateAction::Continue, ""),
        ("echo nothing of note", GateAction::Continue, ""),
        ("echo 'reason: no'; exit 3", GateAction::Block, "no"),
        (
            "echo 'action: continue'; echo why >&2; exit 3",
            GateAction::Block,
            "expected exit code 0, found exit code 3: action: continue",
        ),
        (
            "echo '{\"action\": \"require_approval\", \"reason\": \"big\"}'",
            GateAction::RequireApproval,
            "big",
        ),
        ("echo 'action: block'", GateAction::Block, ""),
    ] {
        let answer = asked(&running(text), json!({})).await.unwrap();
        assert_eq!((answer.action, answer.reason.as_str()), (action, reason), "{text}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_told() {
    for (text, reason) in [
        ("echo 'action: maybe'", "invalid action \"maybe\": expected"),
        ("no-such-program", "program `no-such-program` is not in PATH"),
        ("kill -9 $$", ""),
    ] {
        let found = asked(&running(text), json!({})).await.unwrap_err().reason;
        assert!(found.starts_with(reason), "{text}: {found}");
    }
    let slow = GateScript { timeout: Duration::from_millis(50), ..script("sleep 60") };
    let slow = gate(GateProvider::Script(Box::new(slow)));
    let found = asked(&slow, json!({})).await.unwrap_err().reason;
    assert!(found.contains("time"), "{found}");
    let large = "x".repeat(200_000);
    let found = asked(&running("true"), json!({ "response": large })).await.unwrap_err().reason;
    assert!(found.starts_with("WF_GATE_VALUE would have 200000 bytes"), "{found}");
    let found = asked(&running("true"), json!({ "response": "a\0b" })).await.unwrap_err().reason;
    assert!(found.contains("NUL"), "{found}");
}

#[tokio::test]
async fn an_expectation_decides_as_in_a_check() {
    let expecting = |expect| {
        let script = script("echo clean");
        gate(GateProvider::Script(Box::new(GateScript { expect, ..script })))
    };
    let equals = |text: &str| Expectation { equals: Some(text.into()), ..Expectation::default() };
    let fine = asked(&expecting(equals("clean")), json!({})).await.unwrap();
    assert_eq!(fine.action, GateAction::Continue);
    let other = asked(&expecting(equals("dirty")), json!({})).await.unwrap();
    assert_eq!(other.action, GateAction::Block);
    assert!(other.reason.starts_with("expected the output"), "{}", other.reason);
}

#[tokio::test]
async fn a_rule_looks_at_what_was_printed_and_the_stricter_decides() {
    let counting = |text: &str| {
        let then = GatePredicate::NumericRange {
            block_outside: Some(PredicateRange { min: Some(0.0), max: Some(100.0) }),
            auto_approve: Some(PredicateRange { min: None, max: Some(10.0) }),
            require_approval: Some(PredicateRange::default()),
            clamp: None,
        };
        let script = GateScript { then: Some(then), ..script(text) };
        Gate {
            extract: Some(BoundedJsonPath::parse("$.lines").unwrap()),
            ..gate(GateProvider::Script(Box::new(script)))
        }
    };
    for (text, action) in [
        ("echo 'lines: 3'", GateAction::Continue),
        ("echo 'lines: 30'", GateAction::RequireApproval),
        ("echo '{\"lines\": 300}'", GateAction::Block),
        ("echo 'lines: many'", GateAction::Block),
        ("echo nothing", GateAction::Block),
        ("echo 'lines: 3'; echo 'action: block'", GateAction::Block),
        ("echo 'lines: 300'; echo 'action: continue'", GateAction::Block),
    ] {
        let answer = asked(&counting(text), json!({})).await.unwrap();
        assert_eq!(answer.action, action, "{text}");
    }
}

#[tokio::test]
async fn a_program_may_ask_for_what_is_to_be_rewritten() {
    let text = "echo 'modified_context: {\"response\": \"x\", \"params\": {}}'";
    let answer = asked(&running(text), json!({})).await.unwrap();
    assert_eq!(Value::Object(answer.modified), json!({ "response": "x", "params": {} }));
}

#[tokio::test]
async fn a_program_may_give_texts_to_a_model_call_and_to_nothing_else() {
    let text = "echo 'context: see a.md'; echo '{\"reply\": {\"words\": 3}}'";
    let before = |on| Gate { on, ..running(text) };
    let answer = asked(&before(GateTrigger::OnModelCall), json!({})).await.unwrap();
    assert_eq!(Value::Object(answer.modified), json!({ "context": "see a.md", "reply": { "words": 3 } }));
    let answer = asked(&before(GateTrigger::OnToolCall), json!({})).await.unwrap();
    assert_eq!(Value::Object(answer.modified), json!({}));
}

#[tokio::test]
async fn a_program_works_in_the_folder_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("gates")).unwrap();
    let script = GateScript { cwd: Some("gates".into()), ..script("echo \"reason: ${PWD##*/}\"") };
    let gate = gate(GateProvider::Script(Box::new(script)));
    let answer = ask_in(dir.path(), &gate, json!({})).await.unwrap();
    assert_eq!(answer.reason, "gates");
}

#[tokio::test]
async fn a_program_that_was_changed_gives_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("look.sh");
    std::fs::write(&file, "exit 1\n").unwrap();
    let gate = running("sh look.sh");
    let policy = PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO };
    let mut parts = PlanParts::new(PlanId::parse("it").unwrap(), Vec::new(), 0, policy);
    parts.gates = vec![Arc::new(gate.clone())];
    let plan = Plan::new(parts).unwrap();
    let mut site = site(dir.path());
    site.view = Some(Arc::new(WorkspaceView::take(dir.path(), &[], &plan, &JsonObject::new())));
    let stop = watch::channel(StopLevel::No).1;
    let first = ask(&gate, &GateContext::new(), &site, stop.clone()).await.unwrap();
    assert_eq!(first.action, GateAction::Block);
    std::fs::write(&file, "exit 0\n").unwrap();
    let found = ask(&gate, &GateContext::new(), &site, stop).await;
    let reason = found.unwrap_err().reason;
    assert!(reason.starts_with("the gate failed: changed, not declared: look.sh;"), "{reason}");
}

#[tokio::test]
async fn files_are_looked_at_where_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    std::fs::create_dir_all(root.join("out/deep")).unwrap();
    std::fs::write(root.join("out/a.txt"), "12345").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("out/away")).unwrap();
    std::os::unix::fs::symlink("a.txt", root.join("out/link")).unwrap();
    let rule = GatePredicate::FileValid { permitted: vec!["out".into()], max_size_bytes: Some(5) };
    let gate = gate(GateProvider::Predicate(rule));
    for (path, action) in [
        ("out/a.txt", GateAction::Continue),
        ("out/link", GateAction::Continue),
        ("out/away", GateAction::Block),
        ("out/deep", GateAction::Block),
        ("out/none", GateAction::Block),
        ("../out/a.txt", GateAction::Block),
        ("/etc/passwd", GateAction::Block),
    ] {
        let answer = ask_in(root, &gate, json!({ "response": path })).await.unwrap();
        assert_eq!(answer.action, action, "{path}: {}", answer.reason);
    }
}

#[tokio::test]
async fn a_number_that_is_moved_is_rewritten_where_it_is() {
    let rule = GatePredicate::NumericRange {
        block_outside: None,
        auto_approve: Some(PredicateRange::default()),
        require_approval: None,
        clamp: Some(PredicateRange { min: None, max: Some(10.0) }),
    };
    let gate = Gate {
        on: GateTrigger::OnToolCall,
        extract: Some(BoundedJsonPath::parse("$.tool_args.n").unwrap()),
        ..gate(GateProvider::Predicate(rule))
    };
    let answer = asked(&gate, json!({ "tool_args": { "n": 12, "m": 1 } })).await.unwrap();
    assert_eq!(answer.action, GateAction::Continue);
    let expected = json!({ "tool_args": { "n": 10, "m": 1 } });
    assert_eq!(Value::Object(answer.modified), expected);
}

#[tokio::test]
async fn who_is_not_there_cannot_be_asked() {
    let llm = wf_model::LlmJudge { prompt: "Is it kind?".into(), promote_to_policy: false };
    let found = asked(&gate(GateProvider::Llm(llm)), json!({})).await;
    assert_eq!(found.unwrap_err().reason, "No provider: llm");
}

#[test]
fn a_number_that_is_a_secret_is_masked() {
    let mask = SecretMask::new(["8675309042"]);
    let context = object(json!({ "response": { "id": 8_675_309_042_u64 } }));
    let variables = super::probe::variables(&running("true"), &context, &mask).unwrap();
    assert!(variables.iter().all(|(_, value)| !value.contains("8675309042")), "{variables:?}");
}
