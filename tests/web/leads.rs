//! Pages that lead on: from a step to its items and to the run nested in it, from a search to one of two things of the same name; and
//! addresses that mean nothing.

use super::{ASKS, Pages, last_run};
use crate::support::{Sandbox, until};

/// A repeated step, one item of which fails, and one that uses a plan.
const PARTS: &str = "\
---
kind: plan
id: parts
steps:
  - {id: each, for_each: [red, green, blue], run: 'test \"$WF_ITEM\" != blue', on_error: continue}
  - {id: inside, uses: inner.md}
---
";

const INNER: &str = "---\nkind: plan\nid: inner\nsteps:\n  - {id: one, run: 'true'}\n---\n";

/// A step all items of which wait for people, beside one that works.
const WAITS: &str = "\
---
kind: plan
id: waits
policy: {max_parallel: 4}
steps:
  - {id: ask, for_each: [red, blue], approve: {message: 'Paint it {{ item }}?'}}
  - {id: work, run: 'until test -f done; do sleep 0.1; done'}
---
";

#[test]
fn the_page_of_a_step_leads_to_its_items_and_to_its_nested_run() {
    let sandbox = Sandbox::new();
    sandbox.file("parts.md", PARTS).file("inner.md", INNER).wf(&["run", "parts.md", "-q"]);
    let (pages, run) = (Pages::open(&sandbox), last_run(&sandbox));
    let view = pages.view(&format!("/runs/{run}/steps/each"));
    let items = view["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["state"]), (3, &"failed".into()), "what failed is first: {view}");
    assert_eq!(view["has_more_items"], false);
    let address = format!("/runs/{run}/steps/{}", items[0]["address"].as_str().unwrap());
    let encoded = address.replace('[', "%5B").replace(']', "%5D");
    pages.shows(&format!("/runs/{run}/steps/each"), &[&format!("href=\"{encoded}\"")]);
    assert!(pages.view(&encoded)["items"].as_array().unwrap().is_empty());
    let nested = pages.view(&format!("/runs/{run}/steps/inside"))["nested"][0]["run"]["id"].clone();
    pages.shows(
        &format!("/runs/{run}/steps/inside"),
        &[&format!("href=\"/runs/{}\"", nested.as_str().unwrap())],
    );
}

#[test]
fn a_step_whose_items_all_wait_does_not_run() {
    let sandbox = Sandbox::new();
    sandbox.file("waits.md", WAITS);
    let mut running = sandbox.start(&["run", "waits.md", "-q", "--wait"]);
    let pages = Pages::open(&sandbox);
    until("both items ask", || pages.view("/inbox")["waiting"].as_array().is_some_and(|all| all.len() == 2));
    let run = last_run(&sandbox);
    let state = |name: &str| {
        let view = pages.view(&format!("/runs/{run}?tab=steps"));
        let steps = view["record"]["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["step"] == name && step["item"].is_null());
        (view["record"]["life"].clone(), step.unwrap()["state"].clone())
    };
    until("the other one works", || state("work").1 == "running");
    assert_eq!(state("ask"), ("running".into(), "waiting".into()));
    let chosen = pages.view(&format!("/runs/{run}?tab=steps&state=waiting"));
    assert_eq!(chosen["record"]["steps"].as_array().unwrap().len(), 3, "it is counted so, too: {chosen}");
    assert_eq!(pages.view(&format!("/runs/{run}/steps/ask"))["record"]["steps"][0]["state"], "waiting");
    sandbox.wf(&["cancel", "--last"]);
    let _ = running.wait();
}

#[test]
fn two_requests_of_the_same_words_are_told_apart_in_a_search() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS);
    for _ in 0..2 {
        sandbox.wf(&["run", "release.md", "-q"]).exits(5);
    }
    let (pages, run) = (Pages::open(&sandbox), last_run(&sandbox));
    let view = pages.view("/search?q=release");
    let groups = view["groups"].as_array().unwrap();
    let hits = |name: &str| groups.iter().find(|group| group["name"] == name).unwrap()["hits"].clone();
    let requests = hits("Requests");
    let details: Vec<&str> =
        requests.as_array().unwrap().iter().map(|hit| hit["detail"].as_str().unwrap()).collect();
    assert!(details.iter().any(|detail| detail.contains(&run[..8])), "{details:?}");
    assert!(details.len() == 2 && details.iter().all(|detail| detail.ends_with(" UTC")), "{details:?}");
    assert!(hits("Runs")[0]["detail"].as_str().unwrap().contains("began 2"), "{view}");
    let strip = &pages.view("/")["day"][0]["svg"];
    assert!(strip.as_str().unwrap().contains("2 waiting"), "they do not run: {strip}");
}

#[test]
fn an_address_that_means_nothing_is_refused_with_its_field() {
    let sandbox = Sandbox::new();
    sandbox.file("release.md", ASKS).wf(&["run", "release.md", "-q"]).exits(5);
    let (pages, run) = (Pages::open(&sandbox), last_run(&sandbox));
    for (path, field) in [
        ("/search?q=%00", "`q` has a character that is in no text"),
        ("/search?q=a&q=b", "`q` is in it twice"),
        ("/runs?plan=a&plan=b", "`plan` is in it twice"),
        ("/runs?q=%FF", "`q` has a character that is in no text"),
        ("/audit?kind=%00", "`kind` has a character"),
        (&format!("/runs/{run}?tab=steps&page=x"), "page"),
        (&format!("/runs/{run}?tab=steps&tab=logs"), "`tab` is in it twice"),
    ] {
        let page = pages.ask(path);
        assert!(page.starts_with("HTTP/1.1 400 "), "{path}: {page}");
        assert!(page.contains(field) && page.contains("leave it out"), "{path}: {page}");
    }
    pages.shows("/runs?page=first", &["is the number of a page, from 0"]);
    assert!(pages.view("/runs?page=first")["problem"].as_str().unwrap().contains("`page` is the number"));
    pages.shows("/runs?state=waiting&state=failed&page=0", &[&run[..8]]);
}
