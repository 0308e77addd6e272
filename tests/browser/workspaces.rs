//! Several workspaces in a browser: one login, the menu between them, and a signature in the second one.

use super::{ASKS, WIDTHS, acts::can_be_used, driver::Browser, make};
use crate::{
    support::{Sandbox, until},
    web::workspaces::Both,
};

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_browser_goes_from_one_workspace_to_another_and_signs_there() {
    for width in WIDTHS {
        let both = Both::open(Sandbox::new(), Sandbox::new(), &[]);
        let (lab, origin) = (&both.lab, both.pages.origin());
        lab.file("release.md", ASKS);
        std::fs::create_dir(lab.at("out")).unwrap();
        let browser = Browser::start(width);
        browser.open(&both.pages.another_link());
        until("all workspaces are shown", || browser.text("main").contains("nothing is wrong"));
        can_be_used(&browser, width);
        lab.wf(&["run", "release.md"]).exits(5);
        until("what waits is heard of", || browser.text("main").contains("agree"));
        browser.open(&format!("{origin}/w/shop/"));
        browser.click(".workspaces summary");
        assert!(browser.is_shown(".workspaces a[href='/w/lab/']"));
        can_be_used(&browser, width);
        browser.click(".workspaces a[href='/w/lab/']");
        until("it is at home there", || browser.address() == format!("{origin}/w/lab/"));
        browser.click("main a[href^='/w/lab/inbox/']");
        until("the card is shown", || browser.is_shown("#answer"));
        browser.click("#answer button[value=yes]");
        until("it needs a key", || browser.address().starts_with(&format!("{origin}/w/lab/keys?back=")));
        let public = make(&browser, "key");
        lab.wf(&["key", "enrol", "phone", &public, "--yes"]).exits(0);
        browser.click("main a[href^='/w/lab/inbox/']");
        until("the card is shown again", || browser.is_shown("#answer"));
        browser.click("#answer button[value=yes]");
        until("it is asked", || browser.is_shown("#sign"));
        browser.click("#go");
        until("it is decided", || {
            browser.address().starts_with(&format!("{origin}/w/lab/inbox/"))
                && browser.text("main").contains("approved")
        });
        lab.until_runs_end();
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}
