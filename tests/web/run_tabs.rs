//! The tabs of the page of a run: over time, its steps, its files, and what it was.

use std::{fs, path::PathBuf};

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
    pages.shows(&format!("{run}?tab=nonsense"), &["<svg class=\"timeline\""]);
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
fn a_run_says_what_it_was() {
    let sandbox = Sandbox::new();
    sandbox.file("busy.md", BUSY);
    sandbox.wf(&["run", "busy.md"]).exits(1);
    let pages = Pages::open(&sandbox);
    let page = pages.ask(&format!("/runs/{}?tab=about", last_run(&sandbox)));
    for text in ["<h2>Why</h2>", "<em>does</em> &lt;b&gt;all&lt;/b&gt;", "<dt>Approved</dt>", "id: busy"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("href=\"javascript") && !page.contains("<svg class=\"timeline\""), "{page}");
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
