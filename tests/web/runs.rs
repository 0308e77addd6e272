//! The pages of runs: their output as it comes, and their differences.

use std::io::{BufRead as _, BufReader};

use super::{Pages, REFUTED, last_run};
use crate::support::{Did, Sandbox, until};

/// A step that writes, waits until it may go on, and writes again.
const TALKS: &str = "\
---
kind: plan
id: talks
steps:
  - id: talk
    run: |
      printf 'one\\ntwo <b>\\033[2J\\u202e\\n'
      while ! test -e go; do sleep 0.05; done
      printf 'three\\nfour'
    verify: [{name: went, run: test -e go}]
---
";

/// The events of a stream: name, id and data.
pub(super) fn events(stream: impl std::io::Read) -> impl Iterator<Item = [String; 3]> {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    std::iter::from_fn(move || {
        let mut event: [String; 3] = Default::default();
        loop {
            let line = lines.next()?;
            for (field, place) in ["event: ", "id: ", "data: "].iter().zip(&mut event) {
                if let Some(value) = line.strip_prefix(field) {
                    value.clone_into(place);
                }
            }
            if line.is_empty() && !event[0].is_empty() {
                return Some(event);
            }
        }
    })
}

#[test]
fn output_comes_as_it_is_written_and_goes_on_where_a_browser_left() {
    let sandbox = Sandbox::new();
    sandbox.file("talks.md", TALKS);
    let pages = Pages::open(&sandbox);
    let mut child = sandbox.start(&["run", "talks.md", "-q"]);
    until("the step writes", || sandbox.wf(&["logs", "--last", "talk"]).out.contains("two"));
    let step = format!("/runs/{}/steps/talk", last_run(&sandbox));
    let log = format!("{step}/log?attempt=1");
    pages.shows(&step, &[&format!("data-output=\"{log}\""), "two &lt;b&gt;", "/log.js"]);
    let mut heard = events(pages.connect(&log));
    let [name, id, data] = heard.next().unwrap();
    assert_eq!(name, "part");
    assert!(data.starts_with("\"one\\ntwo <b>") && data.ends_with("\\n\""), "{data}");
    assert!(!data.contains('\u{202e}') && !data.contains("\\u001b"), "{data}");
    // Others are answered while a stream is open and nobody reads from it.
    let idle: Vec<_> = (0..20).map(|_| pages.connect(&log)).collect();
    pages.shows("/runs", &["talks"]);
    sandbox.file("go", "");
    let mut rest = String::new();
    for [name, _, data] in heard.by_ref() {
        match name.as_str() {
            "part" => rest.push_str(&serde_json::from_str::<String>(&data).unwrap()),
            other => assert_eq!(other, "end"),
        }
    }
    assert_eq!(rest, "three\nfour");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(idle);
    // Who was away goes on behind what it has; and whoever asks for an attempt that is not there is told so.
    let again: Vec<_> = events(pages.connect(&format!("{log}&from={id}"))).collect();
    let names: Vec<&str> = again.iter().map(|event| event[0].as_str()).collect();
    assert_eq!((names.as_slice(), again[0][2].as_str()), (&["part", "part", "end"][..], "\"three\\n\""));
    assert!(pages.ask(&format!("{step}/log?attempt=2")).starts_with("HTTP/1.1 404 "));
    assert!(pages.ask(&format!("{step}/log?attempt=x")).starts_with("HTTP/1.1 400 "));
    let whole = pages.ask(&format!("{step}/log.txt?attempt=1"));
    assert!(whole.contains("content-type: text/plain") && whole.contains("two <b>"), "{whole}");
    assert!(whole.contains("four") && !whole.contains('\u{202e}'), "{whole}");
    pages.shows(&step, &["three", "four", "<td>went</td>", "log.txt?attempt=1"]);
    assert!(!pages.ask(&step).contains("data-output"), "an attempt that ended does not grow");
}

