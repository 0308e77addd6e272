//! Shared by the memory commands: reading memory, and showing a megram.

use anstyle::Style;

use wf_app::{CliExitCode, CommandError, Host};
use wf_base::digest::Sha256Digest;
use wf_base::units::{fit, moment, plural};
use wf_base::untrusted::untrusted;
use wf_base::untrusted::{BAD, DIM, GOOD, NAME, WARN};
use wf_core::memory::{Megram, MegramLevel, MegramTags, MemoryAction, MemoryBundle, MemoryNote, RuleSense};
use wf_report::{ColumnAlign, TextTable};
use wf_store::{MegramSelection, Store, StoreDurability, StoreReader, allow_no_state};

/// The width at which a content is cut on a line, in characters.
const WIDTH: usize = 60;

/// Returns the selected megrams; none where there is no state.
pub(super) fn rows(host: &Host, which: &MegramSelection) -> Result<Vec<Megram>, CommandError> {
    Ok(reader(host)?.map_or_else(|| Ok(Vec::new()), |reader| reader.memory(which))?)
}

/// Returns all notes; none where there is no state.
pub(super) fn notes(host: &Host) -> Result<Vec<MemoryNote>, CommandError> {
    Ok(reader(host)?.map_or_else(|| Ok(Vec::new()), |reader| reader.notes())?)
}

/// Opens the state to read memory; `None` where there is none.
pub(super) fn reader(host: &Host) -> Result<Option<StoreReader>, CommandError> {
    Ok(allow_no_state(StoreReader::open(&host.workspace().state))?)
}

/// Opens the state to change memory.
pub(super) fn store(host: &Host) -> Result<Store, CommandError> {
    let state = host.workspace().state;
    Ok(Store::open(&state, StoreDurability::Full, host.clock())?)
}

/// Returns the megram whose id begins with this.
pub(super) fn find_megram(host: &Host, start: &str) -> Result<Megram, CommandError> {
    let all = if start.is_empty() { Vec::new() } else { rows(host, &MegramSelection::Id(start.into()))? };
    only_one(all, |megram| megram.id).map_err(|ids| not_one("megram", "wf memory list", start, &ids))
}

/// Returns the note whose id begins with this.
pub fn find_note(host: &Host, start: &str) -> Result<MemoryNote, CommandError> {
    let mut all = notes(host)?;
    all.retain(|note| !start.is_empty() && note.id.to_string().starts_with(start));
    only_one(all, |note| note.id).map_err(|ids| not_one("note", "wf memory search", start, &ids))
}

/// Returns the megram or the note whose id begins with this.
pub(super) fn find_entry(host: &Host, start: &str) -> Result<MemoryBundle, CommandError> {
    let mut found = MemoryBundle::default();
    if !start.is_empty() {
        found.megrams = rows(host, &MegramSelection::Id(start.into()))?;
        found.notes = notes(host)?;
        found.notes.retain(|note| note.id.to_string().starts_with(start));
    }
    let ids = found.megrams.iter().map(|megram| megram.id).chain(found.notes.iter().map(|note| note.id));
    let ids: Vec<String> = ids.map(|id| id.short()).collect();
    let listing = "wf memory list, wf memory search";
    if ids.len() == 1 { Ok(found) } else { Err(not_one("memory record", listing, start, &ids)) }
}

/// Returns the only entry; fails with the ids of all of them.
fn only_one<T>(mut all: Vec<T>, id: fn(&T) -> Sha256Digest) -> Result<T, Vec<String>> {
    let ids = all.iter().map(|one| id(one).short()).collect();
    let last = all.pop();
    if all.is_empty() { last.ok_or(ids) } else { Err(ids) }
}

fn not_one(kind: &str, listing: &str, start: &str, ids: &[String]) -> CommandError {
    if ids.is_empty() {
        let message = format!("no {kind} has the id `{start}`");
        return CommandError::new(CliExitCode::Usage, message).hint(format!("for their ids: {listing}"));
    }
    let message = format!("`{start}` is ambiguous: it matches {} {kind}s", ids.len());
    let hint = format!("use more digits; it matches {}", ids.join(", "));
    CommandError::new(CliExitCode::Usage, message).hint(hint)
}

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
    MegramTags::parse(space, entity).map_err(|bad| CommandError::new(CliExitCode::Usage, bad.to_string()))
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

/// The word for a megram that is a rule or a law.
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
