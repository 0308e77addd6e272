//! Sessions shown in documents, repeated.

use std::fmt::Write as _;

use regex::Regex;

use super::{
    documents,
    fence::{self, Fence},
};
use crate::{examples::workshop, support::Sandbox};

#[test]
fn sessions_are_what_really_happens() {
    let real = |fence: &Fence, document: &str| {
        let is_session = fence.language() == "console" && fence.has("run");
        is_session.then(|| {
            let sandbox = workshop();
            for file in fence::all(document) {
                if let Some(path) = file.file() {
                    sandbox.file(path, &file.text);
                }
            }
            let real = repeat(&sandbox, &fence.text);
            // What is shown stays as long as it is true.
            if comparable(&fence.text) == comparable(&real) {
                return fence.text.clone();
            }
            real
        })
    };
    check(real, |shown, real| {
        assert_eq!(comparable(shown), comparable(real), "{OUTDATED}");
    });
}

#[test]
fn files_shown_are_those_of_the_repository() {
    let real = |fence: &Fence, _: &str| {
        let path = fence.info.iter().find_map(|word| word.strip_prefix("from:"))?;
        Some(std::fs::read_to_string(path).expect("the file that is shown is there"))
    };
    check(real, |shown, real| {
        assert_eq!(shown, real, "{OUTDATED}");
    });
}

#[test]
fn graphs_shown_are_those_of_the_plans() {
    let real = |fence: &Fence, _: &str| {
        let plan = fence.info.iter().find_map(|word| word.strip_prefix("graph:"))?;
        Some(workshop().wf(&["graph", plan]).exits(0).out)
    };
    check(real, |shown, real| {
        assert_eq!(shown, real, "{OUTDATED}");
    });
}

const OUTDATED: &str = "a document shows something else: WF_UPDATE=1 writes it anew";

/// Compares fences with what should be in them, or puts it there.
fn check(real: impl Fn(&Fence, &str) -> Option<String>, compare: impl Fn(&str, &str)) {
    let update = std::env::var_os("WF_UPDATE").is_some();
    for (path, text) in documents() {
        let mut new = text.clone();
        for fence in fence::all(&text).iter().rev() {
            match real(fence, &text) {
                Some(real) if update => new.replace_range(fence.range.clone(), &real),
                Some(real) => compare(&fence.text, &real),
                None => {}
            }
        }
        if new != text {
            std::fs::write(&path, new).expect("documents can be written");
        }
    }
}

/// Carries out every line that begins with `$ wf`, one after the other, and shows what comes.
fn repeat(sandbox: &Sandbox, session: &str) -> String {
    let mut real = String::new();
    // The first run makes a key and says so, which is no part of what is shown.
    sandbox.wf(&["key", "init"]).exits(0);
    for line in session.lines() {
        if let Some(words) = line.strip_prefix("$ wf ") {
            let words = quoted(words);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let did = sandbox.wf(&words).all();
            let trimmed: Vec<&str> = did.lines().map(str::trim_end).collect();
            let _ = writeln!(real, "{line}\n{}", trimmed.join("\n"));
        }
    }
    real
}

/// The words of a line, as a shell reads them that knows no more than single quotes.
fn quoted(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut inside = false;
    for c in line.chars() {
        match c {
            '\'' => inside = !inside,
            ' ' if !inside => words.push(String::new()),
            c => words.last_mut().expect("there is one").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A session without what differs from run to run: times, ids, and the order of what happens at
/// the same time.
fn comparable(session: &str) -> Vec<String> {
    let replace = |text: String, pattern: &str, with: &str| {
        let pattern = Regex::new(pattern).expect("the pattern is one");
        pattern.replace_all(&text, with).into_owned()
    };
    let mut lines: Vec<String> = session
        .lines()
        .map(|line| {
            let line = replace(line.to_owned(), r"\b[0-9a-f]{8}\b", "ID");
            let line = replace(line, r"\b[0-9]+(\.[0-9]+)?(ms|s)\b", "TIME");
            replace(line, r" +", " ").trim().to_owned()
        })
        .collect();
    lines.sort();
    lines
}
