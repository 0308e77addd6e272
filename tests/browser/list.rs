//! Pages that one works in: the list of runs, and the palette.

use serde_json::json;

use super::{WIDTHS, acts::can_be_used, driver::Browser, opened};
use crate::{
    support::{Sandbox, until},
    web::{Pages, last_run},
};

const PLAN: &str =
    "---\nkind: plan\nid: ID\nsteps: [{id: one, idempotent: true, allow: {}, run: 'test -e go'}]\n---\n";

/// Runs a plan that fails, with a name of its own, and returns its run.
fn fail(sandbox: &Sandbox, id: &str) -> String {
    sandbox.file(&format!("{id}.md"), PLAN.replace("ID", id));
    sandbox.wf(&["run", &format!("{id}.md"), "-q"]).exits(1);
    last_run(sandbox)
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn selected_runs_stay_selected_while_the_list_changes() {
    for width in WIDTHS {
        let sandbox = Sandbox::new();
        let runs = [fail(&sandbox, "first"), fail(&sandbox, "second")];
        let pages = Pages::open(&sandbox);
        let browser = Browser::start(width);
        browser.open(&pages.another_link());
        browser.open(&format!("{}/runs", pages.origin()));
        for run in &runs {
            browser.click(&format!("#pick-{run}"));
        }
        let later = [fail(&sandbox, "third"), fail(&sandbox, "fourth")];
        until("the others are shown", || browser.text("table").contains("fourth"));
        let checked =
            "return [...document.querySelectorAll('[name=run]:checked')].map((box) => box.value).sort()";
        let mut expected = runs.to_vec();
        expected.sort();
        assert_eq!(browser.run(checked), json!(expected), "and none of the later {later:?}");
        can_be_used(&browser, width);
        browser.click("button[value=retry]");
        until("each is named", || browser.text("h1") == "Retry 2 runs?");
        can_be_used(&browser, width);
        sandbox.file("go", "");
        browser.click("button.yes");
        until("each is done", || browser.text("h1") == "Retried: 2 of 2");
        can_be_used(&browser, width);
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
        sandbox.until_runs_end();
    }
}

/// Presses keys in the field of the palette, after a text was typed.
fn type_and_press(browser: &Browser, text: &str, keys: &[&str]) {
    browser.run(&format!(
        "const field = document.querySelector('#palette input'); field.value = {}; \
         field.dispatchEvent(new Event('input', {{bubbles: true}}))",
        json!(text)
    ));
    for key in keys {
        press(browser, &format!("{{key: '{key}'}}"));
    }
}

fn press(browser: &Browser, key: &str) {
    browser.run(&format!(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', Object.assign({key}, {{bubbles: true, cancelable: true}})))"
    ));
}

const CTRL_K: &str = "{key: 'k', ctrlKey: true}";

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn the_palette_goes_to_a_page_by_a_few_letters() {
    for width in WIDTHS {
        let (sandbox, pages, browser) = opened(width);
        let run = last_run(&sandbox);
        browser.open(&format!("{}/runs/{run}", pages.origin()));
        press(&browser, CTRL_K);
        until("it is open", || browser.is_shown("#palette"));
        can_be_used(&browser, width);
        // A page of the navigation, by letters of its name, without the server.
        type_and_press(&browser, "skil", &["Enter"]);
        until("the page is shown", || browser.address().ends_with("/skills"));
        // A run, by the beginning of its id; the page changes meanwhile, and the palette stays.
        press(&browser, CTRL_K);
        type_and_press(&browser, &run[..6], &[]);
        until("it is found", || browser.text("#palette-list").contains(&run[..8]));
        sandbox.wf(&["run", "release.md"]).exits(5);
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(browser.is_shown("#palette"), "it stays open");
        can_be_used(&browser, width);
        press(&browser, "{key: 'Enter'}");
        until("the run is shown", || browser.address().ends_with(&format!("/runs/{run}")));
        // A plan, and the form that starts it.
        press(&browser, CTRL_K);
        type_and_press(&browser, "price list", &[]);
        until("it is found", || browser.text("#palette-list").contains("Run Release the price list"));
        let place = browser.run(
            "return [...document.querySelectorAll('#palette-list li')].findIndex((row) => row.textContent.startsWith('Run Release'))",
        );
        for _ in 0..place.as_u64().unwrap() {
            press(&browser, "{key: 'ArrowDown'}");
        }
        let active = browser.run(
            "return document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).ariaSelected",
        );
        assert_eq!(active, "true");
        press(&browser, "{key: 'Enter'}");
        until("its form is shown", || {
            browser.address().ends_with("/plans/release.md/start") && browser.is_shown("main form")
        });
        // A button of the page gets the focus, and is not pressed.
        browser.open(&format!("{}/runs/{run}", pages.origin()));
        press(&browser, CTRL_K);
        type_and_press(&browser, "cancel", &["Enter"]);
        until("it is closed", || !browser.is_shown("#palette"));
        assert_eq!(browser.run("return document.activeElement.textContent"), "Cancel");
        assert!(browser.text("h1").contains("waiting"), "nothing was cancelled");
        assert_eq!(browser.problems(), Vec::<String>::new(), "the console is empty");
    }
}
