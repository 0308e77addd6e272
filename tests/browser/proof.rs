//! The proof that every page can be used: at the width of a phone, a tablet and a desktop, light and dark, with scripts and without.
//!
//! A page is loaded once with scripts and once without; between the widths and the schemes, only the window changes.

use std::path::Path;

use serde_json::json;

use super::{DOCUMENT, driver::Browser};
use crate::{
    support::Sandbox,
    web::{
        Pages,
        every::{EMPTY_PAGES, FullWorkspace},
    },
};

/// The widths of a phone, a tablet and a desktop, in pixels.
const WIDTHS: [u32; 3] = [375, 768, 1440];

/// A script that returns what is wrong with a page.
const CHECKS: &str = include_str!("proof.js");

/// The rules of axe about what a scheme of colours can break, and about what a width can break, too.
const COLOUR_RULES: [&str; 1] = ["color-contrast"];
const LAYOUT_RULES: [&str; 3] = ["color-contrast", "scrollable-region-focusable", "target-size"];

/// Returns what is wrong with the page at a width. In the dark, and on a tablet, whose pages are those of a phone with more room, axe
/// looks for what that alone can break.
fn faults(browser: &Browser, width: u32, is_dark: bool) -> Vec<String> {
    browser.resize(width);
    browser.show_scheme(if is_dark { "dark" } else { "light" });
    let mut options = json!({"resultTypes": ["violations"], "preload": false});
    match width {
        _ if is_dark => options["runOnly"] = json!({"type": "rule", "values": COLOUR_RULES}),
        768 => options["runOnly"] = json!({"type": "rule", "values": LAYOUT_RULES}),
        _ => options["rules"] = json!({"target-size": {"enabled": true}}),
    }
    let found = browser.run_async(&format!("const width = {width}; const axeOptions = {options}; {CHECKS}"));
    serde_json::from_value(found).unwrap()
}

/// Visits a page in all ways, and adds what is wrong with it.
fn visit(browser: &Browser, address: &str, name: &str, found: &mut Vec<String>) {
    let mut note = |way: &str, faults: Vec<String>| {
        found.extend(faults.into_iter().map(|fault| format!("{name} {way}: {fault}")));
    };
    browser.permit_scripts(false);
    browser.open(address);
    // What the page loads has not run; only what looks at it does.
    browser.permit_scripts(true);
    browser.load_axe();
    note("without scripts", faults(browser, WIDTHS[0], false));
    browser.open(address);
    for width in WIDTHS {
        for is_dark in [true, false] {
            let scheme = if is_dark { "dark" } else { "light" };
            note(&format!("{width} {scheme}"), faults(browser, width, is_dark));
        }
        photograph(browser, name, width);
    }
    note("console", browser.problems());
}

/// Takes the picture of a page that the document shows, if it is asked for.
fn photograph(browser: &Browser, name: &str, width: u32) {
    let picture = format!("docs/pictures/{name}-{width}.png");
    if std::env::var_os("WF_UPDATE").is_some()
        && DOCUMENT.contains(&format!("({})", &picture["docs/".len()..]))
    {
        browser.photograph(Path::new(&picture));
    }
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn everyone_can_use_every_page_on_every_screen() {
    let browser = Browser::start(WIDTHS[0]);
    browser.load_axe_always();
    let mut found = Vec::new();
    let workspace = FullWorkspace::open();
    browser.open(&workspace.pages.another_link());
    let origin = workspace.pages.origin();
    for (name, path) in workspace.all() {
        visit(&browser, &format!("{origin}{path}"), name, &mut found);
    }
    // The link of another browser logs in at once if scripts may run.
    browser.permit_scripts(false);
    browser.open(&workspace.pages.another_link());
    browser.permit_scripts(true);
    browser.load_axe();
    found.extend(faults(&browser, WIDTHS[0], false).into_iter().map(|fault| format!("login: {fault}")));
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
}

#[test]
#[ignore = "needs a browser: tests/browser/install"]
fn everyone_can_use_a_workspace_in_which_nothing_has_happened() {
    let browser = Browser::start(WIDTHS[0]);
    browser.load_axe_always();
    let sandbox = Sandbox::new();
    let pages = Pages::open(&sandbox);
    browser.open(&pages.another_link());
    let mut found = Vec::new();
    for path in EMPTY_PAGES {
        visit(&browser, &format!("{}{path}", pages.origin()), &format!("empty {path}"), &mut found);
    }
    assert!(found.is_empty(), "{} faults:\n{}", found.len(), found.join("\n"));
    can_find_faults(&browser);
}

/// Checks that what is wrong is found: a proof that finds nothing proves nothing.
fn can_find_faults(browser: &Browser) {
    browser.run(
        "document.getElementById('main').innerHTML = `<h1>One</h1><h1>Two</h1><img src='/icon.svg'>\
         <button class='low'>x</button><table><tr><td>unbreakableword</td></tr></table>`; \
         const sheet = new CSSStyleSheet(); sheet.replaceSync('.low { min-height: 0; height: 20px; padding: 0 } table { width: 500px } \
         td { width: 40px; display: block; overflow-wrap: anywhere }'); document.adoptedStyleSheets.push(sheet);",
    );
    let found = faults(browser, WIDTHS[0], false).join("\n");
    for fault in
        ["pixels wider", "2 titles", "20 pixels are not 44", "a word is broken: unbreakableword", "image-alt"]
    {
        assert!(found.contains(fault), "{fault} is not found: {found}");
    }
}
