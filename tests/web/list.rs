//! The list of runs, as one works in it: filtered and sorted by its address, with one act on several runs.

use serde_json::Value;

use super::{GOAL, Pages, exchange::careful_in, last_run};
use crate::support::{Sandbox, until};

const OK: &str = "---\nkind: plan\nid: quick\nparams: {region: {type: string, default: eu}}\nsteps: [{id: one, run: 'true'}]\n---\n";
const SLEEPS: &str =
    "---\nkind: plan\nid: lazy\nsteps: [{id: one, allow: {}, run: 'sleep 1.2; test -e well'}]\n---\n";
const WAITS: &str = "\
---
kind: plan
id: waits
steps:
  - {id: wait, idempotent: true, allow: {}, run: 'while ! test -e go; do sleep 0.05; done'}
---
";

/// Returns the plans of the runs that an address lists, in their order.
fn listed(pages: &Pages, path: &str) -> Vec<String> {
    let view = pages.view(path);
    assert_eq!(view["problem"], Value::Null, "{path}");
    view["runs"].as_array().unwrap().iter().map(|run| run["plan"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_list_is_filtered_and_sorted_by_its_address() {
    let sandbox = Sandbox::new();
    sandbox.file("quick.md", OK).file("lazy.md", SLEEPS).file("goals/mirror.md", GOAL);
    sandbox.wf(&["run", "lazy.md"]).exits(1);
    sandbox.wf(&["run", "quick.md", "-p", "region=north"]).exits(0);
    sandbox.wf(&["goal", "run", "goals/mirror.md"]);
    let pages = Pages::open(&sandbox);
    assert_eq!(listed(&pages, "/runs"), ["quick", "lazy"]);
    assert_eq!(listed(&pages, "/runs?sort=started"), ["lazy", "quick"]);
    assert_eq!(listed(&pages, "/runs?sort=-duration"), ["lazy", "quick"]);
    assert_eq!(listed(&pages, "/runs?sort=duration"), ["quick", "lazy"]);
    assert_eq!(listed(&pages, "/runs?sort=-plan"), ["quick", "lazy"]);
    assert_eq!(listed(&pages, "/runs?state=failed&state=cancelled"), ["lazy"]);
    assert_eq!(listed(&pages, "/runs?state=failed,succeeded"), ["quick", "lazy"]);
    assert_eq!(listed(&pages, "/runs?q=NORTH"), ["quick"]);
    assert_eq!(listed(&pages, "/runs?q=step+%60one%60"), ["lazy"]);
    assert_eq!(listed(&pages, "/runs?trigger=checks"), ["mirror"]);
    assert_eq!(listed(&pages, "/runs?trigger=people"), ["quick", "lazy"]);
    assert_eq!(listed(&pages, "/runs?checks=all").len(), 3, "an address of an earlier version");
    assert_eq!(listed(&pages, "/runs?since=24h").len() + listed(&pages, "/runs?until=24h").len(), 2);
    assert!(listed(&pages, "/runs?since=2999-01-01").is_empty());
    assert!(listed(&pages, "/runs?plan=none+such%21").is_empty());
    // The page leads to the same list in another order, and what is chosen stays.
    let page = pages.ask("/runs?state=failed&q=lazy&since=24h&sort=-duration");
    for text in [
        "<th scope=\"col\" aria-sort=\"descending\"><a href=\"/runs?state=failed&amp;q=lazy&amp;since=24h&amp;sort=duration\">Took",
        "<details open data-wide>",
        "value=\"failed\" checked",
        "value=\"24h\"",
        "<option value=\"-duration\" selected>",
        "<a href=\"/runs\">Show all</a>",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let first = pages.ask("/runs");
    assert!(first.contains("+ 1 check of a goal") && first.contains("href=\"/runs?trigger=all\""), "{first}");
    assert!(first.contains("<details data-wide>") && !first.contains("Show all"), "{first}");
    for (query, text) in [
        ("since=soon", "<code>since</code> is a date"),
        ("state=fine", "<code>state</code> is one of running, waiting"),
        ("sort=cost", "<code>sort</code> is one of -started"),
        ("trigger=%3Cb%3E", "<code>trigger</code> is one of"),
    ] {
        pages.shows(&format!("/runs?{query}"), &[text]);
        assert!(pages.view(&format!("/runs?{query}"))["runs"].as_array().unwrap().is_empty(), "{query}");
    }
}

#[test]
fn several_runs_are_acted_on_after_a_page_that_names_each() {
    let sandbox = Sandbox::new();
    sandbox.file("waits.md", WAITS).file("quick.md", OK);
    sandbox.wf(&["run", "quick.md"]).exits(0);
    let done = last_run(&sandbox);
    let pages = Pages::open(&sandbox);
    let mut children = Vec::new();
    let mut runs = Vec::new();
    for count in 1..=2 {
        children.push(sandbox.start(&["run", "waits.md", "-q"]));
        until("it runs", || listed(&pages, "/runs?state=running").len() == count);
        runs.push(last_run(&sandbox));
    }
    let page = pages.ask("/runs");
    for run in runs.iter().chain([&done]) {
        assert!(page.contains(&format!("form=\"selected\" name=\"run\" value=\"{run}\"")), "{page}");
    }
    let picked = format!("run={}&run={}&run={done}&run={}&run=none", runs[0], runs[1], runs[0]);
    let asked = pages.ask(&format!("/runs/selected?act=cancel&{picked}"));
    for text in [
        "Cancel 2 runs?",
        "Its steps are ended, its <code>finally</code> steps run, and it ends as cancelled.",
        "Nothing: it has ended, succeeded.",
        "There is no such run",
        "action=\"/runs/selected/cancel\"",
        "<button class=\"yes\">Cancel 2 runs</button>",
    ] {
        assert!(asked.contains(text), "{text}: {asked}");
    }
    assert!(asked.contains(&format!("value=\"{}.0\"", runs[0])) && !asked.contains(&format!("\"{done}.0\"")));
    assert_eq!(listed(&pages, "/runs?state=running").len(), 2, "a question changes nothing");
    // Each is refused by itself.
    let cancelled = pages.own_post("/runs/selected/cancel", &picked);
    assert!(
        cancelled.contains("Cancelled: 2 of 4") && cancelled.contains("Nothing: it has ended, succeeded."),
        "{cancelled}"
    );
    assert!(!cancelled.contains("/live.js"), "what was done stays on the page");
    for child in &mut children {
        child.wait().unwrap();
    }
    assert_eq!(listed(&pages, "/runs?state=cancelled").len(), 2);
    let record = pages.ask("/audit?kind=run_cancel_requested");
    assert!(runs.iter().all(|run| record.contains(&format!("run={run}"))), "{record}");
    assert!(!record.contains(&format!("run={done}")), "what was refused was not asked for");
    sandbox.file("go", "");
    is_retried_once(&sandbox, &pages, &runs[0], &done);
    assert!(pages.own_post("/runs/selected/cancel", "").starts_with("HTTP/1.1 400 "));
    let many: String = (0..51).map(|number| format!("run={number}&")).collect();
    assert!(pages.own_post("/runs/selected/cancel", &many).starts_with("HTTP/1.1 400 "));
    pages.shows(&format!("/runs/selected?act=cancel&{many}"), &["these are the first of them"]);
    pages.shows("/runs/selected", &["No run is selected"]);
}

/// A retry runs again what did not succeed; the same form again starts nothing.
fn is_retried_once(sandbox: &Sandbox, pages: &Pages, cancelled: &str, done: &str) {
    let asked = pages.ask(&format!("/runs/selected?act=retry&run={cancelled}&run={done}"));
    assert!(
        asked.contains("Retry 1 run?") && asked.contains("A new run repeats what did not succeed"),
        "{asked}"
    );
    let form = format!("run={cancelled}.0");
    let retried = pages.own_post("/runs/selected/retry", &form);
    let new = last_run(sandbox);
    assert!(retried.contains("Retried: 1 of 1") && retried.contains(&format!("/runs/{new}")), "{retried}");
    until("it succeeds", || listed(pages, "/runs?state=succeeded&plan=waits").len() == 1);
    let again = pages.own_post("/runs/selected/retry", &form);
    assert!(again.contains("Retried: 0 of 1") && again.contains("was retried meanwhile"), "{again}");
    // Without a number, and with one that it never had.
    for count in ["", ".x", ".-1", ".7", ".999999999999999999999"] {
        let form = format!("run={cancelled}{count}");
        let refused = pages.own_post("/runs/selected/retry", &form);
        assert!(refused.contains("Retried: 0 of 1"), "{count}: {refused}");
    }
    assert_eq!(last_run(sandbox), new);
}

#[test]
fn a_browser_acts_on_several_runs_as_far_as_it_may() {
    let sandbox = Sandbox::new();
    sandbox.file("lazy.md", SLEEPS);
    sandbox.wf(&["run", "lazy.md"]).exits(1);
    let run = last_run(&sandbox);
    let mut pages = Pages::open(&sandbox);
    let link = pages.link("operate");
    sandbox.file("lazy.md", SLEEPS.replace("allow: {}, ", ""));
    pages.shows(
        &format!("/runs/selected?act=retry&run={run}"),
        &["An approver signs for it, since", "None of these runs can be retried"],
    );
    pages.log_in(&link[pages.origin().len()..]);
    let page = pages.ask("/runs");
    assert!(page.contains("value=\"cancel\"") && !page.contains("value=\"retry\""), "{page}");
    let refused = pages.own_post("/runs/selected/retry", &format!("run={run}"));
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    let looking = pages.that_may_look();
    assert!(!looking.ask("/runs").contains("name=\"run\""));
    let page = looking.ask(&format!("/runs/selected?act=retry&run={run}"));
    assert!(!page.contains("/runs/selected/retry"), "{page}");
    for act in ["cancel", "retry"] {
        let refused = looking.own_post(&format!("/runs/selected/{act}"), &format!("run={run}"));
        assert!(refused.starts_with("HTTP/1.1 403 "), "{act}: {refused}");
    }
    assert_eq!(last_run(&sandbox), run, "nothing has started");
}

#[test]
fn a_line_tells_a_run_from_others_of_its_plan() {
    let sandbox = Sandbox::new();
    let report = "---\nkind: plan\nid: report\ntitle: Monthly report\nparams: {month: {type: string, default: '2026-10'}, pages: {type: array, default: []}, \
                  more: {type: string, default: x}}\nsteps:\n  - {id: read, allow: {}, run: 'echo; echo \"error: no file <b>\"; echo end; exit 1'}\n  \
                  - {id: check, depends_on: [read], run: 'true'}\n---\n";
    sandbox.file("report.md", report);
    sandbox.wf(&["run", "report.md", "-q"]).exits(1);
    let failed = last_run(&sandbox);
    let long = format!("month={}", "9".repeat(50));
    sandbox.wf(&["retry", &failed, "-q"]).exits(1);
    sandbox.wf(&["run", "report.md", "-p", &long, "-q"]).exits(1);
    let cost = careful_in(&sandbox);
    let pages = Pages::open(&sandbox);
    for path in ["/runs", "/"] {
        let page = pages.ask(path);
        for text in [
            ">Monthly report<",
            ">month=2026-10 · more=x · 1 more<",
            &format!(">month={}… ·", "9".repeat(40)),
            &format!("retry of <a href=\"/runs/{failed}\">"),
            ">0/2 <",
            &format!("<a href=\"/runs/{cost}\">careful</a>"),
            "&lt;$0.01</span></td>",
        ] {
            assert!(page.contains(text), "{path}: {text}: {page}");
        }
    }
    pages.shows("/", &["error: no file &lt;b&gt;"]);
    // Two runs that succeeded say what is usual.
    sandbox.file("quick.md", OK);
    for _ in 0..3 {
        sandbox.wf(&["run", "quick.md", "-q"]).exits(0);
    }
    pages.shows("/runs?plan=quick", &["<meter min=\"0\" max=\"200\"", " % of the usual time"]);
    assert!(!pages.ask("/runs?plan=report").contains("<meter"), "none of them succeeded");
}
