//! What a person does on a page besides answering a request.

use serde_json::json;

use super::{WIDTHS, driver::Browser, make_key};
use crate::{
    support::{Sandbox, until},
    web::{
        Pages,
        autonomy::{advised, unaccepted},
        last_run,
        runs::{BACK, UNDOES},
        suggestions::suggesting,
    },
};

/// Checks that a page fits, and that everybody can use it.
#[track_caller]
pub(super) fn can_be_used(browser: &Browser, width: u32) {
    let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth");
    assert!(wide.as_i64().unwrap() <= 0, "the page is {wide} pixels wider than {width}");
    assert_eq!(browser.barriers(), Vec::<String>::new());
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_run_is_undone_with_one_tap() {
    for width in WIDTHS {
        let sandbox = Sandbox::new();
        sandbox.file("tidy.md", UNDOES).file("back.md", BACK);
        sandbox.wf(&["run", "tidy.md"]).exits(0);
        let undone = last_run(&sandbox);
        let pages = Pages::open(&sandbox);
        let browser = Browser::start(width);
        browser.open(&pages.another_link());
        let public = make_key(&browser, &pages);
        sandbox.wf(&["key", "enrol", "phone", &public, "--yes"]).exits(0);
        browser.open(&format!("{}/activity", pages.origin()));
        can_be_used(&browser, width);
        assert!(browser.is_shown("form[action$='/undo'] button"));
        browser.open(&format!("{}/runs/{undone}", pages.origin()));
        can_be_used(&browser, width);
        browser.click("form[action$='/undo'] button");
        until("the page of the new run is shown", || {
            !browser.text("h1").is_empty() && !browser.address().contains(&undone)
        });
        until("it waits", || browser.text("main").contains("Move it back?"));
        assert!(browser.text("main").contains(&format!("undoes {}", &undone[..8])));
        let undo = browser.address();
        browser.open(&format!("{}/inbox/{}/1", pages.origin(), last_run(&sandbox)));
        until("it can sign", || browser.is_shown("#answer"));
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        browser.click("#go");
        until("it is recorded", || browser.is_shown("[data-answered]"));
        browser.open(&undo);
        until("the run goes on by itself", || browser.text("h1").contains("succeeded"));
        browser.open(&format!("{}/runs/{undone}", pages.origin()));
        assert!(browser.text("main").contains("Undone by") && !browser.is_shown("form[action$='/undo']"));
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_suggestion_is_a_card_that_starts_a_run() {
    for width in WIDTHS {
        let sandbox = suggesting();
        let pages = Pages::open(&sandbox);
        let browser = Browser::start(width);
        browser.open(&pages.another_link());
        browser.open(&format!("{}/inbox", pages.origin()));
        can_be_used(&browser, width);
        let tall = browser.run("return document.querySelector('.card').offsetHeight").as_i64().unwrap();
        assert!(tall <= 300, "the card is {tall} pixels tall");
        assert!(browser.text("main").contains("Starts sort.md with the parameters below"));
        browser.click("form[action='/suggestions/2/dismiss'] button");
        until("one is left", || {
            let left = "return document.querySelectorAll(\"form[action^='/suggestions/']\").length";
            browser.address().ends_with("/inbox") && browser.run(left) == json!(2)
        });
        browser.click("form[action='/suggestions/1/accept'] button");
        until("its run asks", || {
            browser.address().contains("/runs/") && browser.text("main").contains("Really sort?")
        });
        browser.open(&format!("{}/inbox", pages.origin()));
        assert!(!browser.is_shown("form[action^='/suggestions/']"));
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}

/// Signs for the goal on its page with a button, after what is signed was shown.
fn sign_for_goal(browser: &Browser, button: &str, shown: &[&str]) {
    until("it can be signed", || browser.is_shown(&format!("button[value={button}]")));
    browser.click(&format!("button[value={button}]"));
    until("it is asked", || browser.is_shown("#sign"));
    let statement = browser.text("#statement");
    for text in shown {
        assert!(statement.contains(text), "{text}: {statement}");
    }
    browser.click("#go");
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_goal_is_accepted_and_its_autonomy_widened_by_the_key_of_a_browser() {
    for width in WIDTHS {
        for (sandbox, button, shown, end) in [
            (unaccepted(), "acceptance", ["the goal as it is: lamp", "touch lit/on"], "new"),
            (advised(), "proposal", ["its repairs, unattended: lamp", "how often\n6"], "0 of 6 used"),
        ] {
            let pages = Pages::open(&sandbox);
            let browser = Browser::start(width);
            browser.open(&pages.another_link());
            let public = make_key(&browser, &pages);
            sandbox.wf(&["key", "enrol", "phone", &public, "--yes"]).exits(0);
            browser.open(&format!("{}/goals/lamp", pages.origin()));
            can_be_used(&browser, width);
            sign_for_goal(&browser, button, &shown);
            until("it is recorded", || {
                !browser.is_shown(&format!("button[value={button}]")) && browser.text("main").contains(end)
            });
            assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
        }
    }
}
