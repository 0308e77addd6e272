//! Signatures for goals: acceptance and approval in a browser, and the withdrawal of an approval.

use super::Pages;
use crate::support::Sandbox;
use wf_sign::{DsseEnvelope, Signer, canonical};

/// A goal whose repair needs a signature.
pub const LAMP: &str = "\
---
kind: goal
id: lamp
schedule: '0 * * * *'
on_failure: spawn_plan
verify:
  - {name: is_on, run: test -e lit/on}
repair:
  steps:
    - {id: switch, run: touch lit/on, allow: {write: [lit]}}
---
";

const SOON: &str = "autonomy: {min_samples: 2, widen_below: 0.1, tighten_above: 0.5, most_executions: 7}\n";

/// A workspace with a goal that waits for acceptance.
pub fn unaccepted() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("goals/lamp.md", LAMP).file("wf.yaml", SOON);
    std::fs::create_dir(sandbox.at("lit")).unwrap();
    sandbox
}

/// A workspace with a goal for which more autonomy is advised.
pub fn advised() -> Sandbox {
    let sandbox = unaccepted();
    sandbox.wf(&["key", "init"]).exits(0);
    sandbox.wf(&["approve", "goals/lamp.md", "--executions", "3", "--expires", "1d", "--yes"]).exits(0);
    for _ in 0..2 {
        let _ = std::fs::remove_file(sandbox.at("lit/on"));
        sandbox.wf(&["goal", "run", "lamp", "-q"]).exits(0);
    }
    sandbox
}

/// Drafts a statement about the goal, and signs it.
fn signed(pages: &Pages, what: &str, signer: &Signer) -> String {
    let drafted = pages.own_post("/goals/lamp/signature/draft", &format!("{{\"what\":\"{what}\"}}"));
    assert!(drafted.starts_with("HTTP/1.1 200 "), "{drafted}");
    let draft: serde_json::Value = serde_json::from_str(drafted.split("\r\n\r\n").last().unwrap()).unwrap();
    assert!(
        draft["review"].as_str().unwrap().contains("touch lit/on"),
        "all that it may do is shown: {draft}"
    );
    let text = |key: &str| draft[key].as_str().unwrap();
    let envelope = DsseEnvelope::seal(text("payload_type"), text("payload").as_bytes(), signer);
    canonical(&serde_json::to_value(&envelope).unwrap()) + "\n"
}

#[test]
fn a_key_of_a_browser_accepts_a_goal_as_it_is() {
    let sandbox = unaccepted();
    let phone = Signer::from_bytes(&[7; 32]);
    let pages = Pages::open(&sandbox);
    pages.shows("/goals/lamp", &["Accept the goal as it is?", "value=\"acceptance\""]);
    let refused = |body: &str, why: &str| {
        let answer = pages.own_post("/goals/lamp/signature", body);
        assert!(answer.starts_with("HTTP/1.1 409 ") && answer.contains(why), "{why}: {answer}");
    };
    let yes = signed(&pages, "acceptance", &phone);
    refused(&yes, "signature rejected");
    refused("{}\n", "error:");
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    sandbox.file("goals/lamp.md", LAMP.replace("touch lit/on", "touch lit/on && true"));
    refused(&yes, "is not what was signed any more");
    sandbox.file("goals/lamp.md", LAMP);
    let foreign = pages.post("/goals/lamp/signature", "https://evil.example", &yes);
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    let recorded = pages.own_post("/goals/lamp/signature", &yes);
    assert!(recorded.starts_with("HTTP/1.1 200 "), "{recorded}");
    let page = pages.ask("/goals/lamp");
    assert!(!page.contains("Accept the goal") && !page.contains("unaccepted"), "{page}");
    sandbox.wf(&["goal", "accept", "lamp"]).exits(0).says("already accepted");
    pages.shows("/audit?kind=approved", &["goal_accept", "· a browser"]);
    let none = pages.own_post("/goals/lamp/signature/draft", "{\"what\":\"proposal\"}");
    assert!(none.starts_with("HTTP/1.1 409 ") && none.contains("nothing is advised"), "{none}");
}

#[test]
fn a_key_of_a_browser_approves_what_is_advised_and_an_operator_withdraws_it() {
    let sandbox = advised();
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    let pages = Pages::open(&sandbox);
    pages.shows("/goals/lamp", &["3 in 1d → 6 in 2d?", "value=\"proposal\"", "Tighten now"]);
    let yes = signed(&pages, "proposal", &phone);
    let recorded = pages.own_post("/goals/lamp/signature", &yes);
    assert!(recorded.starts_with("HTTP/1.1 200 "), "{recorded}");
    pages.shows("/goals/lamp", &["0 of 6 used", "data-state=\"holds\""]);
    let again = pages.own_post("/goals/lamp/signature", &yes);
    assert!(again.starts_with("HTTP/1.1 409 "), "it is not advised any more: {again}");
    let _ = std::fs::remove_file(sandbox.at("lit/on"));
    sandbox.wf(&["goal", "run", "lamp", "-q"]).exits(0);
    pages.shows("/goals/lamp", &["1 of 6 used"]);
    assert!(pages.own_post("/goals/lamp/tighten", "").contains("location: /goals/lamp\r\n"));
    pages.shows("/goals/lamp", &["data-state=\"withdrawn\""]);
    pages.shows("/activity", &["withdrew the standing approval of the goal <code>lamp</code>"]);
    let pages = pages.that_may_look();
    assert!(pages.own_post("/goals/lamp/tighten", "").starts_with("HTTP/1.1 403 "));
}