#[test]
fn a_page_shows_how_a_run_differs_from_another() {
    let sandbox = Sandbox::new();
    sandbox.file("prices.md", REFUTED);
    let pages = Pages::open(&sandbox);
    sandbox.wf(&["run", "prices.md"]).exits(1);
    let first = last_run(&sandbox);
    pages.shows(&format!("/runs/{first}/diff"), &["It is the first run of its plan"]);
    sandbox.file("prices.md", REFUTED.replace("2.00", "3.00"));
    sandbox.wf(&["run", "prices.md"]).exits(1);
    let second = last_run(&sandbox);
    pages.shows(
        &format!("/runs/{second}"),
        &["Differences from the run before", &format!("/runs/{second}/diff")],
    );
    pages.shows(&format!("/runs/{second}/diff"), &["prices.md", "step write", "definition", &first[..8]]);
    pages.shows(&format!("/runs/{second}/diff?with={second}"), &["Nothing differs"]);
    pages.shows(
        &format!("/runs/{second}/diff?with=%3Cb%3E"),
        &["There is no such run", "value=\"&lt;b&gt;\""],
    );
    let shown: serde_json::Value =
        serde_json::from_str(&sandbox.wf(&["diff", "--last", "--json"]).out).unwrap();
    sandbox.wf(&["diff", &first, &second]).exits(1).says("definition");
    sandbox.wf(&["run", "prices.md"]).exits(1);
    sandbox.wf(&["diff", "--last"]).exits(0).says("no difference");
    assert_eq!((&shown["before"]["run"], &shown["same"]), (&first.into(), &false.into()));
}

#[test]
fn a_picture_leads_to_nested_runs_and_folds_what_is_large() {
    let sandbox = Sandbox::new();
    let steps = (1..400).map(|at| format!("  - {{id: s{at}, depends_on: [first], run: 'true'}}\n"));
    let large = "---\nkind: plan\nid: large\nsteps:\n  - {id: first, run: exit 1}\n".to_owned();
    sandbox
        .file("large.md", large + &steps.collect::<String>() + "---\n")
        .file("inner.md", "---\nkind: plan\nid: inner\nsteps:\n  - {id: one, run: 'true'}\n---\n")
        .file("outer.md", "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: inner.md}\n---\n");
    let pages = Pages::open(&sandbox);
    sandbox.wf(&["run", "outer.md"]).exits(0);
    let shown: serde_json::Value =
        serde_json::from_str(&sandbox.wf(&["show", "--last", "--json"]).out).unwrap();
    let child = shown["nested"][0]["record"]["run"]["id"].as_str().unwrap();
    pages.shows(
        &format!("/runs/{}?tab=graph", last_run(&sandbox)),
        &[&format!("<a href=\"/runs/{child}\"><rect class=\"box")],
    );
    sandbox.wf(&["run", "large.md"]).exits(1);
    let run = format!("/runs/{}", last_run(&sandbox));
    let folded = ["9 steps</text>", "9 skipped</text>", &format!("<a href=\"{run}?open=1\">")];
    pages.shows(&format!("{run}?tab=graph"), &folded);
    pages.shows(&format!("{run}?tab=steps"), &["1 of 2"]);
    let open = pages.ask(&format!("{run}?open=1"));
    assert!(open.contains("Fold all") && !open.contains(&format!("<a href=\"{run}?open=1\">")), "{open}");
    assert!(open.contains(&format!("<a href=\"{run}/steps/s9\"><rect")), "{open}");
}

pub const UNDOES: &str = "\
---
kind: plan
id: tidy
steps:
  - {id: move, run: 'true'}
undo: {uses: back.md, with: {name: '<b>'}}
---
";

pub const BACK: &str = "\
---
kind: plan
id: back
params: {name: {type: string}}
steps:
  - {id: agree, approve: {message: 'Move it back?'}}
  - {id: back, depends_on: [agree], allow: {}, run: 'test \"$WF_PARAM_NAME\" = \"<b>\"'}
