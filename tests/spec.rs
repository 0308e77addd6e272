//! Every mistake the language knows, as examples in Markdown: `tests/spec/*.md`.
//!
//! A fenced `markdown` block is a spec file. What is wrong with it is drawn below the line it is
//! wrong in:
//!
//! ```text
//! depends_on: [fetsh]
//! #            ^^^^^ error[plan/unknown-step]: there is no step `fetsh`
//! #            = help: did you mean `fetch`?
//! ```
//!
//! Codes, columns and the beginnings of messages are compared; a help only where one is drawn. A
//! block without drawings must be without mistakes. A block with the title `file: other.md` is
//! another file, for the untitled blocks under the same heading to use; its mistakes are those
//! found when the first of them is loaded. `WF_UPDATE=1` draws anew.

use std::{env, fmt::Write as _, fs};

use wf_base::{
    diag::{Diagnostic, Severity},
    source::SourceText,
};
use wf_lang::{self as lang, InMemoryFiles, LoadedSpec, check};

/// The path of a block without a title.
const ROOT: &str = "plan.md";

/// Finds all mistakes of a file and of those it uses.
fn diagnose(files: &InMemoryFiles, path: &str) -> LoadedSpec {
    let mut loaded = lang::load(files, path);
    check::check(&mut loaded);
    loaded
}

#[test]
fn examples_have_the_mistakes_drawn_in_them() {
    let update = env::var_os("WF_UPDATE").is_some();
    let mut wrong = String::new();
    let mut paths: Vec<_> = fs::read_dir("tests/spec")
        .expect("there are examples")
        .map(|entry| entry.expect("a folder can be read").path())
        .collect();
    paths.sort();
    for path in paths {
        let text = fs::read_to_string(&path).expect("examples are text");
        let drawn = Page::read(&text).judge(&path.display().to_string(), &mut wrong);
        if update && drawn != text {
            fs::write(&path, drawn).expect("examples can be written");
        }
    }
    assert!(update || wrong.is_empty(), "{wrong}\nWF_UPDATE=1 draws anew");
}

/// A file of examples.
struct Page<'t> {
    parts: Vec<Part<'t>>,
}

enum Part<'t> {
    /// Lines between examples, their ends included; a heading begins a new group.
    Prose {
        text: &'t str,
        is_heading: bool,
    },
    Example(Example),
}

struct Example {
    title: Option<String>,
    text: String,
    drawn: Vec<Mark>,
}

/// A mistake as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    line: usize,
    column: usize,
    width: usize,
    code: String,
    message: String,
    help: Option<String>,
}

impl<'t> Page<'t> {
    fn read(text: &'t str) -> Self {
        let mut parts = Vec::new();
        let mut lines = text.split_inclusive('\n');
        while let Some(line) = lines.next() {
            let is_heading = line.starts_with('#');
            parts.push(Part::Prose { text: line, is_heading });
            let ticks = line.len() - line.trim_start_matches('`').len();
            let fence = line.get(..ticks).unwrap_or("");
            let Some(title) = line[ticks..].strip_prefix("markdown").filter(|_| ticks >= 3) else {
                continue;
            };
            let mut body = Vec::new();
            let closing = lines.by_ref().find(|line| {
                let ends = line.trim_end() == fence;
                if !ends {
                    body.push(*line);
                }
                ends
            });
            parts.push(Part::Example(Example::read(title, &body)));
            let text = closing.expect("every fence is closed");
            parts.push(Part::Prose { text, is_heading: false });
        }
        Self { parts }
    }

    /// Notes examples whose mistakes are not those drawn; gives the page with what is.
    fn judge(&self, path: &str, wrong: &mut String) -> String {
        let mut page = String::new();
        for group in groups(&self.parts) {
            let mut files = InMemoryFiles::default();
            for example in group.iter().filter_map(Part::titled) {
                let title = example.title.clone().unwrap_or_default();
                files.0.insert(title, example.text.clone().into_bytes());
            }
            let root = group.iter().find_map(Part::untitled);
            let mut heading = "";
            for part in group {
                match part {
                    Part::Prose { text, is_heading } => {
                        page.push_str(text);
                        heading = if *is_heading { text.trim() } else { heading };
                    }
                    Part::Example(example) => {
                        let found = example.marks(&files, root);
                        let fits = example.drawn.len() == found.len()
                            && example.drawn.iter().zip(&found).all(|(a, b)| a.fits(b));
                        if fits {
                            page.push_str(&draw(&example.text, &example.drawn));
                        } else {
                            let drawn = draw(&example.text, &found);
                            let _ = write!(wrong, "\n{path}, {heading}:\n{drawn}");
                            page.push_str(&drawn);
                        }
                    }
                }
            }
        }
        page
    }
}

