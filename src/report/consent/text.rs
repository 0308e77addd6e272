use std::fmt::Write as _;

use anstyle::Style;

use super::{Consent, Kind, Line, Sense};
use crate::digest::Digest;
use crate::model::{Goal, Object, Plan};
use crate::report::paint::{BAD, BOLD, DIM, NAME, WARN, paint};
use crate::report::plural;
use crate::untrusted::{hides, untrusted};

/// How many files are shown: what differs from the last approval is shown besides.
const SHOWN: usize = 30;
/// How wide lines are.
const WIDTH: usize = 80;
/// How wide the column of keys is.
const KEYS: usize = 20;

/// Everything that a plan will do, for a person who decides whether it may. `path` is the plan's
/// file, `files` are those that the decision is about with their digests, `params` what is given,
/// `goal` is what begins it by itself.
pub fn consent(
    plan: &Plan,
    path: &str,
    files: &[(String, Digest)],
    params: &Object,
    goal: Option<&Goal>,
) -> String {
    let view = Consent::of(plan, path).given(params).of_any(goal);
    let mut text = format!("{}  {}\n", paint(BOLD, plan.id().as_str()), untrusted(path));
    text.push_str(&warnings(&view));
    if !files.is_empty() {
        let _ = writeln!(text, "\n{}", paint(BOLD, "files"));
        for (file, digest) in files.iter().take(SHOWN) {
            let digest = paint(DIM, &digest.short());
            let _ = writeln!(text, "  {digest}  {}", untrusted(file));
        }
        if let Some(more) = files.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            let _ = writeln!(
                text,
                "  … and {} more, all in the approval",
                plural(more, "file")
            );
        }
    }
    text.push_str(&view.text());
    text
}

/// What must not be overlooked, said first.
fn warnings(view: &Consent) -> String {
    let mut text = String::new();
    let free = view.lines.iter().filter(|line| is_free(line)).count();
    if free > 0 {
        let steps = plural(free, "step");
        let what = format!("{steps} without a sandbox: they may do whatever you may do");
        let _ = writeln!(text, "{} {what}", paint(WARN, "!"));
    }
    let hidden: Vec<String> = view.hidden().map(Line::path).collect();
    if !hidden.is_empty() {
        let what = "characters that do not show are written as ⟨U+…⟩ in";
        let _ = writeln!(text, "{} {what}", paint(BAD, "!"));
        for path in hidden {
            let _ = writeln!(text, "    {}", untrusted(&path));
        }
    }
    text
}

fn is_free(line: &Line) -> bool {
    line.key == "sandbox" && line.within != "workspace" && line.sense == Sense::AtMost(1.0)
}

impl Consent {
    /// All lines as text, part by part, in full, with at most 80 columns.
    pub fn text(&self) -> String {
        let mut page = Page::default();
        let mut part = None;
        for line in &self.lines {
            let own = (line.plan.as_str(), line.within.as_str());
            if part != Some(own) {
                page.close("");
                page.last.clear();
                let _ = writeln!(page.text, "\n{}", heading(line));
                part = Some(own);
            }
            page.line(line);
        }
        page.close("");
        page.text
    }
}

/// Lines on their way to a text. What belongs to a line with a shorter key stands below it.
#[derive(Default)]
struct Page<'a> {
    text: String,
    /// The keys of the lines that what follows may belong to, each with what is usual below it
    /// and not written yet.
    above: Vec<(&'a str, Vec<String>)>,
    /// What is usual of the part, not written yet.
    usual: Vec<String>,
    /// The key of the line before.
    last: String,
}

impl<'a> Page<'a> {
    fn line(&mut self, line: &'a Line) {
        self.close(&line.key);
        let owner = self.above.last().map_or(0, |(above, _)| above.len() + 1);
        let key = line.key.get(owner..).unwrap_or(&line.key);
        let indent = 2 + 2 * self.above.len();
        if line.usual {
            let word = line.text.split(':').next().unwrap_or("");
            let usual = match self.above.last_mut() {
                Some((_, usual)) => usual,
                None => &mut self.usual,
            };
            return usual.push(format!("{key} {word}"));
        }
        // Of a list, the key says what the text says.
        let key = key.strip_suffix(&format!("[{}]", line.text)).unwrap_or(key);
        let shown = if self.last == key { "" } else { key };
        self.text
            .push_str(&labelled(shown, &line.text, indent, line.style()));
        key.clone_into(&mut self.last);
        if line.text.contains('\n') || line.within == "workspace" {
            return;
        }
        self.above.push((&line.key, Vec::new()));
    }

