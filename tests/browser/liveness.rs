//! A page that stays open: it is current, and what a person does on it stays.

use std::time::Duration;

use serde_json::json;

use super::{driver::Browser, make_key, opened};
use crate::{
    support::{Sandbox, until},
    web::{Pages, last_run},
};

const PLAN: &str = "---\nkind: plan\nid: ID\nsteps: [{id: one, run: 'true'}]\n---\n";

/// Runs a plan with a name of its own.
fn run_plan(sandbox: &Sandbox, id: &str) {
    sandbox.file("plan.md", PLAN.replace("ID", id));
    sandbox.wf(&["run", "plan.md"]).exits(0);
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_page_is_current_around_what_a_person_does() {
    let sandbox = Sandbox::new();
    run_plan(&sandbox, "first");
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(1440);
    browser.open(&pages.another_link());
    browser.open(&format!("{}/runs", pages.origin()));
    browser.run(
        "const type = (field, value) => { field.value = value; field.dispatchEvent(new Event('input', {bubbles: true})); }; \
         type(document.querySelector('input[name=plan]'), 'nine'); \
         type(document.querySelector('select[name=access]'), 'operate'); \
         globalThis.same = 'page'; \
         getSelection().selectAllChildren(document.querySelector('h1'))",
    );
    for id in ["second", "third", "fourth"] {
        run_plan(&sandbox, id);
        until("the run is shown", || browser.text("table").contains(id));
    }
    let kept = browser.run(
        "return [document.querySelector('input[name=plan]').value, document.querySelector('select[name=access]').value, \
         String(getSelection()), globalThis.same]",
    );
    assert_eq!(kept, json!(["nine", "operate", "Runs", "page"]));
    assert!(!browser.is_shown("#outdated"), "no form has changed on the server");
    // A script that is loaded after the news, as on a slow phone.
    let late = "import('/page.js').then(({hearNews}) => hearNews(() => done('heard')))";
    assert_eq!(browser.run_async(late), json!("heard"));
    assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_login_outlives_the_server_and_its_end_is_said() {
    let (sandbox, pages, browser) = opened(1440);
    browser.open(&format!("{}/runs", pages.origin()));
    browser.run("globalThis.same = 'page'");
    let port = pages.origin().rsplit_once(':').unwrap().1.to_owned();
    drop(pages);
    until("it is noticed", || browser.text("#connection").contains("Reconnecting (since"));
    let _again = Pages::open_at(&sandbox, &format!("127.0.0.1:{port}"));
    run_plan(&sandbox, "later");
    until("the page is current", || browser.text("table").contains("later"));
    assert_eq!(browser.text("#connection"), "");
    assert_eq!(browser.run("return globalThis.same"), "page", "it was not loaded again");
    sandbox.file(".wf/logins.json", "{\"links\": {}, \"browsers\": {}}");
    until("its end is said", || browser.text("#connection").contains("This login has ended"));
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn what_is_signed_is_read_from_its_first_line_on_a_small_phone() {
    let (sandbox, pages, browser) = opened(320);
    let public = make_key(&browser, &pages);
    sandbox.wf(&["key", "enrol", "phone", &public, "--yes"]).exits(0);
    browser.open(&format!("{}/inbox/{}/1", pages.origin(), last_run(&sandbox)));
    until("it can sign", || browser.is_shown("#answer"));
    browser.click("#answer button[value=yes]");
    until("it is asked", || browser.is_shown("#sign"));
    let shown = browser.run(
        "const place = (id) => document.getElementById(id).getBoundingClientRect(); \
         return [document.getElementById('sign').scrollTop, place('sign-title').top >= 0, \
         place('go').bottom <= innerHeight, document.activeElement.id]",
    );
    assert_eq!(shown, json!([0, true, true, "sign-title"]));
    assert_eq!(browser.text("#sign-title"), "You approve");
    // The page does not change under its reader, and says that it has changed.
    browser.click("#sign button:not(#go)");
    sandbox.wf(&["deny", "--last", "--yes"]).exits(0);
    until("it says so", || browser.is_shown("#outdated"));
    assert!(browser.is_shown("#answer"));
}

/// A plan of which something happens ten times a second.
const TICKS: &str = "\
---
kind: plan
id: ticks
policy: {max_parallel: 1}
steps:
  - {id: tick, for_each: ITEMS, run: 'echo tick; sleep 0.05'}
---
";

/// The time in which requests are counted, and the most of them.
const COUNTED_SECONDS: u64 = 5;
const MAX_REQUESTS: u64 = 2 * COUNTED_SECONDS;

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_page_of_a_live_run_asks_twice_a_second_at_most() {
    let sandbox = Sandbox::new();
    let items: Vec<u32> = (0..2000).collect();
    sandbox.file("ticks.md", TICKS.replace("ITEMS", &format!("{items:?}")));
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(1440);
    browser.open(&pages.another_link());
    let mut child = sandbox.start(&["run", "ticks.md", "-q"]);
    until("it ticks", || sandbox.wf(&["logs", "--last"]).out.contains("tick"));
    let run = last_run(&sandbox);
    for tab in ["timeline", "logs"] {
        browser.open(&format!("{}/runs/{run}?tab={tab}", pages.origin()));
        let (title, head) = (browser.text(".run-title p"), browser.text("h1"));
        assert!(head.contains("running") && title.starts_with("for "), "{head} {title}");
        browser.run("performance.clearResourceTimings()");
        std::thread::sleep(Duration::from_secs(COUNTED_SECONDS));
        let counted = browser.run("return performance.getEntriesByType('resource').map((one) => one.name)");
        let count = counted.as_array().unwrap().len() as u64;
        assert!(
            (1..=MAX_REQUESTS + 1).contains(&count),
            "{tab} asks {count} times in {COUNTED_SECONDS} s: {counted}"
        );
        assert_ne!(browser.text(".run-title p"), title, "its time goes on");
    }
    sandbox.wf(&["cancel", &run]).exits(0);
    child.wait().unwrap();
}

/// A step that writes, and causes no event meanwhile.
const SPEAKS: &str = "\
---
kind: plan
id: speaks
steps:
  - {id: speak, run: 'for n in $(seq 200); do echo said; sleep 0.3; done'}
---
";

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn the_outputs_of_a_run_grow_while_nothing_else_happens() {
    let sandbox = Sandbox::new();
    sandbox.file("speaks.md", SPEAKS);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(1440);
    browser.open(&pages.another_link());
    let mut child = sandbox.start(&["run", "speaks.md", "-q"]);
    until("it speaks", || sandbox.wf(&["logs", "--last"]).out.contains("said"));
    browser.open(&format!("{}/runs/{}?tab=logs", pages.origin(), last_run(&sandbox)));
    let lines = || browser.run("return document.querySelectorAll('wf-log[data-live] .line').length").as_u64();
    until("its lines are shown", || lines() > Some(0));
    for _ in 0..2 {
        let before = lines();
        until("more lines have come", || lines() > before);
    }
    sandbox.wf(&["cancel", "--last"]).exits(0);
    child.wait().unwrap();
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_timeline_goes_on_while_nothing_happens_and_its_bars_have_the_width_of_a_phone() {
    let sandbox = Sandbox::new();
    sandbox.file("speaks.md", SPEAKS);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(375);
    browser.open(&pages.another_link());
    let mut child = sandbox.start(&["run", "speaks.md", "-q"]);
    until("it speaks", || sandbox.wf(&["logs", "--last"]).out.contains("said"));
    let run = format!("{}/runs/{}", pages.origin(), last_run(&sandbox));
    let place = |name: &str, of: &str| {
        let script =
            format!("return Number.parseFloat(document.querySelector('{of}').getAttribute('{name}'))");
        browser.run(&script).as_f64().unwrap()
    };
    browser.open(&format!("{run}?from=0&to=600"));
    let (now, bar) = (place("x1", ".now"), place("width", "rect[data-open]"));
    until("now moves on, and the bar with it", || {
        place("x1", ".now") > now && place("width", "rect[data-open]") > bar
    });
    let share = browser.run(
        "return document.querySelector('.spans').getBoundingClientRect().width / document.documentElement.clientWidth",
    );
    assert!(share.as_f64() > Some(0.75), "{share}");
    let names = "const [name, bars] = ['.name', '.spans'].map((part) => \
                 document.querySelector(`.timeline ${part}`).getBoundingClientRect()); return bars.top - name.bottom";
    assert!(browser.run(names).as_f64() > Some(-1.0), "the name stands above the bars");
    browser.open(&run);
    let tick = || place("x1", ".axis g:nth-of-type(2) .tick");
    until("the page is read", || browser.is_shown(".timeline"));
    browser.run("performance.clearResourceTimings()");
    let before = tick();
    until("what has passed makes room", || tick() < before);
    assert!(place("x1", ".now") >= 100.0, "all of the time ends now");
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), 0, "nobody was asked");
    sandbox.wf(&["cancel", "--last"]).exits(0);
    child.wait().unwrap();
}
