use std::fmt::Write as _;
use std::time::Duration;

use anstyle::Style;

use super::elapsed;
use super::hint::hint;
use super::paint::{BAD, DIM, paint};
use crate::machine::Verdict;
use crate::model::CheckPhase;
use crate::untrusted::{styled_line, untrusted};

/// Where the text of a line begins, after verb and time.
pub(super) const INDENT: &str = "                       ";

/// A criterion that does not hold: what was expected, and what was found.
pub(super) fn broken(verdict: &Verdict) -> String {
    let mut text = format!(
        "{INDENT}check {} does not hold{}\n",
        paint(BAD, verdict.name.as_str()),
        asked_for(verdict)
    );
    for (word, what) in [("expected", &verdict.expected), ("found", &verdict.found)] {
        if !what.is_empty() {
            let _ = writeln!(text, "{INDENT}  {word:<9}{}", untrusted(what.trim_end()));
        }
    }
    let said = verdict.found.contains(verdict.evidence.trim());
    for line in untrusted(&verdict.evidence).lines().filter(|_| !said) {
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

/// A text of others behind what stands on its line already: as it is if it is one line, else each of its
/// lines on one of its own, behind a bar.
pub(super) fn quoted(text: &str, indent: &str) -> String {
    let text = text.trim_end();
    if !text.contains('\n') {
        return untrusted(text).to_string();
    }
    let line = |line| format!("\n{indent}{} {line}", paint(DIM, "│"));
    untrusted(text).lines().map(line).collect()
}

/// What a check was asked for, unless that is `verify`.
pub(super) fn asked_for(verdict: &Verdict) -> String {
    match verdict.phase {
        CheckPhase::Verify => String::new(),
        phase => format!(" · {}", phase.as_str()),
    }
}

/// Which attempt, unless it was the first.
pub(super) fn nth(attempt: u32) -> String {
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

/// A place as a shell takes it: brackets, and what keys of items have, mean something else there.
pub fn word(place: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '-' | '.');
    if place.chars().all(is_plain) {
        place.to_owned()
    } else {
        format!("'{}'", place.replace('\'', r"'\''"))
    }
}

/// A goal as a command takes it: by its id where goals are looked for, else by its file.
pub fn goal_name(id: &str, path: &str) -> String {
    let known = ["goals/", "workflows/"];
    if known.iter().any(|folder| path.starts_with(folder)) {
        id.to_owned()
    } else {
        word(path)
    }
}

#[cfg(test)]
mod tests {
    use super::word;

    #[test]
    fn a_shell_takes_a_place_as_it_is() {
        for (place, typed) in [
            ("all/build", "all/build"),
            ("build[linux,3.12]", "'build[linux,3.12]'"),
            ("greet[it's]", r"'greet[it'\''s]'"),
            ("cost[$5]", "'cost[$5]'"),
        ] {
            assert_eq!(word(place), typed);
        }
    }
}