    /// Ends what the line with the next key does not belong to.
    fn close(&mut self, next: &str) {
        while let Some((above, _)) = self.above.last() {
            let below = next.strip_prefix(above);
            if below.is_some_and(|rest| rest.starts_with('.')) {
                return;
            }
            let indent = 2 + 2 * self.above.len();
            let usual = self.above.pop().map_or_else(Vec::new, |(_, usual)| usual);
            self.otherwise(&usual, indent);
        }
        if next.is_empty() {
            let usual = std::mem::take(&mut self.usual);
            self.otherwise(&usual, 2);
        }
    }

    fn otherwise(&mut self, usual: &[String], indent: usize) {
        if !usual.is_empty() {
            let usual = usual.join(", ");
            self.text
                .push_str(&labelled("otherwise", &usual, indent, DIM));
        }
    }
}

fn heading(line: &Line) -> String {
    let part = match line.within.split_once('.') {
        Some(("steps", id)) => format!("step {id}"),
        Some(("finally", id)) => format!("finally step {id}"),
        Some(("gates", id)) => format!("gate {id}"),
        _ if line.within.is_empty() => "plan".into(),
        _ => line.within.clone(),
    };
    match line.plan.as_str() {
        "" => paint(BOLD, &untrusted(&part)),
        path => format!(
            "{} {}",
            paint(NAME, &untrusted(path)),
            paint(BOLD, &untrusted(&part))
        ),
    }
}

/// A key and what it says, in full.
fn labelled(key: &str, said: &str, indent: usize, style: Style) -> String {
    let key = untrusted(key).to_string();
    let wide = key.chars().count();
    let mut text = format!("{:indent$}{}", "", paint(DIM, &key));
    if said.contains('\n') {
        text.push('\n');
        block(said, indent + 2, &mut text);
        return text;
    }
    let left = indent + KEYS + 1;
    if wide > KEYS {
        let _ = write!(text, "\n{:left$}", "");
    } else {
        let _ = write!(text, "{:1$}", "", KEYS + 1 - wide);
    }
    let parts = wrapped(&untrusted(said).to_string(), WIDTH - left);
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            let _ = write!(text, "{:1$}{2} ", "", left - 2, paint(DIM, "┆"));
        }
        let _ = writeln!(text, "{}", paint(style, part.trim_end()));
    }
    text
}

impl Line {
    /// How it is shown.
    fn style(&self) -> Style {
        if hides(&self.text) || hides(&self.key) {
            return BAD;
        }
        match (self.kind, self.sense) {
            (Kind::Reach, Sense::Grant) => WARN,
            (Kind::Reach | Kind::Proof, Sense::AtMost(level)) if level > 0.0 => WARN,
            _ => Style::new(),
        }
    }
}

/// Several lines, each behind a bar; one that goes on has a broken bar.
fn block(body: &str, indent: usize, text: &mut String) {
    for line in body.trim_end_matches('\n').split('\n') {
        let shown = untrusted(line).to_string();
        for (at, part) in wrapped(&shown, WIDTH - indent - 2).into_iter().enumerate() {
            let bar = paint(DIM, if at == 0 { "│" } else { "┆" });
            let style = if hides(line) { BAD } else { Style::new() };
            let part = match part.trim_end() {
                "" => String::new(),
                part => format!(" {}", paint(style, part)),
            };
            let _ = writeln!(text, "{:indent$}{bar}{part}", "");
        }
    }
}

/// A line as it is safe to look at, in parts that leave so many columns free.
pub(in crate::report) fn drawn(line: &str, indent: usize) -> Vec<String> {
    wrapped(&untrusted(line).to_string(), WIDTH - indent)
}

/// A text in parts of at most so many characters; broken at spaces where there are any.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut left: Vec<char> = text.chars().collect();
    while left.len() > width {
        let space = left.iter().take(width).rposition(|c| *c == ' ');
        let cut = space.map_or(width, |at| at + 1).max(width / 2);
        let rest = left.split_off(cut);
        parts.push(left.into_iter().collect());
        left = rest;
    }
    parts.push(left.into_iter().collect());
    parts
}
