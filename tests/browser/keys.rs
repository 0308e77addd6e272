//! The keys of people in browsers: one asks, another one compares and signs, and both pages say so by themselves.

use super::{WIDTHS, acts::can_be_used, driver::Browser, make_key};
use crate::{
    support::{Sandbox, until},
    web::Pages,
};

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn a_key_is_enrolled_on_the_page_of_another_browser() {
    for width in WIDTHS {
        let sandbox = Sandbox::new();
        let pages = Pages::open(&sandbox);
        let (desk, phone) = (Browser::start(width), Browser::start(375));
        desk.open(&pages.link("start"));
        let public = make_key(&desk, &pages);
        sandbox.wf(&["key", "enrol", "ada", &public, "--yes"]).exits(0);
        until("its page says so by itself", || desk.text("#key-place") == "Enrolled as ada here.");

        phone.open(&pages.link("look"));
        make_key(&phone, &pages);
        phone.click("#key-ask button");
        until("it asks", || phone.is_shown("#key-asked"));
        let words = phone.text("#key-words");
        until("the other one hears of it", || desk.text("main").contains(&words));
        assert!(desk.is_shown("#key-public"), "its own key stays");
        desk.click("#asked-keys a");
        until("the words are there to compare", || desk.is_shown("#enrolment"));
        can_be_used(&desk, width);
        desk.run("document.getElementById('name').value = 'phone'");
        desk.click("#enrolment button");
        until("it is asked", || desk.is_shown("#sign"));
        let statement = desk.text("#statement");
        for text in [&words, "phone", "+  - {name: phone", "in the workspace"] {
            assert!(statement.contains(text), "{text}: {statement}");
        }
        can_be_used(&desk, width);
        assert!(desk.run("return document.getElementById('go').disabled").as_bool().unwrap());
        desk.run("const slide = document.getElementById('slide'); slide.value = 100; slide.oninput()");
        desk.click("#go");
        until("it is enrolled", || desk.text("main").contains("Enrolled as phone here."));
        assert!(sandbox.read("approvers.yaml").contains("name: phone"));
        can_be_used(&desk, width);
        until("the phone hears of it", || phone.text("#key-place") == "Enrolled as phone here.");
        can_be_used(&phone, 375);
        for browser in [desk, phone] {
            assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
        }
    }
}
