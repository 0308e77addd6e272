//! The viewer of an output: any of 200,000 lines is a moment away.

use serde_json::json;

use super::{driver::Browser, opened};
use crate::{
    support::{Sandbox, until},
    web::{Pages, last_run, logs::LONG},
};

/// Returns the lines that the page holds, without their numbers.
pub fn lines(browser: &Browser) -> String {
    let script =
        "return [...document.querySelectorAll('.line')].map((line) => line.line?.text ?? '').join('\\n')";
    browser.run(script).as_str().unwrap().to_owned()
}

/// True if a line is within what is seen of the log.
fn is_seen(browser: &Browser, number: u32) -> bool {
    let script = format!(
        "const row = document.getElementById('L{number}')?.getBoundingClientRect(); \
         const pane = document.querySelector('.log').getBoundingClientRect(); \
         return Boolean(row) && row.top >= pane.top - 1 && row.bottom <= pane.bottom + 1"
    );
    browser.run(&script) == json!(true)
}

/// Searches for a text.
fn search(browser: &Browser, text: &str) {
    browser.run(&format!("document.querySelector('.log-search input').value = {}", json!(text)));
    browser.click(".log-search button:not([type])");
}

/// Lets the times be shown before lines, in each way, and checks that of a line.
fn show_times(browser: &Browser, line: u32) {
    for (times, shape) in [("elapsed", r"^\d\d:\d\d\.\d$"), ("clock", r"^\d\d:\d\d:\d\d\.\d$")] {
        browser.run(&format!(
            "const choice = document.querySelector('.log-bar select'); choice.value = '{times}'; \
             choice.dispatchEvent(new Event('change'))"
        ));
        let is_time = format!("return /{shape}/.test(document.querySelector('#L{line} > .at').textContent)");
        assert_eq!(browser.run(&is_time), true, "{times}");
    }
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_line_in_an_address_is_not_covered() {
    let (sandbox, pages, browser) = opened(375);
    let run = format!("{}/runs/{}", pages.origin(), last_run(&sandbox));
    for width in [375, 1440] {
        browser.resize(width);
        for (page, has_scripts) in
            [("?tab=logs", false), ("/steps/build", false), ("?tab=logs", true), ("/steps/build", true)]
        {
            browser.permit_scripts(has_scripts);
            browser.open(&format!("{}/keys", pages.origin()));
            browser.open(&format!("{run}{page}#L10"));
            browser.permit_scripts(true);
            let seen = "const row = document.getElementById('L10')?.getBoundingClientRect(); \
                 return row ? document.elementFromPoint(row.left + 100, row.top + 3)?.closest('.line')?.id ?? 'covered' : 'gone'";
            until("the line is seen", || browser.run(seen) == json!("L10"));
        }
    }
    browser.open(&format!("{run}?tab=logs"));
    until("the viewer is there", || browser.is_shown("wf-log[data-live] .log"));
    assert_eq!(browser.text("#L100 > .task"), "build");
    search(&browser, "line 42 ");
    until("it is found", || browser.text(".log-search output") == "1 of 1");
    assert!(browser.address().ends_with("?tab=logs#L42"), "{}", browser.address());
    let copied =
        "getSelection().selectAllChildren(document.getElementById('L42')); return String(getSelection())";
    assert!(
        browser.run(copied).as_str().unwrap().starts_with("line 42 of"),
        "the name of a step is not copied"
    );
    assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn any_line_is_found_chosen_and_shared() {
    let sandbox = Sandbox::new();
    sandbox.file("long.md", LONG);
    sandbox.wf(&["run", "long.md", "-q"]).exits(0);
    let pages = Pages::open(&sandbox);
    for width in [375, 1440] {
        let browser = Browser::start(width);
        browser.open(&pages.another_link());
        let step = format!("{}/runs/{}/steps/talk", pages.origin(), last_run(&sandbox));
        browser.open(&step);
        until("the viewer is there", || browser.is_shown("wf-log[data-live] .log"));
        until("the end is seen", || is_seen(&browser, 200_001));

        search(&browser, "line 150000");
        until("it is found", || is_seen(&browser, 150_000));
        assert_eq!(browser.text(".log-search output"), "1 of 1");
        assert_eq!(browser.text("mark"), "line 150000");
        assert!(browser.address().ends_with("/steps/talk#L150000"));
        browser.run(
            "document.querySelector('#L150003 > a').dispatchEvent(new MouseEvent('click', {bubbles: true, \
             cancelable: true, shiftKey: true}))",
        );
        let range = browser.address();
        assert!(range.ends_with("#L150000-L150003"), "{range}");
        let chosen = "return document.querySelectorAll('.line[data-chosen]').length";
        assert_eq!(browser.run(chosen), 4);
        let copied = "getSelection().selectAllChildren(document.getElementById('L150001')); return String(getSelection())";
        assert_eq!(browser.run(copied), "line 150001", "a number is not copied");

        show_times(&browser, 150_001);
        assert_eq!(browser.run(copied), "line 150001", "a time is not copied");
        browser.click(".log-bar > button");
        until("the first error is shown", || is_seen(&browser, 200_001));
        assert!(browser.address().ends_with("#L200001"));
        search(&browser, "line 1999");
        until("its first line is shown", || is_seen(&browser, 1_999));
        browser.click(".log-search button:not([type])");
        until("the next one is shown", || is_seen(&browser, 19_990));
        assert_eq!(browser.text(".log-search output"), "2 of 111");
        browser.click(".log-search button[type]");
        until("the one before is shown", || is_seen(&browser, 1_999));

        browser.open(&format!("{}/runs", pages.origin()));
        browser.open(&range);
        until("the range is shown", || browser.run(chosen) == json!(4) && is_seen(&browser, 150_003));
        browser.run("const log = document.querySelector('.log'); log.scrollTop = log.scrollHeight / 4");
        until("a quarter is shown", || {
            lines(&browser).contains("line 49990") && lines(&browser).contains("line 50010")
        });
        browser.run("document.querySelector('.log').scrollTop = 0");
        until("the beginning is shown", || is_seen(&browser, 1));
        assert_eq!(browser.text(".fg-red"), "red");
        let held = "return document.querySelectorAll('.line').length";
        assert!(browser.run(held).as_i64().unwrap() <= 1_500, "the page holds a part");
        let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "the page is {wide} pixels wider than {width}");
        assert_eq!(browser.barriers(), Vec::<String>::new());

        browser.open(&step.replace("/talk", "/talk/output?attempt=1&from=1000"));
        until("the viewer is there", || is_seen(&browser, 1_001));
        assert_eq!(browser.barriers(), Vec::<String>::new());
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}

/// Lines that a phone wraps: more of them the further down.
const WRAPS: &str = "\
---
kind: plan
id: wraps
steps:
  - {id: talk, run: 'for n in $(seq 200); do echo \"line $n $(seq -s \" \" $n)\"; done'}
---
";

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn the_first_line_that_is_seen_stays_when_times_are_shown() {
    let sandbox = Sandbox::new();
    sandbox.file("wraps.md", WRAPS);
    sandbox.wf(&["run", "wraps.md", "-q"]).exits(0);
    let pages = Pages::open(&sandbox);
    let browser = Browser::start(375);
    browser.open(&pages.another_link());
    browser.open(&format!("{}/runs/{}/steps/talk", pages.origin(), last_run(&sandbox)));
    until("the viewer is there", || browser.is_shown("wf-log[data-live] .log"));
    let first = "const pane = document.querySelector('.log').getBoundingClientRect(); \
                 return [...document.querySelectorAll('.line')].find((row) => row.getBoundingClientRect().bottom > pane.top + 1).id";
    browser.run("const row = document.getElementById('L120'); document.querySelector('.log').scrollTop = row.offsetTop");
    until("the line is seen", || browser.run(first) == json!("L120"));
    for times in ["clock", "hidden", "elapsed"] {
        browser.run(&format!(
            "const choice = document.querySelector('.log-bar select'); choice.value = '{times}'; \
             choice.dispatchEvent(new Event('change'))"
        ));
        assert_eq!(browser.run(first), json!("L120"), "{times}");
    }
}
