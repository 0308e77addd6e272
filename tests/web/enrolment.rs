//! The enrolment of a key by an approver on a page: who may sign for it, what counts, and what is left of it.

use super::{Pages, samples::compare::fits};
use crate::support::Sandbox;
use serde_json::Value;
use wf_sign::{ApproverKey, DsseEnvelope, Signer, canonical};

/// The key of the approver, and that of the browser that asks.
fn signers() -> (Signer, Signer) {
    (Signer::from_bytes(&[1; 32]), Signer::from_bytes(&[2; 32]))
}

/// The key of another approver.
fn bob() -> Signer {
    Signer::from_bytes(&[9; 32])
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns the body of an answer.
fn body(answer: &str) -> Value {
    serde_json::from_str(answer.split("\r\n\r\n").last().unwrap()).unwrap()
}

impl Pages {
    fn draft_key(&self, key: &str, name: &str) -> String {
        self.own_post("/keys/enrol/draft", &format!("key={}&name={}", encoded(key), encoded(name)))
    }

    /// Signs a drafted statement about a key, changed before, and sends it.
    fn sign_key(&self, key: &str, name: &str, signer: &Signer, change: impl FnOnce(&mut Value)) -> String {
        let drafted = self.draft_key(key, name);
        assert!(drafted.starts_with("HTTP/1.1 200 "), "{drafted}");
        let draft = body(&drafted);
        let mut statement: Value = serde_json::from_str(draft["payload"].as_str().unwrap()).unwrap();
        change(&mut statement);
        let kind = draft["payload_type"].as_str().unwrap();
        let envelope = DsseEnvelope::seal(kind, canonical(&statement).as_bytes(), signer);
        let token = canonical(&serde_json::to_value(&envelope).unwrap()) + "\n";
        let fields = format!(
            "key={}&name={}&token={}",
            encoded(key),
            encoded(name),
            encoded(&token.replace('\n', "\r\n"))
        );
        self.own_post("/keys/enrol", &fields)
    }
}

fn refused(answer: &str, reason: &str) {
    assert!(answer.starts_with("HTTP/1.1 409 ") && answer.contains(reason), "{reason}: {answer}");
}

#[test]
fn an_approver_enrols_the_key_of_another_browser_on_a_page() {
    let sandbox = Sandbox::new();
    let (ada, phone) = signers();
    let (ada_key, key) = (ada.public().hex(), phone.public().hex());
    let git = |args: &[&str]| assert!(sandbox.program("git").args(args).status().unwrap().success());
    git(&["init", "-q"]);
    let pages = Pages::open(&sandbox);
    let page = format!("/keys/enrol?key={key}");
    pages.own_post("/keys", &format!("key={key}"));
    pages.shows("/keys", &[&format!("href=\"/keys/enrol?key={key}\"")]);
    // Nobody is listed who could sign: the first key is added in a terminal.
    pages.shows(&page, &["No page can do that here", "lists no key that could sign"]);
    refused(&pages.draft_key(&key, "phone"), "wf key enrol NAME KEY");

    sandbox.wf(&["key", "enrol", "ada", &ada_key, "--yes"]).exits(0);
    git(&["add", "approvers.yaml"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "approvers"]);
    let words = ApproverKey::from(phone.public()).words();
    pages.shows(&page, &[&words, "· a browser”", "Compare the words", "/enrol.js", "until it is revoked"]);
    fits("enrol", "", &pages.view(&page));
    refused(&pages.draft_key(&key, "ada"), "another approver named `ada`");
    refused(&pages.draft_key(&key, " "), "an approver has a name");

    let draft = body(&pages.draft_key(&key, "phone"));
    let added = format!("+  - {{name: phone, key: {key}}}");
    assert!(draft["changes"].as_str().unwrap().contains(&added), "{draft}");
    let statement: Value = serde_json::from_str(draft["payload"].as_str().unwrap()).unwrap();
    assert_eq!(statement["params"]["words"]["is"], words.as_str(), "what is compared is signed");
    let send = |signer: &Signer, change: &dyn Fn(&mut Value)| pages.sign_key(&key, "phone", signer, change);
    let same = |_: &mut Value| {};
    refused(&send(&phone, &same), "a key does not enrol itself");
    refused(&send(&Signer::from_bytes(&[3; 32]), &same), "which is not listed");
    refused(
        &send(&ada, &|statement| statement["params"]["name"]["is"] = "eve".into()),
        "not what would be done",
    );
    refused(&send(&ada, &|statement| statement["scope"] = "full_plan".into()), "not what would be done");
    assert!(!sandbox.read("approvers.yaml").contains(&key));

    let enrolled = send(&ada, &same);
    assert!(
        enrolled.starts_with("HTTP/1.1 303 ") && enrolled.contains(&format!("location: {page}")),
        "{enrolled}"
    );
    assert!(sandbox.read("approvers.yaml").contains(&added[1..]), "{}", sandbox.read("approvers.yaml"));
    let commit = "git add approvers.yaml &amp;&amp; git commit";
    pages.shows(&page, &["Enrolled as phone here.", commit, &added]);
    assert!(!pages.ask(&page).contains(&format!("+  - {{name: ada, key: {ada_key}}}")), "that is committed");
    let signed_by = ada.public().id().to_string();
    pages.shows("/audit?kind=key_enrolled", &["phone", &signed_by, "· a browser"]);
    assert_eq!(pages.view("/keys")["asked"].as_array().unwrap().len(), 0);
    refused(&pages.draft_key(&key, "phone"), "already");
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "phone"]);
    assert_eq!(pages.view(&page)["uncommitted"], "");
    // Where somebody takes it back by hand, the approver's signature alone brings nothing again.
    git(&["checkout", "-q", "HEAD~1", "approvers.yaml"]);
    refused(&send(&ada, &same), "does not ask to be enrolled");
    assert!(!sandbox.read("approvers.yaml").contains(&key));
}

