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
        if let Some(language) = passage.fence {
            fence(facts, &source, &passage, language);
            continue;
        }
        for (at, code) in spans(passage.text) {
            // One word alone names something.
            if code.contains(' ') {
                shell(facts, &source, (code, passage.at + at), 0);
            }
        }
        sentences(facts, &source, &passage);
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

/// A sentence: where it stands, the paths in it, and what it tells to do.
struct Sentence<'a> {
    file: &'a str,
    line: &'a str,
    at: usize,
    paths: Vec<(usize, &'a str)>,
}

impl<'a> Sentence<'a> {
    fn of(file: &'a str, line: &'a str, at: usize) -> Self {
        let found = PATHS.as_ref().into_iter();
        let found = found.flat_map(|paths| paths.captures_iter(line));
        let paths = found.filter_map(|found| found.get(1));
        // What follows a colon is an address.
        let is_path =
            |path: &regex::Match<'_>| !line.get(..path.start()).unwrap_or_default().ends_with(':');
        let paths = paths.filter(is_path);
        Self {
            file,
            line,
            at,
            paths: paths.map(|path| (path.start(), path.as_str())).collect(),
        }
    }

    /// Where one of the verbs stands.
    fn verb(&self, number: usize) -> Option<usize> {
        let verb = VERBS.get(number).and_then(Option::as_ref)?;
        verb.find(self.line).map(|verb| verb.start())
    }

    /// A value that holds the paths from a place of the sentence on.
    fn held(&self, facts: &mut Facts, from: usize) -> At {
        let value = facts.value();
        for (_, path) in self.paths.iter().filter(|(at, _)| *at >= from) {
            facts.says(path, value);
        }
        value
    }

    fn event(&self, what: At) -> Event {
        let file = self.file.to_owned();
        let at = self.at;
        Event { file, at, what }
    }
}

fn sentence(facts: &mut Facts, source: &Source<'_>, (line, at): (&str, usize)) {
    let said = Sentence::of(source.file, line, at);
    let to = addresses(line);
    if let (Some(verb), false) = (said.verb(0), to.is_empty()) {
        fetches(facts, &said, (verb, &to));
    }
    if let Some(verb) = said.verb(1) {
        let what = said.held(facts, verb);
        facts.runs.push(said.event(what));
    }
    if let (Some(verb), false) = (said.verb(2), to.is_empty()) {
        let (paths, what, to_place) = (said.held(facts, verb), facts.value(), facts.value());
        for address in &to {
            facts.says(address, to_place);
        }
        facts.loads.push((paths, what));
        facts.sends.push(Send {
            event: said.event(what),
            to: to_place,
            is_proof: false,
        });
    } else if let (Some(_), [from @ .., (_, last)]) = (said.verb(3), said.paths.as_slice()) {
        let (paths, held, into) = (facts.value(), facts.value(), facts.value());
        for (_, path) in from {
            facts.says(path, paths);
        }
        facts.says(last, into);
        facts.loads.push((paths, held));
        facts.stores.push((into, held));
    }
}

/// What is fetched lies where the sentence says, or under the name that it has.
fn fetches(facts: &mut Facts, said: &Sentence<'_>, (verb, to): (usize, &[&str])) {
    let (from, got, into) = (facts.value(), facts.value(), said.held(facts, verb));
    for address in to {
        facts.says(address, from);
        let bare = address.split(['?', '#']).next().unwrap_or_default();
        let name = bare.rsplit('/').next().unwrap_or_default();
        if bare.matches('/').count() > 2 && name.len() > 2 {
            facts.says(name, into);
        }
    }
    let label = facts.fetch(said.file, said.at, from);
    facts.labels.push((label, got));
    facts.stores.push((into, got));
}
