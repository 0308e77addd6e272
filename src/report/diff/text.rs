use std::fmt::Write as _;

use anstyle::Style;

use super::{Change, Diff, Moved, Way};
use crate::report::consent::{Kind, Line, drawn};
use crate::report::paint::{BAD, BOLD, DIM, GOOD, WARN, paint};
use crate::untrusted::untrusted;

/// Lines around those that differ in a text of several lines.
const AROUND: usize = 2;

impl Diff {
    /// The changes for a person: what lets more happen or more pass first.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let loose = |kinds: &'static [Kind]| {
            let all = self.changes.iter();
            all.filter(move |change| change.way == Way::Looser && change.is_about(kinds))
        };
        let reach: Vec<&Change> = loose(&[Kind::Reach]).collect();
        let proof: Vec<&Change> = loose(&[Kind::Proof, Kind::Decision]).collect();
        section(&mut text, &paint(BAD, "WIDER: it may reach more"), &reach);
        section(&mut text, &paint(BAD, "WEAKER: less has to hold"), &proof);
        if !self.moved.is_empty() {
            let _ = writeln!(text, "{}", paint(BOLD, "parts"));
            self.moved
                .iter()
                .for_each(|moved| text.push_str(&moved.shown()));
            text.push('\n');
        }
        let said = |change: &&Change| {
            change.way == Way::Looser
                && change.is_about(&[Kind::Reach, Kind::Proof, Kind::Decision])
        };
        let others: Vec<&Change> = self.changes.iter().filter(|own| !said(own)).collect();
        section(&mut text, &paint(BOLD, "all else"), &others);
        text
    }
}

impl Moved {
    fn shown(&self) -> String {
        match self {
            Self::Added { part } => format!("  {} {}\n", paint(GOOD, "+"), untrusted(part)),
            Self::Removed { part } => format!("  {} {}\n", paint(BAD, "-"), untrusted(part)),
            Self::Renamed { from, to } => format!(
                "  {} {} is now {}\n",
                paint(WARN, "~"),
                untrusted(from),
                untrusted(to)
            ),
        }
    }
}

impl Change {
    fn is_about(&self, kinds: &[Kind]) -> bool {
        self.line().is_some_and(|line| kinds.contains(&line.kind))
    }
}

fn section(text: &mut String, heading: &str, changes: &[&Change]) {
    if changes.is_empty() {
        return;
    }
    let _ = writeln!(text, "{heading}");
    for change in changes {
        text.push_str(&shown(change));
    }
    text.push('\n');
}

/// A change: where, in which direction, what it was and what it is.
fn shown(change: &Change) -> String {
    let path = change.line().map(Line::path).unwrap_or_default();
    let word = paint(style(change), change.word());
    let mut text = format!("  {} {word}\n", untrusted(&path));
    let [before, after] = [&change.before, &change.after].map(|line| match line {
        Some(line) => line.text.trim_end_matches('\n').split('\n').collect(),
        None => Vec::new(),
    });
    let (same, rest) = common(&before, &after);
    let is_long = before.len() > 1 || after.len() > 1;
    if is_long {
        around(&mut text, before.get(..same).unwrap_or(&[]), true);
    }
    for (mark, style, lines) in [("-", BAD, &before), ("+", GOOD, &after)] {
        let end = lines.len().saturating_sub(rest);
        for line in lines.get(same..end).unwrap_or(&[]) {
            marked(&mut text, mark, style, line);
        }
    }
    if is_long {
        let end = after.len().saturating_sub(rest);
        around(&mut text, after.get(end..).unwrap_or(&[]), false);
    }
    text
}

fn marked(text: &mut String, mark: &str, style: Style, line: &str) {
    for (at, part) in drawn(line, 6).iter().enumerate() {
        let mark = if at == 0 { mark } else { "┆" };
        let _ = writeln!(text, "    {} {}", paint(style, mark), paint(style, part));
    }
}

/// Some lines that are the same, next to those that are not.
fn around(text: &mut String, lines: &[&str], before: bool) {
    let few = AROUND.min(lines.len());
    let from = if before { lines.len() - few } else { 0 };
    for line in lines.iter().skip(from).take(few) {
        for part in drawn(line, 6) {
            let _ = writeln!(text, "{}", paint(DIM, &format!("      {part}").trim_end()));
        }
    }
}

/// How many lines are the same at the beginning, and how many of the others at the end.
fn common(before: &[&str], after: &[&str]) -> (usize, usize) {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let first = before.iter().zip(after).take_while(same).count();
    let left = before.len().min(after.len()) - first;
    let last = before.iter().rev().zip(after.iter().rev());
    (first, last.take_while(same).count().min(left))
}

fn style(change: &Change) -> Style {
    match change.way {
        Way::Looser => WARN,
        Way::Tighter => GOOD,
        Way::Other => DIM,
    }
}