---
";

/// A workspace whose latest run can be undone.
fn undoable() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("tidy.md", UNDOES).file("back.md", BACK);
    sandbox.wf(&["run", "tidy.md"]).exits(0);
    sandbox
}

#[test]
fn a_page_offers_an_undo_as_long_as_there_is_time() {
    let sandbox = Sandbox::new();
    sandbox.file("tidy.md", UNDOES).file("back.md", BACK);
    let pages = Pages::open(&sandbox);
    let mut earlier = sandbox.command(&["run", "tidy.md"]);
    Did::of(earlier.env("WF_NOW", "2026-11-21T10:00:00Z")).exits(0);
    let late = last_run(&sandbox);
    let page = pages.ask(&format!("/runs/{late}"));
    assert!(page.contains("succeeded") && !page.contains("Undo what"), "its time is over: {page}");
    assert!(!pages.ask("/activity").contains("/undo"), "its time is over");
    let refused = pages.own_post(&format!("/runs/{late}/undo"), "");
    assert!(refused.starts_with("HTTP/1.1 409 ") && refused.contains("could be undone until"), "{refused}");
    assert!(pages.own_post("/runs/none/undo", "").starts_with("HTTP/1.1 404 "));
    sandbox.wf(&["run", "tidy.md"]).exits(0);
    let form = format!("action=\"/runs/{}/undo\"", last_run(&sandbox));
    pages.shows(&format!("/runs/{}", last_run(&sandbox)), &["Undo what", "back.md", "&lt;b&gt;", &form]);
    pages.shows("/activity", &[&form]);
}

#[test]
fn a_browser_undoes_a_run_once_and_answers_what_that_asks() {
    let sandbox = undoable();
    let pages = Pages::open(&sandbox);
    let undone = last_run(&sandbox);
    let began = pages.own_post(&format!("/runs/{undone}/undo"), "");
    assert!(began.starts_with("HTTP/1.1 303 "), "{began}");
    let undo = last_run(&sandbox);
    assert!(began.contains(&format!("location: /runs/{undo}\r\n")) && undo != undone, "{began}");
    pages.shows(&format!("/runs/{undo}"), &["undoes <a", &undone]);
    until("it asks", || pages.ask("/inbox").contains("Move it back?"));
    let again = pages.own_post(&format!("/runs/{undone}/undo"), "");
    assert!(again.starts_with("HTTP/1.1 409 ") && again.contains("is being undone by run"), "{again}");
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    // The process that the page started waits for the answer, and goes on by it.
    until("it ends", || pages.ask(&format!("/runs/{undo}")).contains("data-state=\"succeeded\""));
    let page = pages.ask(&format!("/runs/{undone}"));
    assert!(page.contains("Undone by") && !page.contains("Undo what"), "{page}");
    pages.shows("/audit?kind=undo_requested", &[&format!("run={undone}"), "· a browser"]);
}

#[test]
fn a_browser_that_may_only_look_undoes_nothing() {
    let sandbox = undoable();
    let run = last_run(&sandbox);
    let pages = Pages::open(&sandbox).that_may_look();
    let page = pages.ask(&format!("/runs/{run}"));
    assert!(page.contains(&format!("wf undo {}", &run[..8])) && !page.contains("/undo\""), "{page}");
    assert!(!pages.ask("/activity").contains("/undo"));
    assert!(pages.own_post(&format!("/runs/{run}/undo"), "").starts_with("HTTP/1.1 403 "));
    assert_eq!(last_run(&sandbox), run, "nothing has started");
}

const SLOW: &str = "\
---
kind: plan
id: slow
steps:
  - {id: wait, idempotent: true, allow: {}, run: 'while ! test -e go; do sleep 0.05; done'}
---
";

