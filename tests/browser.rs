//! The pages in a real Chromium, driven through its `WebDriver`: at the width of a phone and of a desktop. `tests/browser/install`
//! installs both; `.ci/real` runs these tests.

mod driver;

use serde_json::{Value, json};

use crate::support::{Sandbox, until};
use crate::web::{GOAL, Pages, last_run};
use driver::Browser;

/// The widths of a phone and of a desktop, in pixels.
const WIDTHS: [u32; 2] = [375, 1440];

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

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn every_page_fits_and_can_be_read() {
    for width in WIDTHS {
        let (sandbox, pages, browser) = opened(width);
        let run = last_run(&sandbox);
        for path in [
            "/".to_owned(),
            "/review".into(),
            format!("/review/{run}/1"),
            "/runs".into(),
            format!("/runs/{run}"),
            format!("/runs/{run}/steps/build"),
            "/goals".into(),
            "/goals/mirror".into(),
            "/goals/mirror?month=2026-10".into(),
            "/activity".into(),
            "/memory".into(),
            "/skills".into(),
            "/connections".into(),
            "/audit".into(),
            "/audit/1".into(),
            "/audit/verify".into(),
            "/keys".into(),
            "/none".into(),
        ] {
            browser.open(&format!("{}{path}", pages.origin()));
            let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{path} is {wide} pixels wider than {width}");
            assert_eq!(browser.run("return document.querySelectorAll('h1').length"), 1, "{path}");
            let small = "return [...document.querySelectorAll('button')].filter((one) => one.offsetParent && \
                         one.offsetHeight < 40).length";
            assert_eq!(browser.run(small), 0, "{path} has buttons that a finger misses");
            let nameless = "return [...document.querySelectorAll('input, select, textarea, button, img, a')].filter((one) => \
                !(one.labels?.length || one.textContent.trim() || one.alt || one.getAttribute('aria-label'))).length";
            assert_eq!(browser.run(nameless), 0, "{path} has a control without a name");
        }
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_key_of_a_browser_approves_what_is_shown() {
    for width in WIDTHS {
        let (sandbox, pages, browser) = opened(width);
        let run = last_run(&sandbox);
        let card = format!("{}/review/{run}/1", pages.origin());
        browser.open(&format!("{}/keys", pages.origin()));
        browser.click("#make");
        until("the key is shown", || browser.text("#public").len() == 64);
        let public = browser.text("#public");
        assert_eq!(browser.text("#command"), format!("wf key enrol NAME {public}"));
        browser.open(&card);
        until("it can sign", || browser.is_shown("#answer"));
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        let statement = browser.text("#statement");
        for text in ["approved", "Publish the list?", "1.2", "a⟨U+202E⟩b", "medium", &run] {
            assert!(statement.contains(text), "{text}: {statement}");
        }
        browser.click("#go");
        until("it is refused", || browser.text("#problem").contains("signature rejected"));
        sandbox.wf(&["key", "enrol", "phone", &public, "--yes"]).exits(0);
        browser.open(&card);
        until("it can sign", || browser.is_shown("#answer"));
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        browser.click("#go");
        until("it is recorded", || browser.address().ends_with("/review"));
        until("the answer is shown", || browser.text(".card").contains("answered"));
        sandbox.wf(&["resume", "--last"]).exits(0);
        until("the card is gone", || browser.text("main").contains("Nothing waits for an answer"));
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
    until("it is noticed", || browser.text("#connection").contains("trying again"));
    let again = Pages::open_at(&sandbox, &format!("127.0.0.1:{port}"));
    // A new server knows no browser.
    until("the login has ended", || browser.run("return fetch('/').then((one) => one.status)") == json!(401));
    browser.open(&again.another_link());
    assert!(browser.text("main").contains("Latest runs"));
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
    browser.open(&format!("{}/keys", pages.origin()));
    browser.click("#make");
    until("the key is shown", || browser.text("#public").len() == 64);
    browser.open(&format!("{}/review/{}/1", pages.origin(), last_run(&sandbox)));
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
    browser.open(&format!("{}/keys", pages.origin()));
    browser.click("#make");
    until("the key is shown", || browser.text("#public").len() == 64);
    sandbox.wf(&["key", "enrol", "phone", &browser.text("#public"), "--yes"]).exits(0);
    for (change, sent) in [("", "a\tb"), ("document.querySelector('textarea').value += '!'", "a\tb!")] {
        sandbox.wf(&["run", "draft.md"]).exits(5);
        browser.open(&format!("{}/review/{}/1", pages.origin(), last_run(&sandbox)));
        until("it can sign", || browser.is_shown("#answer"));
        browser.run(change);
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        browser.click("#go");
        until("it is recorded", || browser.address().ends_with("/review"));
        sandbox.wf(&["resume", "--last"]).exits(0);
        let shown: Value = serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
        assert_eq!(shown["steps"][0]["outputs"]["text"], sent);
    }
}
