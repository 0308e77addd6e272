//! Answers to requests that a browser signs, and those that do not count.

use std::os::unix::fs::PermissionsExt;

use super::{ASKS, Pages, last_run};
use crate::support::Sandbox;
use wf_sign::{ApproverKey, Signer, canonical};

const CHOOSES: &str = "\
---
kind: plan
id: choose
steps:
  - id: which
    approve: {message: 'Which one?', answer: {choose: [red, blue]}}
  - {id: tell, depends_on: [which], env: {WORD: '{{ steps.which.outputs.choice }}'}, run: 'echo \"$WORD\" > told.txt'}
---
";

pub const IRREVERSIBLE: &str = "\
---
kind: plan
id: pay
secrets: {TOKEN: {from: file, path: token.txt}}
steps:
  - id: agree
    approve: {message: 'Pay?'}
  - id: pay
    depends_on: [agree]
    allow: {net: true}
    env: {TOKEN: '{{ secrets.TOKEN }}'}
    run: 'true'
---
";

#[test]
fn an_answer_counts_by_its_signature_alone() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS);
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["run", "release.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let card = format!("/inbox/{}/1", last_run(&sandbox));
    let answer = format!("{card}/answer");
    let yes = pages.signed(&card, r#"{"yes": true, "reason": "looks good"}"#, &phone);
    let refused = |body: &str, why: &str| {
        let answered = pages.own_post(&answer, body);
        assert!(answered.starts_with("HTTP/1.1 409 ") && answered.contains(why), "{why}: {answered}");
    };
    // A key that nobody has listed is named by its words, which people have seen, with its digest beside them.
    let key = ApproverKey::from(phone.public());
    let unlisted = format!("signed with the key {} ({}), which is not listed", key.words(), key.id().short());
    refused(&yes, &format!("signature rejected: {unlisted}"));
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    refused("{}\n", "error:");
    let other = pages.signed(&card, r#"{"yes": false}"#, &phone);
    let forged: serde_json::Value = serde_json::from_str(&yes).unwrap();
    let mut altered: serde_json::Value = serde_json::from_str(&other).unwrap();
    altered["signatures"] = forged["signatures"].clone();
    refused(&(canonical(&altered) + "\n"), "signature rejected");
    let foreign = pages.post(&answer, "https://evil.example", &yes);
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
    let recorded = pages.own_post(&answer, &yes);
    assert!(recorded.starts_with("HTTP/1.1 200 "), "{recorded}");
    assert!(recorded.contains(r#""run_continues":true"#), "{recorded}");
    let run = last_run(&sandbox);
    assert!(recorded.contains(&format!(r#""run":"{run}""#)), "it leads to the run: {recorded}");
    sandbox.until_runs_end();
    refused(&yes, "does not wait for an answer");
    pages.shows(&card, &["data-state=\"approved\"", "by phone", &format!("href=\"/runs/{run}\"")]);
    pages.shows(&format!("/runs/{}?tab=about", last_run(&sandbox)), &["approved", "by phone"]);

    // An answer to one run is none to another.
    sandbox.wf(&["run", "release.md"]).exits(5);
    let second = format!("/inbox/{}/1/answer", last_run(&sandbox));
    let replayed = pages.own_post(&second, &yes);
    assert!(replayed.starts_with("HTTP/1.1 409 ") && replayed.contains("signature rejected"), "{replayed}");
}

#[test]
fn an_answer_says_what_was_chosen_and_a_no_ends_the_run() {
    let sandbox = Sandbox::new();
    sandbox.file("choose.md", CHOOSES).file("release.md", ASKS);
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    sandbox.wf(&["run", "choose.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let card = format!("/inbox/{}/1", last_run(&sandbox));
    pages.shows(&card, &["value=\"red\"", "value=\"blue\""]);
    for wrong in [
        r#"{"yes": true, "choice": "green"}"#,
        r#"{"yes": true}"#,
        r#"{"yes": true, "selected": [1]}"#,
        "yes",
    ] {
        let drafted = pages.own_post(&format!("{card}/draft"), wrong);
        assert!(drafted.starts_with("HTTP/1.1 4"), "{wrong}: {drafted}");
    }
    let blue = pages.signed(&card, r#"{"yes": true, "choice": "blue"}"#, &phone);
    assert!(pages.own_post(&format!("{card}/answer"), &blue).starts_with("HTTP/1.1 200 "));
    sandbox.until_runs_end();
    assert_eq!(sandbox.read("told.txt"), "blue\n");

    sandbox.wf(&["run", "release.md"]).exits(5);
    let card = format!("/inbox/{}/1", last_run(&sandbox));
    let no = pages.signed(&card, r#"{"yes": false, "reason": "not today"}"#, &phone);
    assert!(pages.own_post(&format!("{card}/answer"), &no).starts_with("HTTP/1.1 200 "));
    sandbox.until_runs_end();
    sandbox.wf(&["show", "--last"]).says("not today");
    let run = format!("href=\"/runs/{}\"", last_run(&sandbox));
    pages.shows(&card, &["data-state=\"denied\"", "The run has ended", &run]);
}

#[test]
fn what_cannot_be_taken_back_is_not_approved_with_the_key_of_a_browser() {
    let sandbox = Sandbox::new();
    sandbox.file("pay.md", IRREVERSIBLE).file("token.txt", "t0ken-of-the-test");
    std::fs::set_permissions(sandbox.at("token.txt"), PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.wf(&["run", "pay.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let card = format!("/inbox/{}/1", last_run(&sandbox));
    pages.shows(&card, &["irreversible", "with a <a href=\"/keys\">passkey</a>, or in a terminal"]);
    let phone = Signer::from_bytes(&[7; 32]);
    sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
    let yes = pages.signed(&card, r#"{"yes": true}"#, &phone);
    let answered = pages.own_post(&format!("{card}/answer"), &yes);
    assert!(answered.starts_with("HTTP/1.1 409 "), "{answered}");
    assert!(
        answered.contains("with a passkey, not with any other key") && answered.contains("wf approve"),
        "{answered}"
    );
    let no = pages.signed(&card, r#"{"yes": false}"#, &phone);
    let answered = pages.own_post(&format!("{card}/answer"), &no);
    assert!(answered.starts_with("HTTP/1.1 200 "), "{answered}");
}
