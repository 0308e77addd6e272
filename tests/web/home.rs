//! The home page, the frame of each page, and the same views for programs.

use super::{GOAL, Pages, last_run};
use crate::support::Sandbox;

const FAILS: &str = "\
---
kind: plan
id: nightly
steps:
  - {id: build, run: 'true'}
  - {id: test, depends_on: [build], run: 'echo no such table; exit 3'}
---
";

const MENDED: &str = "---\nkind: plan\nid: nightly\nsteps:\n  - {id: build, run: 'true'}\n---\n";

const ASKS: &str = "\
---
kind: plan
id: publish
steps:
  - {id: agree, approve: {message: 'Publish it?'}}
---
";

#[test]
fn home_says_what_waits_and_what_is_wrong_now() {
    let sandbox = Sandbox::new();
    sandbox.file("nightly.md", FAILS).file("publish.md", ASKS);
    let pages = Pages::open(&sandbox);
    pages.shows("/", &["Nothing has run here yet", "wf run PLAN", "Nothing waits for an answer"]);
    sandbox.wf(&["run", "nightly.md"]).exits(1);
    let failed = last_run(&sandbox);
    sandbox.wf(&["run", "publish.md"]).exits(5);
    let asked = last_run(&sandbox);
    let step = format!("/runs/{failed}/steps/test");
    pages.shows("/", &["Wrong now", &step, "class=\"strip\"", "1 failed", "Publish it?"]);
    pages.shows("/", &["<span>Inbox</span><span class=\"count\">1</span>"]);
    pages.shows(&format!("/inbox/{asked}/1"), &["Publish it?", "aria-current=\"page\""]);

    pages.shows(&format!("/runs/{failed}"), &["Run again…", &format!("/start?from={failed}")]);
    let view = pages.view("/");
    assert_eq!(view["failures"][0]["failed_step"], "test");
    assert_eq!(pages.view(&format!("/runs/{failed}"))["record"]["run"]["state"], "failed");

    sandbox.file("nightly.md", MENDED);
    sandbox.wf(&["run", "nightly.md"]).exits(0);
    let page = pages.ask("/");
    assert!(!page.contains(&step) && !page.contains("Wrong now"), "a later run made it good: {page}");
}

#[test]
fn an_address_of_an_earlier_version_leads_on() {
    let pages = Pages::open(&Sandbox::new());
    for (old, new) in [("/review", "/inbox"), ("/review/1a/2", "/inbox/1a/2")] {
        let answer = pages.ask(old);
        assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
        assert!(answer.contains(&format!("location: {new}\r\n")), "{answer}");
    }
}

#[test]
fn one_search_finds_runs_plans_goals_and_requests() {
    let sandbox = Sandbox::new();
    sandbox.file("workflows/nightly.md", FAILS).file("publish.md", ASKS).file("goals/mirror.md", GOAL);
    let pages = Pages::open(&sandbox);
    pages.shows("/search?q=", &["Search"]);
    pages.shows("/search?q=nothing-like-it", &["Nothing is found"]);
    pages.shows("/search?q=NIGHT", &["<h2>Plans</h2>", "/plans/workflows%2Fnightly.md"]);
    sandbox.wf(&["run", "workflows/nightly.md"]).exits(1);
    let run = last_run(&sandbox);
    let page = format!("/runs/{run}");
    for text in ["nightly", "test%60%20failed", &run[..6]] {
        pages.shows(&format!("/search?q={text}"), &["<h2>Runs</h2>", &page]);
    }
    let other = pages.ask("/search?q=%25");
    assert!(!other.contains("<h2>Runs</h2>"), "a sign of a pattern is a text: {other}");
    sandbox.wf(&["run", "publish.md"]).exits(5);
    pages.shows("/search?q=publish%20it", &["<h2>Requests</h2>", "/inbox/"]);
    pages.shows("/search?q=mirror", &["<h2>Goals</h2>", "/goals/mirror"]);
}

#[test]
fn a_program_finds_the_icon_where_it_looks_for_it() {
    let pages = Pages::open(&Sandbox::new());
    for address in ["/icon.svg", "/favicon.ico"] {
        let head = pages.head(address);
        assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("content-type: image/svg+xml"), "{head}");
    }
}
