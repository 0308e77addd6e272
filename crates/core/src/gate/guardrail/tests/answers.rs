use serde_json::{Value, json};

use crate::gate::{
    GateAction, GateAnswer, GateContext, computed_answer,
    guardrail::{GuardrailResult, apply_guardrail},
    predicate::NoFileAccess,
};
use wf_base::name::GateId;
use wf_model::{
    ApprovalRequirement, BoundedJsonPath, Gate, GateLane, GatePredicate, GateProvider, GateTrigger,
    Guardrail, OnFinding, PredicateRange,
};

const ADDRESS: &str = "ada@lovelace.io";

fn rule(detect: &[&str], on_find: OnFinding) -> Guardrail {
    Guardrail { detect: detect.iter().map(|&name| name.to_owned()).collect(), on_find }
}

fn gate(trigger: GateTrigger, extract: Option<&str>, provider: GateProvider) -> Gate {
    Gate {
        id: GateId::parse("g").unwrap(),
        title: None,
        path: None,
        on: trigger,
        lane: GateLane::Policy,
        provider,
        extract: extract.map(|path| BoundedJsonPath::parse(path).unwrap()),
        on_block: None,
        escalations: Vec::new(),
        approval: ApprovalRequirement::default(),
    }
}

fn context(value: &Value) -> GateContext {
    value.as_object().cloned().unwrap_or_default()
}

fn asked(gate: &Gate, value: &Value) -> GateAnswer {
    computed_answer(gate, &context(value), &NoFileAccess).unwrap()
}

#[test]
fn a_finding_means_what_is_said_and_is_never_told() {
    let value = json!({ "a": [ADDRESS, "x", { "b": format!("{ADDRESS} {ADDRESS}") }], "n": 1 });
    let flags = ["email: an e-mail address in it.a[0]", "email: an e-mail address in it.a[2].b, 2 times"];
    for (on_find, action) in [
        (OnFinding::Block, GateAction::Block),
        (OnFinding::Ask, GateAction::RequireApproval),
        (OnFinding::Flag, GateAction::Continue),
        (OnFinding::Redact, GateAction::Continue),
    ] {
        let GuardrailResult { answer, replacement: instead } =
            apply_guardrail(&rule(&["email"], on_find), &value, "it");
        assert_eq!(answer.action, action);
        assert_eq!(answer.flags, flags);
        assert!(!format!("{answer:?}").contains(ADDRESS));
        let redacted = json!({
            "a": ["[redacted: email]", "x", { "b": "[redacted: email] [redacted: email]" }], "n": 1
        });
        assert_eq!(instead, (on_find == OnFinding::Redact).then_some(redacted));
    }
    let blocked = apply_guardrail(&rule(&["email"], OnFinding::Block), &value, "it").answer;
    assert_eq!(blocked.reason, format!("Found {}", flags.join("; ")));
}

#[test]
fn keys_stay_and_what_stands_in_them_blocks() {
    let value = json!({ ADDRESS: "x" });
    let answer = apply_guardrail(&rule(&["email"], OnFinding::Redact), &value, "message").answer;
    let reason = "Found email: an e-mail address in a key of message; names of fields cannot be redacted";
    assert_eq!((answer.action, answer.reason.as_str()), (GateAction::Block, reason));
    let inside = json!({ ADDRESS: { "deep": ADDRESS } });
    let answer = apply_guardrail(&rule(&["email"], OnFinding::Flag), &inside, "message").answer;
    assert!(!format!("{answer:?}").contains(ADDRESS), "{answer:?}");
}

#[test]
fn fields_that_name_secrets_and_numbers_are_looked_at() {
    let value = json!({ "api_key": "Zk3v9Qp1Lm7Xw2Rt8Yb", "card": 4_111_111_111_111_111_u64, "id": "Zk3v9Qp1Lm7Xw2Rt8Yb" });
    let rule = rule(&["secrets", "card"], OnFinding::Redact);
    let instead = apply_guardrail(&rule, &value, "it").replacement;
    let expected = json!({
        "api_key": "[redacted: secrets]", "card": "[redacted: card]", "id": "Zk3v9Qp1Lm7Xw2Rt8Yb"
    });
    assert_eq!(instead, Some(expected));
}

