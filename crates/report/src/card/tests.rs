use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{CardKind, RequestCard, chosen_positions, entry_bands};
use wf_core::machine::{ApprovalRequest, Artifact};
use wf_lang::{InMemoryFiles, PlanDefaults, load, lower};
use wf_model::{OnStepFailure, Plan, PlanPolicy, ReplanSettings, SuggestionLimits};

const RELEASE: &str = "\
---
kind: plan
id: release
steps:
  - {id: build, run: make}
  - {id: agree, depends_on: [build], approve: {message: 'Publish?'}}
  - {id: upload, depends_on: [agree], allow: {write: [out, log]}, run: upload}
  - {id: tell, depends_on: [upload], allow: {write: [log]}, run: tell}
  - {id: last, depends_on: [tell], approve: {message: 'Done?'}}
---
";

fn plan() -> Arc<Plan> {
    let files = InMemoryFiles([("release.md".to_owned(), RELEASE.into())].into());
    let defaults = PlanDefaults {
        policy: PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO },
        retry: Arc::default(),
        replan: ReplanSettings::default(),
        suggestions: SuggestionLimits::default(),
    };
    lower(&load(&files, "release.md"), &defaults).expect("the plan has no mistakes")
}

fn request(more: &serde_json::Value) -> ApprovalRequest {
    let mut whole = json!({
        "request": 1, "since": "2026-01-02T03:04:05Z", "expires": "2026-01-02T04:04:05Z", "message": "Publish?",
        "step": "agree", "risk": {"level": "medium", "rule": "writes", "step": "upload"},
    });
    whole.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
    serde_json::from_value(whole).unwrap()
}

#[test]
fn a_step_names_what_follows_and_what_may_change() {
    let (plan, file) = (plan(), json!({"path": "list.txt", "digest": "0".repeat(64), "size": 3}));
    let artifacts: Artifact = serde_json::from_value(file).unwrap();
    let card = RequestCard::from_request(&request(&json!({})), Some(&plan), &[artifacts]);
    assert_eq!(card.kind, CardKind::Step);
    assert_eq!(card.yes, "`upload`, `tell`, `last` may run");
    assert_eq!(card.no, "`agree` fails, and steps that need its success do not run");
    assert_eq!(card.affected, ["list.txt as it was checked", "log may change", "out may change"]);
    assert_eq!(
        card.rationale,
        "`agree` asks. The risk is medium: `upload` may change files of the workspace."
    );
    let last = RequestCard::from_request(&request(&json!({"step": "last"})), Some(&plan), &[]);
    assert_eq!((last.yes.as_str(), last.affected.len()), ("it is recorded; no step depends on it", 0));
    let unknown = RequestCard::from_request(&request(&json!({})), None, &[]);
    assert_eq!(unknown.yes, "the run goes on");
}

#[test]
fn each_kind_says_what_its_answers_lead_to() {
    let digest = "0".repeat(64);
    let call = |is_question: bool| json!({"attempt": 1, "call": 1, "position": 0, "tool": "send", "arguments": digest, "is_question": is_question});
    let merge = |by_hand: bool| json!({"attempt": 1, "base": "a", "result": "b", "by_hand": by_hand});
    for (more, kind, yes, no) in [
        (json!({"tool_call": call(false)}), "agent", "calls the tool `send`", "may not call `send`"),
        (json!({"tool_call": call(true)}), "question", "goes on with your answer", "without an answer"),
        (json!({"merge": merge(false)}), "merge", "are merged into the workspace", "`agree` fails"),
        (json!({"merge": merge(true)}), "merge", "as you merged them", "`agree` fails"),
        (json!({"stuck": {"attempt": 2, "reason": "no"}}), "question", "tried again", "`agree` fails"),
        (json!({"phase": "inspect"}), "checks", "although its checks failed", "`agree` fails"),
        (json!({"point": "enter", "gates": ["careful"]}), "gate", "`agree` runs", "`agree` is blocked"),
        (json!({"point": "leave", "gates": ["careful"]}), "gate", "goes on to its checks", "is blocked"),
        (json!({"point": "start", "step": null}), "plan", "the run begins", "the run ends as blocked"),
        (json!({"answer": {"choose": ["a", "b"]}}), "decision", "may run", "`agree` fails"),
        (json!({"answer": {"edit": {"text": "a", "max_length": 9}}}), "draft", "may run", "`agree` fails"),
        (json!({"answer": {"select": ["a"]}}), "batch", "may run", "`agree` fails"),
    ] {
        let mut whole = more.clone();
        if more.get("step").is_some() {
            whole.as_object_mut().unwrap().remove("step");
        }
        let mut ask = request(&whole);
        if more.get("step").is_some() {
            ask.task_id = None;
        }
        let card = RequestCard::from_request(&ask, Some(&plan()), &[]);
        assert_eq!(card.kind.as_str(), kind, "{more}");
        assert!(card.yes.contains(yes) && card.no.contains(no), "{more}: {card:?}");
    }
}

#[test]
fn a_list_is_divided_by_confidence_and_keeps_its_positions() {
    let list = [
        json!({"file": "a", "confidence": 0.4}),
        json!({"file": "b", "confidence": 0.85}),
        json!({"file": "c"}),
        json!({"file": "d", "confidence": 0.5, "anomaly": true}),
        json!({"file": "e", "confidence": 1}),
    ];
    let bands = entry_bands(&list);
    let found: Vec<(Option<&str>, Vec<u32>)> = bands
        .iter()
        .map(|band| (band.name, band.entries.iter().map(|entry| entry.position).collect()))
        .collect();
    assert_eq!(
        found,
        [
            (Some("high confidence"), vec![2, 5]),
            (Some("medium confidence"), vec![4]),
            (Some("low confidence"), vec![1]),
            (Some("novel"), vec![3]),
        ]
    );
    assert!(bands[1].entries[0].is_anomaly && !bands[0].entries[0].is_anomaly);
    assert_eq!(chosen_positions(&list), Some(vec![2, 5]), "only what is sure and usual");
    let odd = json!({"confidence": 0.9, "anomaly": true});
    assert_eq!(chosen_positions(&[odd, json!({"confidence": 0.849})]), Some(vec![]));
    assert_eq!(chosen_positions(&[json!("a"), json!({"b": 1})]), None, "nobody says how sure they are");
    let list = [
        json!({"confidence": 0.9, "amount": 3, "title": "a"}),
        json!({"anomaly": true, "id": "b", "confidence": 0.9}),
    ];
    assert_eq!(entry_bands(&list)[0].columns, ["title", "id", "amount", "confidence"]);
    let wide: Value =
        (0..9).map(|at| (format!("k{at}"), Value::Null)).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(entry_bands(&[wide])[0].columns, [""; 0]);
    let plain = entry_bands(&[json!("a"), json!("b")]);
    assert_eq!((plain.len(), plain[0].name, plain[0].entries.len()), (1, None, 2));
    assert!(entry_bands(&[]).is_empty());
}
