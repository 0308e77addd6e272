use std::{fmt::Write as _, time::Duration};
use wf_base::untrusted::shell_word;

use anstyle::Style;

use super::hint::hint;
use wf_base::{
    units::elapsed,
    untrusted::{BAD, DIM, paint, styled_line, untrusted},
};
use wf_core::machine::{CheckVerdict, ProductChanges};
use wf_model::{CheckPhase, JsonObject};

/// The column where the text of a line begins, after verb and time.
pub(super) const INDENT: &str = "                       ";

/// A failed criterion: the expected value, and the one found.
pub(super) fn failed_check_text(verdict: &CheckVerdict) -> String {
    let mut text =
        format!("{INDENT}check {} failed{}\n", paint(BAD, verdict.name.as_str()), phase_label(verdict));
    for (word, content) in [("expected", &verdict.expected), ("found", &verdict.found)] {
        if !content.is_empty() {
            let _ = writeln!(text, "{INDENT}  {word:<9}{}", untrusted(content.trim_end()));
        }
    }
    let is_repeated = verdict.found.contains(verdict.evidence.trim());
    for line in untrusted(&verdict.evidence).lines().filter(|_| !is_repeated) {
        let _ = writeln!(text, "{INDENT}  {} {line}", paint(DIM, "│"));
    }
    if let Some(hint) = hint(verdict) {
        let _ = writeln!(text, "{INDENT}  {:<9}{hint}", "hint");
        if !verdict.hidden.is_empty() {
            let paths = verdict.hidden.iter().take(3).map(String::as_str);
            let paths = paths.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "{INDENT}  {:<9}{}", "hidden", untrusted(&paths));
        }
    }
    text
}

/// Returns names and values on one line: `day=mon n=3`.
pub(super) fn pairs(values: &JsonObject) -> String {
    let pair = |(name, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::String(text) => format!("{name}={}", untrusted(text)),
        other => format!("{name}={}", untrusted(&other.to_string())),
    };
    values.iter().map(pair).collect::<Vec<_>>().join(" ")
}

/// Returns the remarks on a verdict: the products changed before it, and its weakness.
pub(super) fn verdict_remarks(verdict: &CheckVerdict) -> Vec<String> {
    let changes = verdict.changes.as_ref().filter(|changes| changes.count > 0);
    let mut remarks: Vec<String> = changes.map(ProductChanges::describe).into_iter().collect();
    if !verdict.changed_inputs.is_empty() {
        let files = verdict.changed_inputs.join(", ");
        remarks.push(format!("the step may change {files}, which this check names, and did"));
    }
    if let Some(foreign) = &verdict.foreign_changes {
        let shown =
            [("seen as it was when the run began", &foreign.restored), ("seen as it is", &foreign.current)];
        let shown = shown.into_iter().filter(|(_, files)| !files.is_empty());
        remarks
            .extend(shown.map(|(how, files)| format!("changed beside the run, {how}: {}", files.join(", "))));
    }
    if verdict.is_unbounded {
        let text = "a pass is only reported: the steps may change everything that this check reads";
        remarks.push(text.to_owned());
    }
    remarks
}

/// An untrusted text behind other text on its line: as it is if it is one line, else each of its lines on a
/// line of its own, behind a bar.
pub(super) fn quote_untrusted(text: &str, indent: &str) -> String {
    let text = text.trim_end();
    if !text.contains('\n') {
        return untrusted(text).to_string();
    }
    let line = |line| format!("\n{indent}{} {line}", paint(DIM, "│"));
    untrusted(text).lines().map(line).collect()
}

/// The phase of a check, unless it is `verify`.
pub(super) fn phase_label(verdict: &CheckVerdict) -> String {
    match verdict.phase {
        CheckPhase::Verify => String::new(),
        phase => format!(" · {}", phase.as_str()),
    }
}

/// The number of the attempt, unless it was the first.
pub(super) fn attempt_label(attempt: u32) -> String {
    match attempt {
        0 | 1 => String::new(),
        n => format!(" · attempt {n}"),
    }
}

/// A verb, a time and a text, lined up with all others.
pub(super) fn line(style: Style, verb: &str, took: Option<Duration>, text: &str) -> String {
    let took = took.map(elapsed).unwrap_or_default();
    let verb = paint(style, &format!("{verb:>11}"));
    format!("{verb} {took:>9}  {}\n", styled_line(text))
}

/// A goal as commands accept it: by its id if its folder is searched for goals, else by its file.
pub fn goal_name(id: &str, path: &str) -> String {
    let folders = ["goals/", "workflows/"];
    if folders.iter().any(|folder| path.starts_with(folder)) { id.to_owned() } else { shell_word(path) }
}