#[test]
fn detectors_are_those_that_a_gate_may_name() {
    let names: Vec<&str> = (crate::gate::guardrail::DETECTORS.iter()).map(|detector| detector.name).collect();
    assert_eq!(names, wf_model::DETECTORS);
}

#[test]
fn a_detector_that_is_not_there_blocks() {
    let answer = apply_guardrail(&rule(&["toxicity"], OnFinding::Flag), &json!("x"), "it").answer;
    assert_eq!(answer, GateAnswer::block("Unknown detector `toxicity`"));
}

#[test]
fn a_gate_rewrites_what_its_trigger_is_about() {
    for (on, key) in [
        (GateTrigger::OnInput, "message"),
        (GateTrigger::OnToolCall, "tool_args"),
        (GateTrigger::OnOutput, "response"),
        (GateTrigger::AfterStep, "response"),
        (GateTrigger::BeforePublish, "response"),
    ] {
        let gate = gate(on, None, GateProvider::Guardrail(rule(&["email"], OnFinding::Redact)));
        let value = json!({ key: { "to": ADDRESS }, "step": ADDRESS });
        let answer = asked(&gate, &value);
        assert_eq!(answer.action, GateAction::Continue);
        let modified = context(&json!({ key: { "to": "[redacted: email]" } }));
        assert_eq!(answer.modified, modified);
        assert_eq!(asked(&gate, &json!({})), GateAnswer::pass());
    }
}

#[test]
fn what_may_not_be_rewritten_is_blocked() {
    let provider = || GateProvider::Guardrail(rule(&["email"], OnFinding::Redact));
    let gate_of = |on, path| gate(on, path, provider());
    let answer = asked(&gate_of(GateTrigger::BeforeStep, None), &json!({ "params": { "to": ADDRESS } }));
    let reason = "Found email: an e-mail address in params.to, in `params`, which gates must not modify";
    assert_eq!((answer.action, answer.reason.as_str()), (GateAction::Block, reason));
    assert!(answer.modified.is_empty());
    let extracted = gate_of(GateTrigger::OnOutput, Some("$.response.list[*].to"));
    let value = json!({ "response": { "list": [{ "to": ADDRESS }, { "to": "x" }], "cc": ADDRESS } });
    let modified = json!({
        "response": { "list": [{ "to": "[redacted: email]" }, { "to": "x" }], "cc": ADDRESS }
    });
    assert_eq!(asked(&extracted, &value).modified, context(&modified));
}

#[test]
fn a_number_is_moved_where_it_stands() {
    let provider = || {
        let range = PredicateRange { min: Some(0.0), max: Some(10.0) };
        GateProvider::Predicate(GatePredicate::NumericRange {
            block_outside: None,
            auto_approve: Some(range),
            require_approval: None,
            clamp: Some(range),
        })
    };
    let on = |path| gate(GateTrigger::OnToolCall, Some(path), provider());
    let answer = asked(&on("$.tool_args.count"), &json!({ "tool_args": { "count": 12, "x": 1 } }));
    assert_eq!(answer.action, GateAction::Continue);
    assert_eq!(answer.flags, ["clamped from 12 to 10"]);
    assert_eq!(answer.modified, context(&json!({ "tool_args": { "count": 10, "x": 1 } })));
    let answer = asked(&on("$.params.count"), &json!({ "params": { "count": 12 } }));
    assert_eq!(answer.reason, "The number is in `params`, which gates must not modify");
    for trigger in [GateTrigger::BeforeRun, GateTrigger::OnInput] {
        let start = json!({ "params": { "count": 12 }, "message": { "count": 12 } });
        let answer = asked(&gate(trigger, Some("$.params.count"), provider()), &start);
        assert_eq!(answer.action, GateAction::Continue, "{}", answer.reason);
        assert_eq!(answer.modified, context(&json!({ "message": { "count": 10 } })));
    }
    let several = asked(&on("$.tool_args[*]"), &json!({ "tool_args": [1, 2] }));
    assert_eq!(several.reason, "`[1,2]` is not a number");
    let none = asked(&on("$.tool_args.none"), &json!({ "tool_args": {} }));
    assert_eq!(none.reason, "No value to check");
}
