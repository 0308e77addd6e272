use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{signed_decision_text, value_text};
use wf_base::{digest::Sha256Digest, untrusted::plain};
use wf_sign::approval::{ApprovalStatement, proposal_text};

/// A request with options, as the text that an answer is bound to.
fn proposal(options: &Value) -> String {
    let ask = json!({
        "request": 1, "since": "2026-01-02T03:04:05Z", "expires": "2026-01-02T04:04:05Z", "message": "Send them?",
        "step": "agree", "risk": {"level": "medium", "rule": "writes", "step": "upload"}, "answer": options,
    });
    let run = serde_json::from_value(json!("0123456789abcdef0123456789abcdef")).unwrap();
    proposal_text(&serde_json::from_value(ask).unwrap(), &run, Sha256Digest::of_bytes(b"plan"), &[])
}

/// The statement of an answer to it, as it is signed.
fn payload(proposal: &str, answer: &Value) -> String {
    let mut whole = BTreeMap::from([
        ("v", json!(3)),
        ("scope", json!("step")),
        ("verdict", json!("approved")),
        ("plan", json!({"id": "send", "path": "send.md", "digest": Sha256Digest::of_bytes(b"")})),
        ("files", json!([])),
        ("params", json!({})),
        ("run", json!("0123456789abcdef0123456789abcdef")),
        (
            "ask",
            json!({"place": "agree", "number": 1, "proposal": Sha256Digest::of_bytes(proposal.as_bytes())}),
        ),
        ("nonce", json!("07".repeat(16))),
        ("issued", json!("2026-01-02T03:04:05Z")),
        ("expires", json!("2026-01-02T04:04:05Z")),
        ("executions", json!(1)),
    ]);
    if !answer.is_null() {
        whole.insert("answer", answer.clone());
    }
    serde_json::from_value::<ApprovalStatement>(json!(whole)).unwrap().text()
}

fn list() -> Value {
    json!({"select": [{"title": "Refund Ada", "amount": 5}, {"title": "Ban Bob", "amount": 0}, "Tidy up"]})
}

#[test]
fn a_selection_reads_as_the_titles_of_its_entries() {
    let proposal = proposal(&list());
    let text = signed_decision_text(&payload(&proposal, &json!({"selected": [1, 3]})), &proposal).unwrap();
    let text = plain(&text);
    for part in ["2 of 3", "1. Refund Ada — amount: 5", "3. Tidy up", "without: Ban Bob — amount: 0"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let all = plain(&signed_decision_text(&payload(&proposal, &Value::Null), &proposal).unwrap());
    assert!(all.contains("all 3") && all.contains("2. Ban Bob") && !all.contains('{'), "{all}");
}

#[test]
fn an_edited_text_reads_as_text_with_its_difference() {
    let proposal = proposal(&json!({"edit": {"text": "Dear Ada,\nwe pay.\nBye", "max_length": 99}}));
    let answer = json!({"text": "Dear Ada,\nwe do not pay.\nBye"});
    let text = plain(&signed_decision_text(&payload(&proposal, &answer), &proposal).unwrap());
    for part in ["│ we do not pay.", "│ -we pay.", "│ +we do not pay.", "│  Dear Ada,"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_byte_that_is_changed_is_read_or_refused() {
    let proposal = proposal(&list());
    let payload = payload(&proposal, &json!({"selected": [1, 3]}));
    let before = signed_decision_text(&payload, &proposal).unwrap();
    let changed = |text: &str, at: usize| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] ^= 1;
        String::from_utf8(bytes).ok()
    };
    for at in 0..proposal.len() {
        let other = changed(&proposal, at).and_then(|proposal| signed_decision_text(&payload, &proposal));
        assert_eq!(other, None, "a request with another byte {at} is another request");
    }
    let answer = payload.find("\"answer\"").unwrap();
    let answer = answer..answer + payload[answer..].find('}').unwrap();
    for at in 0..payload.len() {
        let other = changed(&payload, at).and_then(|payload| signed_decision_text(&payload, &proposal));
        let is_answer = answer.contains(&at);
        assert!(!is_answer || other.as_ref() != Some(&before), "byte {at} of the answer is not read");
    }
}

#[test]
fn a_script_is_shown_as_a_script() {
    let call = json!({"script": "set -e\nrm -rf build\nrisk: low", "cwd": "a b", "env": {"X": "1\n2"}, "list": ["a"]});
    let expected =
        "script:\n  set -e\n  rm -rf build\n  risk: low\ncwd: a b\nenv:\n  X:\n    1\n    2\nlist: [\"a\"]";
    assert_eq!(value_text(&call), expected);
    assert_eq!(
        [json!("a\nb"), json!(["a"]), json!({}), json!(1.5)].map(|value| value_text(&value)),
        ["a\nb", "[\"a\"]", "{}", "1.5"]
    );
}