#[test]
fn a_browser_cancels_resumes_and_retries() {
    let sandbox = Sandbox::new();
    sandbox.file("slow.md", SLOW);
    let pages = Pages::open(&sandbox);
    let mut child = sandbox.start(&["run", "slow.md", "-q"]);
    until("it runs", || pages.ask("/runs").contains("data-state=\"running\""));
    let run = last_run(&sandbox);
    pages.shows(&format!("/runs/{run}"), &[&format!("action=\"/runs/{run}/cancel\"")]);
    let act = |act: &str| pages.own_post(&format!("/runs/{run}/{act}"), "");
    let refused = act("retry");
    assert!(refused.starts_with("HTTP/1.1 409 "), "a run that goes on is not retried: {refused}");
    // Its process dies, and nobody works on it.
    child.kill().unwrap();
    child.wait().unwrap();
    until("it is interrupted", || pages.ask(&format!("/runs/{run}")).contains("data-state=\"interrupted\""));
    let resumed = act("resume");
    assert!(resumed.contains(&format!("location: /runs/{run}\r\n")), "{resumed}");
    until("it runs", || pages.ask(&format!("/runs/{run}")).contains("data-state=\"running\""));
    assert!(act("cancel").starts_with("HTTP/1.1 303 "));
    until("it is cancelled", || pages.ask(&format!("/runs/{run}")).contains("data-state=\"cancelled\""));
    assert!(act("cancel").starts_with("HTTP/1.1 409 "), "it has ended");
    sandbox.file("go", "");
    let began = act("retry");
    let retry = last_run(&sandbox);
    assert!(began.contains(&format!("location: /runs/{retry}\r\n")) && retry != run, "{began}");
    until("it succeeds", || pages.ask(&format!("/runs/{retry}")).contains("data-state=\"succeeded\""));
    for kind in ["run_cancel_requested", "run_resume_requested", "run_retry_requested"] {
        pages.shows(&format!("/audit?kind={kind}"), &[&format!("run={run}"), "· a browser"]);
    }
    pages.shows(&format!("/runs/{run}"), &["Retried as", &retry]);
    let looking = pages.that_may_look();
    assert!(!looking.ask(&format!("/runs/{run}")).contains("/retry\""));
    for act in ["cancel", "resume", "retry"] {
        assert!(looking.own_post(&format!("/runs/{run}/{act}"), "").starts_with("HTTP/1.1 403 "), "{act}");
    }
}

#[test]
fn an_artifact_is_saved_and_never_shown() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "page.md",
        "---\nkind: plan\nid: page\nsteps:\n  - {id: make, run: 'mkdir out; printf \"<script>1</script>\" > \"out/a b.html\"', \
         artifacts: [out/a b.html]}\n---\n",
    );
    sandbox.wf(&["run", "page.md"]).exits(0);
    let pages = Pages::open(&sandbox);
    let run = last_run(&sandbox);
    let page = pages.ask(&format!("/runs/{run}?tab=files"));
    let link = page.split(&format!("href=\"/runs/{run}/files/")).nth(1).unwrap().split('"').next().unwrap();
    let link = link.trim_end_matches("?view=page");
    assert!(link.ends_with("/a%20b.html"), "{link}");
    let file = pages.ask(&format!("/runs/{run}/files/{link}"));
    assert!(file.starts_with("HTTP/1.1 200 ") && file.ends_with("<script>1</script>"), "{file}");
    for header in [
        "content-disposition: attachment",
        "content-type: application/octet-stream",
        "content-security-policy: default-src 'none'; sandbox",
    ] {
        assert!(file.contains(header), "{header}: {file}");
    }
    let other = "0".repeat(64);
    assert!(pages.ask(&format!("/runs/{run}/files/{other}/x")).starts_with("HTTP/1.1 404 "));
}

