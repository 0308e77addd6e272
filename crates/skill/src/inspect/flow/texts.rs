use super::{
    facts::{FlowFacts, ValueEvent, ValuePlaceIx, ValueSend},
    python::{functions, python},
    shell::{CommandSource, shell},
};
use crate::{
    SkillBundle,
    inspect::{
        ScriptLanguage, language,
        prose::{TextPassage, addresses, is_description, passages},
    },
};
use regex::Regex;
use std::{rc::Rc, sync::LazyLock};

static SPANS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"`([^`\n]+)`").ok());

static PATHS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?:^|[\s`'\x22(])((?:~|\.{1,2}|\$\w+)?/[\w.$/-]*\w|\.?[\w-]+\.(?:sh|bash|py|js|pl|rb|ps1|bin|zip|gz|tgz|exe))\b").ok()
});

/// Verbs for fetching, starting, sending and saving.
static VERBS: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    let verbs = [
        r"(?i)\b(?:download|fetch|get|grab|retrieve|pull)\b",
        r"(?i)\b(?:run|execute|launch|start|source|invoke)\b",
        r"(?i)\b(?:send|post|upload|submit|forward|transmit)\b",
        r"(?i)\b(?:copy|save|write|store|append|put)\b",
    ];
    verbs.iter().map(|verb| Regex::new(verb).ok()).collect()
});

/// Reads the facts of a prose text: the effects of its commands, and its instructions.
pub(super) fn texts(facts: &mut FlowFacts, path: &str, text: &str) {
    let scope: Rc<str> = Rc::from(path);
    for passage in passages(text) {
        let counts = |at: usize| {
            at < passage.at
                || !is_description(&passage, at.saturating_sub(passage.at).min(passage.text.len()))
        };
        let source = CommandSource { file: path, scope: Rc::clone(&scope), counts: &counts };
        if let Some(language) = passage.fence {
            fence(facts, &source, &passage, language);
            continue;
        }
        for (at, code) in spans(passage.text) {
            // A single word is a name, not a command.
            if code.contains(' ') {
                shell(facts, &source, code, passage.at + at, 0);
            }
        }
        sentences(facts, &source, &passage);
    }
}

fn fence(facts: &mut FlowFacts, source: &CommandSource<'_>, passage: &TextPassage<'_>, language: &str) {
    let language = language.to_ascii_lowercase();
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    match language {
        "python" | "py" | "python3" => python(facts, source, passage.text, passage.at, 0),
        "" | "sh" | "bash" | "shell" | "console" | "zsh" | "terminal" => {
            // A prompt is not part of the command.
            let text = passage.text.replace("\n$ ", "\n  ");
            let text = text.strip_prefix("$ ").map_or(text.clone(), |rest| format!("  {rest}"));
            shell(facts, source, &text, passage.at, 0);
        }
        _ => {}
    }
}

/// Returns the pieces of code in a passage, and their offsets.
fn spans(text: &str) -> Vec<(usize, &str)> {
    let spans = SPANS.as_ref().into_iter().flat_map(|spans| spans.captures_iter(text));
    let inner = spans.filter_map(|span| span.get(1));
    inner.map(|inner| (inner.start(), inner.as_str())).collect()
}

/// Reads sentences that instruct to fetch, start or send a file.
fn sentences(facts: &mut FlowFacts, source: &CommandSource<'_>, passage: &TextPassage<'_>) {
    let mut from = passage.at;
    for line in passage.text.split_inclusive('\n') {
        let at = from;
        from += line.len();
        if (source.counts)(at) {
            sentence(facts, source, line, at);
        }
    }
}

/// A sentence: its location, the paths in it, and its instructions.
struct InstructionSentence<'a> {
    file: &'a str,
    line: &'a str,
    at: usize,
    paths: Vec<(usize, &'a str)>,
}

impl<'a> InstructionSentence<'a> {
    fn of(file: &'a str, line: &'a str, at: usize) -> Self {
        let regexes = PATHS.as_ref().into_iter();
        let found_paths = regexes.flat_map(|paths| paths.captures_iter(line));
        let paths = found_paths.filter_map(|captures| captures.get(1));
        // Text after a colon is an address.
        let is_path = |path: &regex::Match<'_>| !line.get(..path.start()).unwrap_or_default().ends_with(':');
        let paths = paths.filter(is_path);
        Self { file, line, at, paths: paths.map(|path| (path.start(), path.as_str())).collect() }
    }

    /// Returns the offset of one of the verbs.
    fn verb(&self, number: usize) -> Option<usize> {
        let verb = VERBS.get(number).and_then(Option::as_ref)?;
        verb.find(self.line).map(|verb| verb.start())
    }

    /// Returns a value holding the paths from an offset of the sentence on.
    fn value_of_paths(&self, facts: &mut FlowFacts, from: usize) -> ValuePlaceIx {
        let value = facts.value();
        for (_, path) in self.paths.iter().filter(|(at, _)| *at >= from) {
            facts.record_text(path, value);
        }
        value
    }

    fn event(&self, place: ValuePlaceIx) -> ValueEvent {
        let file = self.file.to_owned();
        let at = self.at;
        ValueEvent { file, at, place }
    }
}

fn sentence(facts: &mut FlowFacts, source: &CommandSource<'_>, line: &str, at: usize) {
    let instruction_sentence = InstructionSentence::of(source.file, line, at);
    let to = addresses(line);
    if let (Some(verb), false) = (instruction_sentence.verb(0), to.is_empty()) {
        fetches(facts, &instruction_sentence, verb, &to);
    }
    if let Some(verb) = instruction_sentence.verb(1) {
        let content = instruction_sentence.value_of_paths(facts, verb);
        facts.run_events.push(instruction_sentence.event(content));
    }
    if let (Some(verb), false) = (instruction_sentence.verb(2), to.is_empty()) {
        let (paths, content, to_place) =
            (instruction_sentence.value_of_paths(facts, verb), facts.value(), facts.value());
        for address in &to {
            facts.record_text(address, to_place);
        }
        facts.loads.push((paths, content));
        facts.sends.push(ValueSend {
            event: instruction_sentence.event(content),
            destination: to_place,
            is_proof: false,
        });
    } else if let (Some(_), [from @ .., (_, last)]) =
        (instruction_sentence.verb(3), instruction_sentence.paths.as_slice())
    {
        let (paths, content, into) = (facts.value(), facts.value(), facts.value());
        for (_, path) in from {
            facts.record_text(path, paths);
        }
        facts.record_text(last, into);
        facts.loads.push((paths, content));
        facts.stores.push((into, content));
    }
}

/// A fetched file is stored at the path in the sentence, or under its original name.
fn fetches(facts: &mut FlowFacts, sentence: &InstructionSentence<'_>, verb: usize, to: &[&str]) {
    let (from, got, into) = (facts.value(), facts.value(), sentence.value_of_paths(facts, verb));
    for address in to {
        facts.record_text(address, from);
        let bare = address.split(['?', '#']).next().unwrap_or_default();
        let name = bare.rsplit('/').next().unwrap_or_default();
        if bare.matches('/').count() > 2 && name.len() > 2 {
            facts.record_text(name, into);
        }
    }
    facts.fetch(sentence.event(from), got);
    facts.stores.push((into, got));
}

/// The maximum size of a file that is read, in bytes.
const LARGEST: usize = 1 << 19;

/// Reads the facts of all files of a skill.
pub(super) fn read_flow_facts(bundle: &SkillBundle) -> FlowFacts {
    let mut facts = FlowFacts::from_shipped(bundle.files.keys().cloned().collect());
    let texts_of_files: Vec<(&str, &str, Option<ScriptLanguage>)> = bundle
        .files
        .iter()
        .filter(|(_, file)| file.bytes.len() <= LARGEST)
        .filter_map(|(path, file)| {
            let text = std::str::from_utf8(&file.bytes).ok()?;
            Some((path.as_str(), text, language(path, &file.bytes)))
        })
        .collect();
    for (_, text, language) in &texts_of_files {
        if *language == Some(ScriptLanguage::Python) {
            facts.functions.extend(functions(text));
        }
    }
    for (path, text, language) in texts_of_files {
        let scope: Rc<str> = Rc::from(path);
        let source = CommandSource { file: path, scope: Rc::clone(&scope), counts: &|_| true };
        match language {
            Some(ScriptLanguage::Shell(_)) => {
                shell(&mut facts, &source, text, 0, 0);
            }
            Some(ScriptLanguage::Python) => python(&mut facts, &source, text, 0, 0),
            None if is_prose(path) => texts(&mut facts, path, text),
            _ => {}
        }
    }
    facts
}

fn is_prose(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending.to_ascii_lowercase().as_str(), "md" | "markdown" | "mdx" | "txt" | "rst" | "adoc")
}
