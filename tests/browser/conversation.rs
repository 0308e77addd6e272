//! The page of an agent's conversation in a browser: it fits, everyone can read it, and what was opened stays open.

use super::{WIDTHS, driver::Browser};
use crate::web::{Pages, exchange::careful};

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_conversation_fits_and_can_be_read() {
    let (sandbox, run) = careful();
    let pages = Pages::open(&sandbox);
    let step = format!("{}/runs/{run}/steps/fix/attempts", pages.origin());
    for width in WIDTHS {
        let browser = Browser::start(width);
        browser.open(&pages.another_link());
        for path in ["/1/agent", "/2/agent", "/2/agent?only=tools", "/2/agent?only=errors", "/2/agent?from=9"]
        {
            browser.open(&format!("{step}{path}"));
            browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
            let wide = browser.run("return document.documentElement.scrollWidth - window.innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{path} is {wide} pixels wider than {width}");
            assert_eq!(browser.run("return document.querySelectorAll('h1').length"), 1, "{path}");
            assert_eq!(browser.barriers(), Vec::<String>::new(), "{path}");
        }
        browser.open(&format!("{step}/2/agent#turn-2"));
        assert_eq!(browser.run("return document.querySelector(':target').id"), "turn-2");
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}