#[test]
fn a_page_of_a_run_begins_with_what_failed() {
    let sandbox = Sandbox::new();
    sandbox.file("prices.md", super::REFUTED);
    sandbox.wf(&["run", "prices.md"]).exits(1);
    let pages = Pages::open(&sandbox);
    let page = pages.ask(&format!("/runs/{}", last_run(&sandbox)));
    let failure =
        page.split("class=\"card failure\"").nth(1).expect("it is there").split("</article>").next().unwrap();
    for text in ["write", "<dt>check</dt><dd>sum</dd>", "<dt>expected</dt>", "2.00", "<pre>"] {
        assert!(failure.contains(text), "{text}: {failure}");
    }
}

#[test]
fn a_button_pressed_twice_acts_once() {
    let sandbox = Sandbox::new();
    sandbox.file("slow.md", SLOW.replace("while", "test -e fail && while"));
    sandbox.wf(&["run", "slow.md"]).exits(1);
    let run = last_run(&sandbox);
    sandbox.file("fail", "");
    let pages = Pages::open(&sandbox);
    let press = || pages.own_post(&format!("/runs/{run}/retry"), "");
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(press);
        (press(), other.join().unwrap())
    });
    let place = |answer: &str| answer.split("location: ").nth(1).unwrap().lines().next().unwrap().to_owned();
    assert_eq!(place(&one), place(&other));
    let runs: serde_json::Value = serde_json::from_str(&sandbox.wf(&["runs", "--json"]).out).unwrap();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(2), "{runs}");
    sandbox.file("go", "");
    sandbox.until_runs_end();
}

#[test]
fn a_plan_that_an_approver_signs_for_is_not_retried_by_a_login() {
    let sandbox = Sandbox::new();
    let plan = "---\nkind: plan\nid: risky\nsteps:\n  - {id: fail, run: 'exit 1'}\n---\n";
    sandbox.file("risky.md", plan);
    sandbox.wf(&["run", "risky.md"]).exits(1);
    let run = last_run(&sandbox);
    let pages = Pages::open(&sandbox);
    let page = pages.ask(&format!("/runs/{run}"));
    let form = format!("/plans/risky.md/start?from={run}");
    assert!(page.contains("An approver signs") && page.contains(&form), "{page}");
    assert!(!page.contains("/retry\""), "a button that cannot work is not there: {page}");
    let refused = pages.own_post(&format!("/runs/{run}/retry"), "");
    assert!(refused.starts_with("HTTP/1.1 409 ") && refused.contains("starts up to medium"), "{refused}");
    assert!(refused.contains(&format!("wf retry {}", &run[..8])), "{refused}");
    // Under the other policy, that is so whatever the risk.
    sandbox.file("risky.md", plan.replace("run:", "allow: {}, run:"));
    pages.shows(&format!("/runs/{run}"), &[&format!("action=\"/runs/{run}/retry\"")]);
    sandbox.wf(&["key", "enrol", "phone", &"a1".repeat(32), "--yes"]);
    let approvers = sandbox.read("approvers.yaml").replace("policy: owner", "policy: reviewed");
    let approvers =
        if approvers.contains("policy:") { approvers } else { format!("policy: reviewed\n{approvers}") };
    sandbox.file("approvers.yaml", approvers);
    pages.shows(&format!("/runs/{run}"), &["the policy of the workspace is <code>reviewed</code>"]);
    let refused = pages.own_post(&format!("/runs/{run}/retry"), "");
    assert!(refused.starts_with("HTTP/1.1 409 ") && refused.contains("signs for each run"), "{refused}");
    assert_eq!(last_run(&sandbox), run, "nothing has started");
}

#[test]
fn an_address_with_an_odd_number_is_a_page() {
    let sandbox = Sandbox::new();
    let pages = Pages::open(&sandbox);
    for path in [
        "/runs?page=18446744073709551615",
        "/runs?state=running&page=18446744073709551615",
        "/runs?state=failed&page=9223372036854775807",
    ] {
        assert!(pages.ask(path).starts_with("HTTP/1.1 200 "), "{path}");
    }
}
