//! Shared by the memory commands: the texts about megrams and notes.

use anstyle::Style;

use wf_app::{CliExitCode, CommandError};
use wf_base::{
    units::{fit, moment, plural},
    untrusted::{BAD, DIM, GOOD, NAME, WARN, untrusted},
};
use wf_core::memory::{Megram, MegramLevel, MegramTags, MemoryAction, RuleSense};
use wf_report::{ColumnAlign, TextTable};

/// The width of a content on a line, in characters.
const WIDTH: usize = 60;

/// The numbers of megrams and notes; of notes only if there are any.
pub(super) fn counts(megrams: usize, notes: usize) -> String {
    let text = plural(megrams, "megram");
    match (megrams, notes) {
        (_, 0) => text,
        (0, notes) => plural(notes, "note"),
        (_, notes) => format!("{text} and {}", plural(notes, "note")),
    }
}

/// Parses tags given by the user.
pub(super) fn tags(space: &str, entity: &str) -> Result<MegramTags, CommandError> {
    MegramTags::parse(space, entity).map_err(|error| CommandError::new(CliExitCode::Usage, error.to_string()))
}

/// A table of megrams.
pub(super) fn table(megrams: &[Megram]) -> String {
    let left = |name| (name, ColumnAlign::Left);
    let mut table = TextTable::new(&[
        left("id"),
        left("level"),
        left("made"),
        left("state"),
        left("space"),
        left("entity"),
        left("content"),
    ]);
    for megram in megrams {
        let (plain, dim) = (Style::new(), DIM);
        table.row(vec![
            (megram.id.short(), NAME),
            (megram.level.to_string(), plain),
            (moment(megram.created), dim),
            (megram.state.to_string(), plain),
            (line(&megram.tags.space), plain),
            (line(&megram.tags.entity), plain),
            (short_line(&megram.content), plain),
        ]);
    }
    table.render()
}

/// A text on one line, safe to display.
pub(super) fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    untrusted(&words.join(" ")).to_string()
}

/// The same, cut if it is long.
pub(super) fn short_line(text: &str) -> String {
    fit(&line(text), WIDTH)
}

/// The style of an action.
pub(super) fn style(action: MemoryAction) -> Style {
    match action {
        MemoryAction::Ignore => DIM,
        MemoryAction::Exploit => GOOD,
        MemoryAction::Avoid => BAD,
        MemoryAction::Caution => WARN,
    }
}

/// The word for a megram of the kind rule or law.
pub(super) fn standing(megram: &Megram) -> &'static str {
    match megram.level {
        MegramLevel::Thinking => "law",
        _ => megram.sense().map_or("", RuleSense::as_str),
    }
}

/// A sum with its sign.
pub(super) fn signed_number(number: f64) -> String {
    // A number that rounds to zero has no sign.
    let rounded = (number * 100.0).round() / 100.0 + 0.0;
    format!("{rounded:+.2}")
}

/// A document for a program.
pub(super) fn document(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}
