use std::fmt::Write as _;

use anstyle::Style;

use super::{ChangeDirection, PartChange, PlanDiff, SummaryChange};
use crate::consent::{SummaryLine, SummaryLineKind, drawn};
use wf_base::untrusted::{BAD, BOLD, DIM, GOOD, WARN, paint, untrusted};

/// The lines of context around changed ones in a text of several lines.
const CONTEXT_LINE_COUNT: usize = 2;

impl PlanDiff {
    /// Returns the changes as text: first those that let more happen or more pass.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let loose = |kinds: &'static [SummaryLineKind]| {
            let changes = self.changes.iter();
            changes
                .filter(move |change| change.direction == ChangeDirection::Looser && change.is_about(kinds))
        };
        let reach: Vec<&SummaryChange> = loose(&[SummaryLineKind::Reach]).collect();
        let proof: Vec<&SummaryChange> =
            loose(&[SummaryLineKind::Proof, SummaryLineKind::Decision]).collect();
        section(&mut text, &paint(BAD, "WIDER: more access"), &reach);
        section(&mut text, &paint(BAD, "WEAKER: fewer or looser checks"), &proof);
        if !self.parts.is_empty() {
            let _ = writeln!(text, "{}", paint(BOLD, "parts"));
            self.parts.iter().for_each(|moved| text.push_str(&moved.part_text()));
            text.push('\n');
        }
        let is_told = |change: &&SummaryChange| {
            change.direction == ChangeDirection::Looser
                && change.is_about(&[
                    SummaryLineKind::Reach,
                    SummaryLineKind::Proof,
                    SummaryLineKind::Decision,
                ])
        };
        let other_changes: Vec<&SummaryChange> = self.changes.iter().filter(|own| !is_told(own)).collect();
        section(&mut text, &paint(BOLD, "other changes"), &other_changes);
        text
    }
}

impl PartChange {
    fn part_text(&self) -> String {
        match self {
            Self::Added { part } => format!("  {} {}\n", paint(GOOD, "+"), untrusted(part)),
            Self::Removed { part } => format!("  {} {}\n", paint(BAD, "-"), untrusted(part)),
            Self::Renamed { from, to } => {
                format!("  {} {} renamed to {}\n", paint(WARN, "~"), untrusted(from), untrusted(to))
            }
        }
    }
}

impl SummaryChange {
    fn is_about(&self, kinds: &[SummaryLineKind]) -> bool {
        self.line().is_some_and(|line| kinds.contains(&line.kind))
    }
}

fn section(text: &mut String, heading: &str, changes: &[&SummaryChange]) {
    if changes.is_empty() {
        return;
    }
    let _ = writeln!(text, "{heading}");
    for change in changes {
        text.push_str(&change_text(change));
    }
    text.push('\n');
}

/// A change: its path, its direction, the line before and the line after.
fn change_text(change: &SummaryChange) -> String {
    let path = change.line().map(SummaryLine::path).unwrap_or_default();
    let word = paint(style(change), change.word());
    let mut text = format!("  {} {word}\n", untrusted(&path));
    let [before, after] = [&change.before, &change.after].map(|line| match line {
        Some(line) => line.text.trim_end_matches('\n').split('\n').collect(),
        None => Vec::new(),
    });
    let (same, rest) = common(&before, &after);
    let is_long = before.len() > 1 || after.len() > 1;
    if is_long {
        context_lines(&mut text, before.get(..same).unwrap_or(&[]), true);
    }
    for (mark, style, lines) in [("-", BAD, &before), ("+", GOOD, &after)] {
        let end = lines.len().saturating_sub(rest);
        for line in lines.get(same..end).unwrap_or(&[]) {
            marked_line(&mut text, mark, style, line);
        }
    }
    if is_long {
        let end = after.len().saturating_sub(rest);
        context_lines(&mut text, after.get(end..).unwrap_or(&[]), false);
    }
    text
}

fn marked_line(text: &mut String, mark: &str, style: Style, line: &str) {
    for (at, part) in drawn(line, 6).iter().enumerate() {
        let mark = if at == 0 { mark } else { "┆" };
        let _ = writeln!(text, "    {} {}", paint(style, mark), paint(style, part));
    }
}

/// Some unchanged lines next to the changed ones.
fn context_lines(text: &mut String, lines: &[&str], before: bool) {
    let few = CONTEXT_LINE_COUNT.min(lines.len());
    let from = if before { lines.len() - few } else { 0 };
    for line in lines.iter().skip(from).take(few) {
        for part in drawn(line, 6) {
            let _ = writeln!(text, "{}", paint(DIM, &format!("      {part}").trim_end()));
        }
    }
}

/// Returns the number of common lines at the beginning, and of the remaining ones at the end.
fn common(before: &[&str], after: &[&str]) -> (usize, usize) {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let first = before.iter().zip(after).take_while(same).count();
    let left = before.len().min(after.len()) - first;
    let last = before.iter().rev().zip(after.iter().rev());
    (first, last.take_while(same).count().min(left))
}

fn style(change: &SummaryChange) -> Style {
    match change.direction {
        ChangeDirection::Looser => WARN,
        ChangeDirection::Tighter => GOOD,
        ChangeDirection::Other => DIM,
    }
}
