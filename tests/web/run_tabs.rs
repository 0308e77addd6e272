//! The tabs of the page of a run: over time, its steps, its files, and what it was.

use std::{fs, path::PathBuf};

use serde_json::json;

use super::{ASKS, Pages, last_run};
use crate::support::Sandbox;
use wf_base::digest::Sha256Digest;

/// A step that is repeated after a failure, one that waits for it, and twelve items of which two fail.
const BUSY: &str = "\
---
kind: plan
id: busy
title: All sorts
policy: {on_failure: continue}
steps:
  - id: again
    retry: {max: 1, backoff: 10ms, on: [logical, environmental]}
    run: 'test -e tried || { touch tried; exit 1; }'
    verify: [{name: there, run: test -e tried}]
  - {id: after, depends_on: [again], run: sleep 3}
  - id: each
    for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    run: 'test \"$WF_ITEM\" != 3 && test \"$WF_ITEM\" != 7'
---
# Why

It *does* <b>all</b> sorts: [docs](javascript:alert(1)).
";

#[test]
fn a_run_is_drawn_over_time() {
    let sandbox = Sandbox::new();
    sandbox.file("busy.md", BUSY);
    sandbox.wf(&["run", "busy.md"]).exits(1);
    let run = format!("/runs/{}", last_run(&sandbox));
    let pages = Pages::open(&sandbox);
    let page = pages.ask(&run);
    for text in [
        "<h1><span>All sorts",
        "aria-current=\"page\">Timeline</a>",
        "again: attempt 1, running for",
        "again: attempt 2, running for",
        "check there: pass",
        "12 items: 2 failed, 10 succeeded",
        "2 tasks failed in the same way",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(
        page.contains(&format!("{run}/steps/each[2]\"")) && !page.contains(&format!("{run}/steps/each[0]\"")),
        "{page}"
    );
    assert!(
        !page.contains("Rounds</a>") && !page.contains("Agents</a>") && !page.contains("style="),
        "{page}"
    );
    assert_eq!(page.matches("Open the step").count(), 1, "that of the first of the two leads there");
    pages.shows(&format!("{run}?tab=nonsense"), &["<div class=\"timeline\""]);
}

#[test]
fn steps_are_sorted_and_those_that_have_not_begun_say_what_they_wait_for() {
    let sandbox = Sandbox::new();
    sandbox.file("busy.md", BUSY);
    sandbox.wf(&["run", "busy.md"]).exits(1);
    let pages = Pages::open(&sandbox);
    let run = format!("/runs/{}", last_run(&sandbox));
    let first = |sort: &str| {
        let page = pages.ask(&format!("{run}?tab=steps&sort={sort}"));
        let rows = page.split("<tbody>").nth(1).unwrap_or_else(|| panic!("{page}"));
        rows.split("<a href=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    assert_eq!(first("duration"), format!("{run}/steps/after"));
    assert_eq!(first("attempts"), format!("{run}/steps/again"));
    assert_eq!(first("nonsense"), first("start"));
    let after = "  - {id: last, depends_on: [agree], run: 'true'}\n---\n";
    let text = ASKS.strip_suffix("---\n").unwrap().to_owned() + after;
    sandbox.file("release.md", text);
    sandbox.wf(&["run", "release.md"]).exits(5);
    let waiting = format!("/runs/{}", last_run(&sandbox));
    pages.shows(&format!("{waiting}?tab=steps"), &["Not begun", "<td>last</td><td>agree</td>"]);
    pages.shows(&waiting, &["agree: request 1, waiting for people since", "class=\"now\""]);
    assert!(!pages.ask(&waiting).contains("agree: attempt 1, running since"), "it waits, and does nothing");
}

#[test]
fn a_part_of_the_time_is_drawn_by_its_address() {
    let sandbox = Sandbox::new();
    sandbox.file("busy.md", BUSY);
    sandbox.wf(&["run", "busy.md"]).exits(1);
    let run = format!("/runs/{}", last_run(&sandbox));
    let pages = Pages::open(&sandbox);
    pages.shows(&run, &["Zoom in</a>", "First half</a>", "Last half</a>", "class=\"critical\""]);
    assert!(!pages.ask(&run).contains("Zoom out"), "all of it is shown");
    // The first step has ended long before, and the last one is at work.
    let part = pages.ask(&format!("{run}?from=2.5&to=3"));
    for text in [
        " · 2 steps have no part in it",
        "2.5s to 3.0s of",
        "Zoom out</a>",
        "Earlier</a>",
        "after: attempt 1",
    ] {
        assert!(part.contains(text), "{text}: {part}");
    }
    assert!(
        part.contains("href=\"?tab=timeline&amp;from=2.25&amp;to=2.75\">Earlier")
            && !part.contains("again: attempt"),
        "{part}"
    );
    pages.shows(&format!("{run}?from=x&to=-1"), &["again: attempt 1"]);
    pages.shows(&format!("{run}?from=900&to=901"), &["No step has a part in this time"]);
}

/// A repeated step that takes longer than what is beside it.
const REPEATED: &str = "\
---
kind: plan
id: repeated
steps:
  - {id: each, for_each: [1, 2], run: sleep 0.3}
  - {id: beside, run: 'true'}
  - {id: last, depends_on: [each, beside], run: 'true'}
---
";

#[test]
fn a_repeated_step_is_on_the_chain_that_took_longest() {
    let sandbox = Sandbox::new();
    sandbox.file("repeated.md", REPEATED);
    sandbox.wf(&["run", "repeated.md"]).exits(0);
    let run = format!("/runs/{}", last_run(&sandbox));
    let pages = Pages::open(&sandbox);
    let page = pages.ask(&format!("{run}?tab=graph"));
    assert!(
        page.contains(&format!(
            "<a href=\"{run}/steps/each\">each</a> → <a href=\"{run}/steps/last\">last</a>"
        )),
        "{page}"
    );
    assert_eq!(pages.ask(&run).matches("class=\"critical\"").count(), 2);
}

/// Two steps that write in turn.
const TURNS: &str = "\
---
kind: plan
id: turns
steps:
  - id: one
    run: 'echo first; touch said; while ! test -e answered; do sleep 0.05; done; sleep 0.2; echo error: third'
  - id: two
    run: 'while ! test -e said; do sleep 0.05; done; sleep 0.2; echo second; touch answered'
---
";

#[test]
fn the_output_of_all_steps_is_read_in_the_order_in_which_it_came() {
    let sandbox = Sandbox::new();
    sandbox.file("turns.md", TURNS);
    sandbox.wf(&["run", "turns.md", "-q"]).exits(0);
    let run = format!("/runs/{}", last_run(&sandbox));
    let pages = Pages::open(&sandbox);
    let lines = pages.view(&format!("{run}/log/lines"));
    let shown: Vec<(&str, &str, u64)> = lines["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            (line["text"].as_str().unwrap(), line["task"].as_str().unwrap(), line["own"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(shown, [("first", "one", 1), ("second", "two", 1), ("error: third", "one", 2)]);
    assert_eq!((&lines["total"], &lines["is_whole"]), (&json!(3), &json!(true)));
    let found = pages.view(&format!("{run}/log/search?q=err.r&regex=on"));
    assert_eq!(found, json!({"hits": [{"n": 3, "at": 0, "length": 5}], "more": false}));
    assert_eq!(pages.view(&format!("{run}/log/lines?step=two"))["lines"][0]["n"], 1);
    let page = pages.ask(&format!("{run}?tab=logs&times=elapsed"));
    let places =
        ["first</span>", "second</span>", "error: third</span>"].map(|text| page.find(text).expect(text));
    assert!(places.is_sorted() && page.contains("<span class=\"at\">00:0"), "{page}");
    assert!(
        page.contains(&format!(
            "data-hue=\"0\" href=\"{run}/steps/one/output?attempt=1&amp;from=1#L2\">one</a>"
        )),
        "{page}"
    );
    let page = pages.ask(&format!("{run}?tab=logs&step=two"));
    assert!(page.contains("<option selected>two</option>") && !page.contains("third"), "{page}");
    pages.shows(&format!("{run}?tab=logs&step=none"), &["The step wrote nothing"]);
    assert!(pages.ask("/runs/none/log/lines").starts_with("HTTP/1.1 404 "));
}

/// A picture of one point, and a file that says that it is one.
const SHOWN: &str = "\
---
kind: plan
id: shown
steps:
  - id: make
    run: |
      echo iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII= | base64 -d > point.png
      echo '<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>' > drawn.png
      printf 'name,price\\n<b>a</b>,1.00\\n' > prices.csv
      printf '# Look\\n\\n<i>at</i> [this](https://example.org/x)\\n' > read.md
    artifacts: [point.png, drawn.png, prices.csv, read.md]
---
";

/// A workspace with a run that left files of each kind that is shown.
pub fn shown_files(sandbox: &Sandbox) {
    sandbox.file("shown.md", SHOWN);
    sandbox.wf(&["run", "shown.md"]).exits(0);
}

#[test]
fn files_are_shown_as_what_they_are() {
    let sandbox = Sandbox::new();
    shown_files(&sandbox);
    let run = format!("/runs/{}", last_run(&sandbox));
    let pages = Pages::open(&sandbox);
    let list = pages.ask(&format!("{run}?tab=files"));
    let address = |name: &str| {
        let end = list.find(&format!("/{name}?view=page")).expect(name);
        let start = list[..end].rfind("href=\"").unwrap() + 6;
        format!("{}/{name}", &list[start..end])
    };
    let point = address("point.png");
    pages.shows(
        &format!("{point}?view=page"),
        &[&format!("<img class=\"shown\" src=\"{point}?view=image\" alt=\"point.png\">")],
    );
    let head = pages.head(&format!("{point}?view=image"));
    for text in [
        "content-type: image/png",
        "nosniff",
        "default-src 'none'; sandbox",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(head.contains(text), "{text}: {head}");
    }
    // What is no picture is none, whatever its name says.
    let drawn = address("drawn.png");
    assert!(pages.ask(&format!("{drawn}?view=image")).starts_with("HTTP/1.1 404 "));
    pages.shows(&format!("{drawn}?view=page"), &["&lt;script&gt;alert(1)"]);
    pages.shows(
        &format!("{}?view=page", address("prices.csv")),
        &["<th scope=\"col\">price</th>", "<td>&lt;b&gt;a&lt;/b&gt;</td><td>1.00</td>"],
    );
    pages.shows(
        &format!("{}?view=page", address("read.md")),
        &["<h2>Look</h2>", "&lt;i&gt;at&lt;/i&gt;", "example.org"],
    );
    pages.shows(&format!("{}?view=text", address("read.md")), &["# Look"]);
}

#[test]
fn a_run_says_what_it_was() {
    let sandbox = Sandbox::new();
    sandbox.file("busy.md", BUSY);
    sandbox.wf(&["run", "busy.md"]).exits(1);
    let pages = Pages::open(&sandbox);
    let page = pages.ask(&format!("/runs/{}?tab=about", last_run(&sandbox)));
    for text in ["<h2>Why</h2>", "<em>does</em> &lt;b&gt;all&lt;/b&gt;", "<dt>Approved</dt>", "id: busy"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("href=\"javascript") && !page.contains("<div class=\"timeline\""), "{page}");
}

/// A run with an artifact, the address of that, and its file.
fn kept() -> (Sandbox, String, PathBuf) {
    let sandbox = Sandbox::new();
    let plan = "---\nkind: plan\nid: page\nsteps:\n  - {id: make, run: 'echo \"<i>one</i>\" > got.txt', artifacts: [got.txt]}\n---\n";
    sandbox.file("page.md", plan);
    sandbox.wf(&["run", "page.md"]).exits(0);
    let digest = Sha256Digest::of_bytes(b"<i>one</i>\n").to_string();
    let file = format!("/runs/{}/files/{digest}/got.txt", last_run(&sandbox));
    let kept = sandbox.at(&format!(".wf/blobs/{}/{}", &digest[..2], &digest[2..]));
    (sandbox, file, kept)
}

#[test]
fn a_file_is_viewed_as_text() {
    let (sandbox, file, _) = kept();
    let pages = Pages::open(&sandbox);
    let has_record =
        || !pages.ask("/audit?kind=artifact_read").contains("Nothing in this part of the log matches");
    assert!(!has_record());
    pages.shows(&format!("{file}?view=text"), &["&lt;i&gt;one&lt;/i&gt;", "<h1>got.txt</h1>"]);
    assert!(has_record(), "who looked is known");
    assert!(pages.ask(&file).ends_with("<i>one</i>\n"));
    // The name is that of the record, whatever the address says.
    pages.shows(&format!("{}?view=text", file.replace("got.txt", "other.txt")), &["<h1>got.txt</h1>"]);
}

#[test]
fn a_stored_file_that_is_not_what_was_recorded_is_refused() {
    let (sandbox, file, kept) = kept();
    let pages = Pages::open(&sandbox);
    let secret = sandbox.at("secret");
    fs::write(&secret, "a secret of the machine").unwrap();
    let make_fifo = || {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &kept, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    };
    let replacements: [(&str, &dyn Fn()); 3] = [
        ("another content", &|| fs::write(&kept, "<i>two</i>\n").unwrap()),
        ("a link", &|| std::os::unix::fs::symlink(&secret, &kept).unwrap()),
        ("a pipe", &make_fifo),
    ];
    for (name, replace) in replacements {
        fs::remove_file(&kept).unwrap();
        replace();
        for address in [file.clone(), format!("{file}?view=text")] {
            let answer = pages.ask(&address);
            assert!(!answer.starts_with("HTTP/1.1 200 "), "{name}: {answer}");
            assert!(!answer.contains("two") && !answer.contains("a secret of"), "{name}: {answer}");
        }
        sandbox.wf(&["show", "--last", "--artifact", "got.txt"]).exits(6);
    }
}