/// The parts between headings.
fn groups<'p, 't>(parts: &'p [Part<'t>]) -> Vec<&'p [Part<'t>]> {
    let mut groups = Vec::new();
    let mut rest = parts;
    while !rest.is_empty() {
        let is_heading = |part: &Part<'_>| matches!(part, Part::Prose { is_heading: true, .. });
        let next = rest.iter().skip(1).position(is_heading);
        let (group, after) = rest.split_at(next.map_or(rest.len(), |at| at + 1));
        groups.push(group);
        rest = after;
    }
    groups
}

impl Part<'_> {
    fn titled(&self) -> Option<&Example> {
        match self {
            Part::Example(example) if example.title.is_some() => Some(example),
            _ => None,
        }
    }
}

impl Part<'_> {
    fn untitled(&self) -> Option<&Example> {
        match self {
            Part::Example(example) if example.title.is_none() => Some(example),
            _ => None,
        }
    }
}

impl Example {
    fn read(info: &str, lines: &[&str]) -> Self {
        let title = info.trim().strip_prefix("file:").map(|title| title.trim().to_owned());
        let mut example = Self { title, text: String::new(), drawn: Vec::new() };
        let mut count = 0;
        for line in lines {
            let content = line.trim_start_matches('#').trim_start();
            if let Some(help) = content.strip_prefix("= help: ") {
                let last = example.drawn.last_mut().expect("a help follows a mistake");
                last.help = Some(help.trim_end().to_owned());
            } else if let Some(mark) = Mark::read(line, count.max(1)) {
                example.drawn.push(mark);
            } else {
                example.text.push_str(line);
                count += 1;
            }
        }
        example.drawn.sort();
        example
    }

    /// The mistakes of the file as marks. Those of a titled file are found from the root that
    /// uses it, or alone if there is none.
    fn marks(&self, files: &InMemoryFiles, root: Option<&Self>) -> Vec<Mark> {
        let path = self.title.as_deref().unwrap_or(ROOT);
        let root = if self.title.is_none() { Some(self) } else { root };
        let mut files = files.clone();
        if let Some(root) = root {
            files.0.insert(ROOT.into(), root.text.clone().into_bytes());
        }
        let mut loaded = diagnose(&files, if root.is_some() { ROOT } else { path });
        if loaded.sources.iter().all(|source| source.path() != path) {
            loaded = diagnose(&files, path);
        }
        let own = loaded.diagnostics.iter().filter_map(|(file, mistake)| {
            let source = &loaded.sources[*file];
            (source.path() == path).then(|| Mark::of(source, mistake))
        });
        let mut marks: Vec<_> = own.collect();
        marks.sort();
        marks
    }
}

impl Mark {
    fn read(line: &str, below: usize) -> Option<Self> {
        let start = line.find('^')?;
        let before = line[..start].trim_start_matches('#');
        let carets = line.len() - start - line[start..].trim_start_matches('^').len();
        let rest = line[start + carets..].strip_prefix(' ')?;
        let (code, message) = rest.split_once("]: ")?;
        let known = code.starts_with("error[") || code.starts_with("warning[");
        (known && before.trim().is_empty()).then(|| Self {
            line: below,
            column: start + 1,
            width: carets,
            code: format!("{code}]"),
            message: message.trim_end().to_owned(),
            help: None,
        })
    }

    fn of(source: &SourceText, mistake: &Diagnostic) -> Self {
        let place = source.line_column(mistake.span.start);
        let first = source.slice(mistake.span).lines().next().unwrap_or("");
        let severity = match mistake.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        Self {
            line: place.line,
            column: place.column,
            width: first.chars().count().max(1),
            code: format!("{severity}[{}]", mistake.code.as_str()),
            message: mistake.message.lines().collect::<Vec<_>>().join(" "),
            help: mistake.help.clone(),
        }
    }

    /// Whether this drawing fits a mistake that was found.
    fn fits(&self, found: &Self) -> bool {
        let same_place = (self.line, self.column, self.width) == (found.line, found.column, found.width);
        same_place
            && self.code == found.code
            && found.message.starts_with(&self.message)
            && (self.help.is_none() || self.help == found.help)
    }
}

/// The text with marks below their lines.
fn draw(text: &str, marks: &[Mark]) -> String {
    let mut drawn = String::new();
    let count = text.lines().count().max(1);
    let mut lines = text.split_inclusive('\n');
    for number in 1..=count {
        drawn.push_str(lines.next().unwrap_or(""));
        let last = number == count;
        for mark in marks.iter().filter(|mark| mark.line == number || last && mark.line > count) {
            let hash = if mark.column > 1 { "#" } else { "" };
            let indent = " ".repeat(mark.column - 1 - hash.len());
            let carets = "^".repeat(mark.width);
            let _ = writeln!(drawn, "{hash}{indent}{carets} {}: {}", mark.code, mark.message);
            if let Some(help) = &mark.help {
                let _ = writeln!(drawn, "{hash}{indent}= help: {help}");
            }
        }
    }
    drawn
}
