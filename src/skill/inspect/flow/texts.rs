use std::rc::Rc;
use std::sync::LazyLock;

use regex::Regex;

use super::facts::{At, Event, Facts, Send};
use super::python::python;
use super::shell::{Source, shell};
use crate::skill::inspect::prose::{Passage, addresses, describes, passages};

static SPANS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"`([^`\n]+)`").ok());

static PATHS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s`'\x22(])((?:~|\.{1,2}|\$\w+)?/[\w.$/-]*\w|\.?[\w-]+\.(?:sh|bash|py|js|pl|rb|ps1|bin|zip|gz|tgz|exe))\b").ok()
});

/// Words that tell to fetch, to start, to send and to keep.
static VERBS: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    let verbs = [
        r"(?i)\b(?:download|fetch|get|grab|retrieve|pull)\b",
        r"(?i)\b(?:run|execute|launch|start|source|invoke)\b",
        r"(?i)\b(?:send|post|upload|submit|forward|transmit)\b",
        r"(?i)\b(?:copy|save|write|store|append|put)\b",
    ];
    verbs.iter().map(|verb| Regex::new(verb).ok()).collect()
});

/// Reads the facts of a text for a reader: what its commands do, and what its sentences tell to do.
pub(super) fn texts(facts: &mut Facts, path: &str, text: &str) {
    let scope: Rc<str> = Rc::from(path);
    for passage in passages(text) {
        let counts = |at: usize| {
            at < passage.at
                || !describes(
                    &passage,
                    at.saturating_sub(passage.at).min(passage.text.len()),
                )
        };
        let source = Source {
            file: path,
            scope: Rc::clone(&scope),
            counts: &counts,
        };
        match passage.fence {
            Some(language) => fence(facts, &source, &passage, language),
            None => {
                for (at, code) in spans(passage.text) {
                    // One word alone names something.
                    if code.contains(' ') {
                        shell(facts, &source, (code, passage.at + at), 0);
                    }
                }
                sentences(facts, &source, &passage);
            }
        }
    }
}

fn fence(facts: &mut Facts, source: &Source<'_>, passage: &Passage<'_>, language: &str) {
    let language = language.to_ascii_lowercase();
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    match language {
        "python" | "py" | "python3" => python(facts, source, (passage.text, passage.at), 0),
        "" | "sh" | "bash" | "shell" | "console" | "zsh" | "terminal" => {
            // A prompt is no part of the command.
            let text = passage.text.replace("\n$ ", "\n  ");
            let text = text
                .strip_prefix("$ ")
                .map_or(text.clone(), |rest| format!("  {rest}"));
            shell(facts, source, (&text, passage.at), 0);
        }
        _ => {}
    }
}

/// The pieces of code in a passage, and where they begin.
fn spans(text: &str) -> Vec<(usize, &str)> {
    let spans = SPANS
        .as_ref()
        .into_iter()
        .flat_map(|spans| spans.captures_iter(text));
    let inner = spans.filter_map(|span| span.get(1));
    inner.map(|inner| (inner.start(), inner.as_str())).collect()
}

/// Sentences that tell to fetch a file, to start one, or to send one.
fn sentences(facts: &mut Facts, source: &Source<'_>, passage: &Passage<'_>) {
    let mut from = passage.at;
    for line in passage.text.split_inclusive('\n') {
        let at = from;
        from += line.len();
        if (source.counts)(at) {
            sentence(facts, source, (line, at));
        }
    }
}

fn sentence(facts: &mut Facts, source: &Source<'_>, (line, at): (&str, usize)) {
    let verb = |number: usize| {
        let verb = VERBS.get(number).and_then(Option::as_ref)?;
        verb.find(line).map(|verb| verb.start())
    };
    let paths: Vec<(usize, &str)> = PATHS
        .as_ref()
        .into_iter()
        .flat_map(|paths| paths.captures_iter(line))
        .filter_map(|found| found.get(1))
        .filter(|path| !line.get(..path.start()).unwrap_or_default().ends_with(':'))
        .map(|path| (path.start(), path.as_str()))
        .collect();
    let held = |facts: &mut Facts, from: usize| -> At {
        let value = facts.value();
        for (_, path) in paths.iter().filter(|(at, _)| *at >= from) {
            facts.says(path, value);
        }
        value
    };
    let event = |what: At| Event {
        file: source.file.to_owned(),
        at,
        what,
    };
    let to = addresses(line);
    let (fetch, run, send, keep) = (verb(0), verb(1), verb(2), verb(3));
    if let (Some(verb), false) = (fetch, to.is_empty()) {
        let (from, got, into) = (facts.value(), facts.value(), held(facts, verb));
        for address in &to {
            facts.says(address, from);
            let bare = address.split(['?', '#']).next().unwrap_or_default();
            let name = bare.rsplit('/').next().unwrap_or_default();
            if bare.matches('/').count() > 2 && name.len() > 2 {
                facts.says(name, into);
            }
        }
        let label = facts.fetch(source.file, at, from);
        facts.labels.push((label, got));
        facts.stores.push((into, got));
    }
    if let Some(verb) = run {
        let what = held(facts, verb);
        facts.runs.push(event(what));
    }
    if let (Some(verb), false) = (send, to.is_empty()) {
        let (paths, what, place) = (held(facts, verb), facts.value(), facts.value());
        to.iter().for_each(|address| facts.says(address, place));
        facts.loads.push((paths, what));
        facts.sends.push(Send {
            event: event(what),
            to: place,
            is_proof: false,
        });
    } else if let (Some(_), [.., (_, last)]) = (keep, paths.as_slice())
        && paths.len() > 1
    {
        let (from, held, into) = (facts.value(), facts.value(), facts.value());
        for (_, path) in paths.iter().take(paths.len() - 1) {
            facts.says(path, from);
        }
        facts.says(last, into);
        facts.loads.push((from, held));
        facts.stores.push((into, held));
    }
}
