//! The weight of each page: how many bytes of text, style and scripts a browser loads for it, compressed as they are sent.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use super::{Pages, every::FullWorkspace, last_run};
use crate::support::Sandbox;

/// The most bytes of a page, compressed.
const MAX_HTML: usize = 30 * 1024;
const MAX_STYLE: usize = 12 * 1024;
const MAX_SCRIPTS: usize = 45 * 1024;

/// The most bytes of the scripts of a page on which a person signs: all of them are read by whoever checks that page.
const MAX_SIGN_SCRIPTS: usize = 10 * 1024;

/// The scripts by which a page is one on which a person signs.
const SIGN_SCRIPTS: [&str; 2] = ["/sign.js", "/start.js"];

impl Pages {
    /// Returns the head of an answer to a browser that can read compressed ones, and its body.
    fn compressible(&self, path: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        // An answer to this version of HTTP is in one piece.
        let (host, cookie) = (&self.host, &self.cookie);
        let request = format!(
            "GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept-Encoding: gzip\r\nAccept: text/html\r\n{cookie}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("a head is sent") + 4;
        let body = answer.split_off(end);
        (String::from_utf8_lossy(&answer).to_ascii_lowercase(), body)
    }

    /// Returns the number of bytes of an answer, compressed.
    fn compressed_size(&self, path: &str) -> usize {
        let (head, body) = self.compressible(path);
        let size = body.len();
        assert!(head.contains("content-encoding: gzip") || size < 1024, "{path} is not compressed: {head}");
        size
    }

    /// Returns the scripts that a page loads, with those that they import.
    fn scripts(&self, page: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut pending: Vec<String> = texts_between(page, "<script", "</script>")
            .filter_map(|tag| texts_between(tag, "src=\"", "\"").next())
            .map(str::to_owned)
            .collect();
        while let Some(script) = pending.pop() {
            if found.insert(script.clone()) {
                let text = self.ask(&script);
                pending.extend(texts_between(&text, "from \"", "\"").map(str::to_owned));
            }
        }
        found
    }

    /// Returns what of a page is heavier than it may be.
    fn excesses(&self, name: &str, path: &str) -> Vec<String> {
        let page = self.ask(path);
        let scripts = self.scripts(&page);
        let signs = scripts.iter().any(|script| SIGN_SCRIPTS.contains(&script.as_str()));
        let total = scripts.iter().map(|script| self.compressed_size(script)).sum();
        let style = self.compressed_size("/style.css");
        let most = if signs { MAX_SIGN_SCRIPTS } else { MAX_SCRIPTS };
        let parts = [
            ("HTML", self.compressed_size(path), MAX_HTML),
            ("style", style, MAX_STYLE),
            ("scripts", total, most),
        ];
        let heavier = parts.into_iter().filter(|(_, size, most)| size > most);
        heavier
            .map(|(part, size, most)| format!("{name}: {size} bytes of {part} are more than {most}: {path}"))
            .collect()
    }
}

/// Returns the texts between two marks.
fn texts_between<'a>(text: &'a str, begin: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(begin).skip(1).filter_map(move |rest| rest.split_once(end)).map(|(between, _)| between)
}

/// A plan whose page is full: 250 items, with an output of 4,000 different lines each hundred of which differ.
const FULL: &str = "\
---
kind: plan
id: full
policy: {max_parallel: 8}
steps:
  - {id: each, for_each: ITEMS, run: 'true'}
  - {id: talk, run: 'seq 4000 | sha256sum; for n in $(seq 4000); do echo \"$n: compiled module_$n of package_$((n % 17)) in $((n * 7 % 1000)) ms\"; done'}
---
";

#[test]
fn no_page_is_heavier_than_a_phone_can_load() {
    let workspace = FullWorkspace::open();
    let mut excesses = Vec::new();
    for (name, path) in workspace.all() {
        excesses.extend(workspace.pages.excesses(name, &path));
    }
    let sandbox = Sandbox::new();
    let items: Vec<u32> = (0..250).collect();
    sandbox.file("full.md", FULL.replace("ITEMS", &format!("{items:?}")));
    sandbox.wf(&["run", "full.md", "-q"]).exits(0);
    let (pages, run) = (Pages::open(&sandbox), last_run(&sandbox));
    for path in ["", "?tab=logs", "?tab=graph", "?tab=steps", "/steps/talk", "/steps/talk/output?attempt=1"] {
        excesses.extend(pages.excesses("full", &format!("/runs/{run}{path}")));
    }
    assert!(excesses.is_empty(), "{}", excesses.join("\n"));
}

#[test]
fn what_comes_part_by_part_is_sent_as_it_is() {
    let sandbox = Sandbox::new();
    let plan = "---\nkind: plan\nid: counts\nsteps:\n  - {id: count, run: seq 5000}\n---\n";
    sandbox.file("counts.md", plan).wf(&["run", "counts.md"]).exits(0);
    let pages = Pages::open(&sandbox);
    let step = format!("/runs/{}/steps/count", last_run(&sandbox));
    for path in [format!("{step}/log.txt?attempt=1"), format!("/api/v1{step}/log.txt?follow=true")] {
        let (head, body) = pages.compressible(&path);
        assert!(head.starts_with("http/1.0 200") && !head.contains("content-encoding"), "{path}: {head}");
        assert!(body.ends_with(b"4999\n5000\n"), "{path}: {} bytes", body.len());
    }
    // The server goes on.
    pages.shows("/", &["counts"]);
}
