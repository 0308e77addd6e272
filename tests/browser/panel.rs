//! A step beside its run, where there is room, and the filter of runs, where there is none.

use serde_json::json;

use super::{acts::can_be_used, driver::Browser, opened};
use crate::{support::until, web::last_run};

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_step_opens_beside_its_run_where_there_is_room() {
    let (sandbox, pages, browser) = opened(1440);
    let run = format!("{}/runs/{}", pages.origin(), last_run(&sandbox));
    for (tab, link) in [
        ("graph", "figure a[href$='/steps/build']"),
        ("timeline", "figure a[href$='/steps/build']"),
        ("steps", "#steps a[href$='/steps/build']"),
    ] {
        browser.open(&format!("{run}?tab={tab}"));
        // By the keyboard: Enter on what has the focus.
        let press = format!(
            "const link = document.querySelector({}); link.focus(); \
             link.dispatchEvent(new MouseEvent('click', {{bubbles: true, cancelable: true}}))",
            json!(link)
        );
        browser.run(&press);
        until("it is beside the run", || browser.is_shown("#panel-title"));
        assert!(
            browser.text("#panel").contains("Attempt 1") && browser.text("main").contains("release"),
            "{tab}"
        );
        assert_eq!(browser.address(), format!("{run}?tab={tab}&step=build"));
        until("it is read first", || browser.run("return document.activeElement.id") == "panel-title");
        can_be_used(&browser, 1440);
        browser.run("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))");
        until("it is closed", || !browser.is_shown("#panel"));
        assert_eq!(browser.address(), format!("{run}?tab={tab}"));
        let focused = browser.run("return document.activeElement.getAttribute('href')");
        assert!(focused.as_str().unwrap().ends_with("/steps/build"), "{tab}: {focused}");
    }
    browser.open(&format!("{run}?tab=steps&step=build"));
    until("its address opens it", || browser.is_shown("#panel-title"));
    // It stays, and is current, while the page changes.
    sandbox.wf(&["cancel", "--last"]);
    until("the page has changed", || browser.text("h1").contains("cancelled"));
    assert!(browser.is_shown("#panel-title"));
    browser.click("#panel [data-whole]");
    until("its page is a page of its own", || browser.address() == format!("{run}/steps/build"));
    let narrow = Browser::start(800);
    narrow.open(&pages.another_link());
    narrow.open(&format!("{run}?tab=steps"));
    narrow.click("#steps a[href$='/steps/build']");
    until("there is no room", || narrow.address() == format!("{run}/steps/build"));
    for browser in [browser, narrow] {
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn the_filter_of_runs_is_folded_on_a_phone() {
    for (width, is_open) in [(375, false), (1440, true)] {
        let (_sandbox, pages, browser) = opened(width);
        browser.open(&format!("{}/runs?state=waiting", pages.origin()));
        let open = "return document.querySelector('details[data-wide]').open";
        until("it is as the screen has room", || browser.run(open) == is_open);
        can_be_used(&browser, width);
        browser.run("document.querySelector('details[data-wide]').open = true");
        assert!(browser.is_shown("input[name=since]"));
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}