#[test]
fn nobody_is_enrolled_without_a_record_and_a_shared_list_stays_one() {
    let sandbox = Sandbox::new();
    let (ada, phone) = signers();
    let key = phone.public().hex();
    sandbox.wf(&["key", "enrol", "ada", &ada.public().hex(), "--yes"]).exits(0);
    let pages = Pages::open(&sandbox);
    pages.own_post("/keys", &format!("key={key}"));
    std::fs::rename(sandbox.at("approvers.yaml"), sandbox.at("shared.yaml")).unwrap();
    std::os::unix::fs::symlink("shared.yaml", sandbox.at("approvers.yaml")).unwrap();
    let log = sandbox.at(".wf/audit");
    std::fs::rename(&log, sandbox.at("audit-away")).unwrap();
    std::fs::write(&log, "").unwrap();
    let sent = pages.sign_key(&key, "phone", &ada, |_| {});
    assert!(!sent.starts_with("HTTP/1.1 303 ") && !sandbox.read("shared.yaml").contains(&key), "{sent}");
    std::fs::remove_file(&log).unwrap();
    std::fs::rename(sandbox.at("audit-away"), &log).unwrap();
    let sent = pages.sign_key(&key, "phone", &ada, |_| {});
    assert!(sent.starts_with("HTTP/1.1 303 "), "{sent}");
    assert!(sandbox.at("approvers.yaml").is_symlink() && sandbox.read("shared.yaml").contains(&key));
}

#[test]
fn what_was_signed_for_other_approvers_enrols_nobody() {
    let sandbox = Sandbox::new();
    let (ada, phone) = signers();
    let key = phone.public().hex();
    sandbox.wf(&["key", "enrol", "ada", &ada.public().hex(), "--yes"]).exits(0);
    let pages = Pages::open(&sandbox);
    let sent = pages.sign_key(&key, "phone", &ada, |statement| {
        // The approvers change between the draft and the signature.
        sandbox.wf(&["key", "enrol", "bob", &bob().public().hex(), "--yes"]).exits(0);
        assert_eq!(statement["plan"]["path"], "approvers.yaml");
    });
    refused(&sent, "not what would be done now");
    sandbox.wf(&["key", "revoke", "ada"]);
    assert!(!sandbox.read("approvers.yaml").contains(&key));
    // One of two who must agree cannot bring in a third.
    let two = format!(
        "policy: reviewed\nrequired: 2\napprovers:\n  - {{name: ada, key: {}}}\n  - {{name: bob, key: {}}}\n",
        ada.public().hex(),
        bob().public().hex()
    );
    sandbox.file("approvers.yaml", two);
    refused(&pages.draft_key(&key, "phone"), "2 approvers must agree");
    pages.shows(&format!("/keys/enrol?key={key}"), &["2 approvers must agree", "wf key enrol NAME"]);
    assert!(pages.ask("/keys/enrol?key=x").starts_with("HTTP/1.1 404 "));
}

#[test]
fn a_browser_that_starts_nothing_enrols_nobody() {
    let sandbox = Sandbox::new();
    let (ada, phone) = signers();
    let key = phone.public().hex();
    sandbox.wf(&["key", "enrol", "ada", &ada.public().hex(), "--yes"]).exits(0);
    let pages = Pages::open(&sandbox).that_may_look();
    pages.shows(&format!("/keys/enrol?key={key}"), &["This browser may not enrol keys"]);
    for path in ["/keys/enrol", "/keys/enrol/draft"] {
        let answer = pages.own_post(path, &format!("key={key}&name=phone&token=x"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
    }
    // A passkey signs what cannot be taken back, and so takes one.
    let pages = Pages::open(&sandbox);
    let passkey = format!("passkey:localhost:{PASSKEY}");
    let sent = pages.sign_key(&passkey, "phone", &ada, |_| {});
    refused(&sent, "only a passkey signs for one");
}

/// The base point of the curve P-256.
const PASSKEY: &str = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
