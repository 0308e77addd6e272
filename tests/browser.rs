//! The pages in a real Chromium, driven through its `WebDriver`: at the width of a phone and of a desktop. `tests/browser/install`
//! installs both; `.ci/real` runs these tests.

mod acts;
mod conversation;
mod driver;
mod keys;
mod list;
mod liveness;
mod logs;
mod panel;
mod proof;
mod tasks;
mod workspaces;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::{
    support::{Sandbox, until},
    web::{GOAL, Pages, answers::IRREVERSIBLE, last_run},
};
use driver::Browser;

/// The widths of a phone and of a desktop, in pixels.
const WIDTHS: [u32; 2] = [375, 1440];

/// The document with pictures of the pages, which are taken anew with `WF_UPDATE=1`.
const DOCUMENT: &str = include_str!("../docs/web.md");

const ASKS: &str = "\
---
kind: plan
id: release
title: Release the price list
steps:
  - id: build
    run: for n in $(seq 100); do echo \"line $n of a log that is long enough to be wrapped on a phone\"; done
    verify:
      - {name: output, run: 'true'}
  - id: agree
    depends_on: [build]
    approve: {message: 'Publish the list?', show: {version: '1.2', hidden: \"a\u{202e}b\"}}
  - {id: publish, depends_on: [agree], allow: {write: [out]}, run: 'true'}
---
";

/// A workspace with a run that waits, and a browser that may look.
fn opened(width: u32) -> (Sandbox, Pages, Browser) {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS).file("goals/mirror.md", GOAL);
    std::fs::create_dir(sandbox.at("out")).unwrap();
    sandbox.wf(&["run", "release.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(width);
    browser.open(&pages.another_link());
    (sandbox, pages, browser)
}

/// Makes a key in the browser, and returns its public part.
fn make_key(browser: &Browser, pages: &Pages) -> String {
    browser.open(&format!("{}/keys", pages.origin()));
    make(browser, "key")
}

/// Makes a key or a passkey on the page of the keys, and returns its public part.
fn make(browser: &Browser, name: &str) -> String {
    let (button, public) = (format!("#{name}-make"), format!("#{name}-public"));
    until("a key can be made", || browser.is_shown(&button));
    browser.click(&button);
    until("the key is shown", || !browser.text(&public).is_empty());
    browser.text(&public)
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_key_of_a_browser_approves_what_is_shown() {
    for width in WIDTHS {
        let (sandbox, pages, browser) = opened(width);
        let run = last_run(&sandbox);
        let card = format!("{}/inbox/{run}/1", pages.origin());
        browser.open(&format!("{}/inbox", pages.origin()));
        let tall = browser.run("return document.querySelector('.face').offsetHeight").as_i64().unwrap();
        assert!(tall <= 300, "the face of the card is {tall} pixels tall");
        let public = make_key(&browser, &pages);
        assert_eq!(browser.text("#key-command"), format!("wf key enrol NAME {public}"));
        browser.open(&card);
        until("it can sign", || browser.is_shown("#answer"));
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        let statement = browser.text("#statement");
        assert_eq!(browser.text("#sign-title"), "You approve");
        for text in ["Publish the list?", "1.2", "a⟨U+202E⟩b", "medium", &run] {
            assert!(statement.contains(text), "{text}: {statement}");
        }
        browser.click("#go");
        until("it is refused", || browser.text("#problem").contains("signature rejected"));
        browser.open(&format!("{}/keys", pages.origin()));
        until("it says so", || browser.text("#key-place") == "Not enrolled here.");
        sandbox.wf(&["key", "enrol", "phone", &public, "--yes"]).exits(0);
        browser.open(&format!("{}/keys", pages.origin()));
        until("it says as whom", || browser.text("#key-place") == "Enrolled as phone here.");
        assert_eq!(browser.text("#key-words").split('-').count(), 6);
        browser.open(&card);
        until("it can sign", || browser.is_shown("#answer"));
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        browser.click("#go");
        until("it is recorded", || browser.is_shown("[data-answered]"));
        sandbox.until_runs_end();
        until("the run has ended", || browser.text("main").contains("The run has ended"));
        let shown: Value = serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
        assert_eq!(shown["questions"][0]["given"]["by"][0]["name"], "phone");
        // The key cannot be taken out.
        let taken = browser.run_async(
            "const open = indexedDB.open('wf', 1); open.onsuccess = () => { \
             const get = open.result.transaction('keys').objectStore('keys').get('own'); \
             get.onsuccess = () => crypto.subtle.exportKey('pkcs8', get.result.privateKey) \
             .then(() => done('taken'), (error) => done(error.name)); }",
        );
        assert_eq!(taken, "InvalidAccessError");
    }
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_page_follows_its_run_and_comes_back_after_the_server() {
    let (sandbox, pages, browser) = opened(1440);
    let run = last_run(&sandbox);
    browser.open(&format!("{}/runs/{run}", pages.origin()));
    assert!(browser.text("h1").contains("waiting"));
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    sandbox.wf(&["resume", "--last"]).exits(0);
    until("the page shows the end", || browser.text("h1").contains("succeeded"));
    let port = pages.origin().rsplit_once(':').unwrap().1.to_owned();
    drop(pages);
    until("it is noticed", || browser.text("#connection").contains("Reconnecting"));
    let again = Pages::open_at(&sandbox, &format!("127.0.0.1:{port}"));
    until("it is current", || browser.text("#connection").is_empty());
    browser.open(&again.origin());
    assert!(browser.text("main").contains("Latest runs"));
}

const TALKS: &str = "\
---
kind: plan
id: talks
policy: {max_parallel: 2}
steps:
  - id: talk
    run: |
      seq 300
      while ! test -e more; do sleep 0.05; done
      echo more
      while ! test -e go; do sleep 0.05; done
      echo end
  - {id: other, run: 'while ! test -e more; do sleep 0.05; done'}
---
";

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn output_grows_on_a_page_and_its_end_is_followed_unless_the_reader_looks_elsewhere() {
    let sandbox = Sandbox::new();
    sandbox.file("talks.md", TALKS);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(1440);
    browser.open(&pages.another_link());
    let mut child = sandbox.start(&["run", "talks.md", "-q"]);
    until("it writes", || sandbox.wf(&["logs", "--last", "talk"]).out.contains("300"));
    browser.open(&format!("{}/runs/{}/steps/talk", pages.origin(), last_run(&sandbox)));
    until("the viewer is there", || browser.is_shown("wf-log[data-live] .log"));
    let shown = || logs::lines(&browser);
    browser.run("document.querySelector('.log').scrollTop = 50; globalThis.same = 'page'");
    sandbox.file("more", "");
    // The other step ends, so the page is shown anew around what grows.
    until("it is said that more is there", || browser.text(".log-new") == "1 new line");
    assert_eq!(browser.run("return document.querySelector('.log').scrollTop"), 50, "the reader looks there");
    browser.click(".log-new");
    until("more is shown", || shown().ends_with("300\nmore"));
    let follows = || {
        browser.run("return document.querySelector('.log-bar [aria-pressed]').getAttribute('aria-pressed')")
    };
    assert_eq!(follows(), "true");
    browser.click(".log-bar [aria-pressed]");
    assert_eq!(follows(), "false");
    sandbox.file("go", "");
    until("it is not followed", || browser.text(".log-new") == "1 new line");
    browser.click(".log-new");
    until("the end is shown", || shown().ends_with("more\nend"));
    until("the attempt has ended", || {
        browser.run("return document.querySelector('[data-output]')") == Value::Null
    });
    until("the beginning is there", || {
        browser.run("document.querySelector('.log').scrollTop = 0");
        shown().starts_with("1\n2\n")
    });
    assert_eq!(browser.run("return globalThis.same"), "page", "it was not loaded again");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_high_risk_is_confirmed_by_a_slide() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", ASKS.replace("allow: {write: [out]}, ", ""));
    sandbox.wf(&["run", "plan.md"]).exits(5);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(375);
    browser.open(&pages.another_link());
    make_key(&browser, &pages);
    browser.open(&format!("{}/inbox/{}/1", pages.origin(), last_run(&sandbox)));
    until("it can sign", || browser.is_shown("#answer"));
    browser.click("#answer button[value=yes]");
    until("it is asked", || browser.is_shown("#slide"));
    assert_eq!(browser.run("return document.getElementById('go').disabled"), true);
    browser
        .run("const s = document.getElementById('slide'); s.value = 99; s.dispatchEvent(new Event('input'))");
    assert_eq!(browser.run("return document.getElementById('go').disabled"), true);
    browser.run(
        "const s = document.getElementById('slide'); s.value = 100; s.dispatchEvent(new Event('input'))",
    );
    assert_eq!(browser.run("return document.getElementById('go').disabled"), false);
}

const DRAFT: &str = "\
---
kind: plan
id: draft
steps:
  - id: draft
    approve: {message: 'Send it?', answer: {edit: \"a\\tb\", max_length: 100}}
---
";

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_draft_stays_as_it_is_unless_it_is_changed() {
    let sandbox = Sandbox::new();
    sandbox.file("draft.md", DRAFT);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(375);
    browser.open(&pages.another_link());
    let public = make_key(&browser, &pages);
    sandbox.wf(&["key", "enrol", "phone", &public, "--yes"]).exits(0);
    for (change, sent) in [("", "a\tb"), ("document.querySelector('textarea').value += '!'", "a\tb!")] {
        sandbox.wf(&["run", "draft.md"]).exits(5);
        browser.open(&format!("{}/inbox/{}/1", pages.origin(), last_run(&sandbox)));
        until("it can sign", || browser.is_shown("#answer"));
        browser.run(change);
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        browser.click("#go");
        until("it is recorded", || browser.is_shown("[data-answered]"));
        sandbox.until_runs_end();
        let shown: Value = serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
        assert_eq!(shown["steps"][0]["outputs"]["text"], sent);
    }
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_passkey_approves_what_cannot_be_taken_back() {
    let sandbox = Sandbox::new();
    sandbox.file("pay.md", IRREVERSIBLE).file("token.txt", "t0ken-of-the-test");
    std::fs::set_permissions(sandbox.at("token.txt"), PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.wf(&["run", "pay.md"]).exits(5);
    let pages = Pages::open_at(&sandbox, "localhost:0");
    let card = format!("{}/inbox/{}/1", pages.origin(), last_run(&sandbox));
    let browser = Browser::start(375);
    browser.add_authenticator(true);
    browser.open(&pages.another_link());
    browser.open(&card);
    until("it can sign", || browser.is_shown("#answer"));
    browser.click("#answer button[value=yes]");
    until("it has no passkey", || browser.address().contains("/keys?back="));
    let passkey = make(&browser, "passkey");
    assert!(passkey.starts_with("passkey:") && passkey.contains("localhost:04"), "{passkey}");
    browser.click("#passkey-ask button");
    until("it asks to be enrolled", || browser.is_shown("#passkey-asked"));
    let words = browser.text("#passkey-words");
    sandbox.wf(&["key", "enrol", "phone", &words, "--yes"]).exits(0).says(&passkey);
    browser.open(&card);
    until("it can sign", || browser.is_shown("#answer"));
    browser.click("#answer button[value=yes]");
    until("it is asked", || browser.is_shown("#sign"));
    browser.click("#go");
    until("it is recorded", || browser.is_shown("[data-answered]"));
    sandbox.until_runs_end();
    let shown: Value = serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
    assert_eq!(shown["questions"][0]["given"]["by"][0]["name"], "phone");
    // The browser would rather also be offered RS256, which nothing here verifies.
    let problems =
        browser.problems().into_iter().filter(|one| !one.contains("default algorithm identifiers"));
    assert_eq!(problems.collect::<Vec<_>>(), Vec::<String>::new());
}

const BATCH: &str = "\
---
kind: plan
id: sort
params:
  mails:
    type: array
    default:
      - {file: a, confidence: 0.6}
      - {file: b, confidence: 0.9}
      - {file: c, confidence: 0.95, anomaly: true}
steps:
  - id: agree
    approve: {message: 'Sort these?', answer: {select: '{{ params.mails }}'}}
---
";

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_batch_is_selected_from_by_one_of_two_reviewers() {
    let sandbox = Sandbox::new();
    sandbox.file("sort.md", BATCH);
    let pages = Pages::open(&sandbox);
    let browsers = [Browser::start(375), Browser::start(1440)];
    sandbox.wf(&["run", "sort.md"]).exits(5);
    for (browser, name) in browsers.iter().zip(["phone", "desk"]) {
        browser.open(&pages.another_link());
        let public = make_key(browser, &pages);
        sandbox.wf(&["key", "enrol", name, &public, "--yes"]).exits(0);
        browser.open(&format!("{}/inbox", pages.origin()));
        until("it can sign", || browser.is_shown("#answer"));
        let bands = "return [...document.querySelectorAll('fieldset')].map((one) => [one.querySelector('legend').textContent, \
                     [...one.querySelectorAll('input')].map((box) => [box.value, box.checked])])";
        let expected =
            json!([["high confidence", [["2", true], ["3", false]]], ["medium confidence", [["1", false]]]]);
        assert_eq!(
            browser.run(bands),
            expected,
            "the surest come first, and only what is sure and usual is selected"
        );
    }
    for browser in &browsers {
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
    }
    assert!(
        browsers[0].text("#statement").contains("your answer: 1 of 3"),
        "{}",
        browsers[0].text("#statement")
    );
    browsers[0].click("#go");
    until("it is recorded", || {
        browsers[0].run("return document.querySelector('#sign').open") == json!(false)
    });
    sandbox.until_runs_end();
    browsers[1].click("#go");
    until("the second is refused", || browsers[1].text("#problem").contains("does not wait for an answer"));
    let shown: Value = serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
    let selected = &shown["steps"][0]["outputs"]["selected"];
    assert_eq!(selected, &json!([{"file": "b", "confidence": 0.9}]));
    assert_eq!(shown["questions"][0]["given"]["by"][0]["name"], "phone");
}
