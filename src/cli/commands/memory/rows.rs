//! What the commands about memory share: reading it, and how a megram is shown.

use anstyle::Style;

use crate::cli::{Exit, Failure, Ui};
use crate::memory::{Action, Level, Megram, Potentials, Sense, Tags};
use crate::report::{Align, BAD, DIM, GOOD, NAME, Table, WARN, fit, moment};
use crate::store::{Durability, Reader, Store, StoreError, Which};
use crate::untrusted::untrusted;

/// How much of a content a line shows, in characters.
const WIDTH: usize = 60;

/// What is remembered; nothing where there is no state.
pub(super) fn rows(ui: &Ui, which: &Which) -> Result<Vec<Megram>, Failure> {
    match Reader::open(&ui.workspace().state) {
        Ok(reader) => Ok(reader.memory(which)?),
        Err(StoreError::NoState(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Opens the state to change what is remembered.
pub(super) fn store(ui: &Ui) -> Result<Store, Failure> {
    let state = ui.workspace().state;
    Ok(Store::open(&state, Durability::Full, ui.env.clock())?)
}

/// The megram whose id begins so.
pub(super) fn found(ui: &Ui, start: &str) -> Result<Megram, Failure> {
    let mut all = if start.is_empty() {
        Vec::new()
    } else {
        rows(ui, &Which::Id(start.into()))?
    };
    let first = all.pop();
    match (first, all.as_slice()) {
        (Some(megram), []) => Ok(megram),
        (Some(megram), _) => {
            let ids = all.iter().chain([&megram]).map(|one| one.id.short());
            let ids: Vec<String> = ids.collect();
            let message = format!("`{start}` begins the ids of {} megrams", ids.len());
            let hint = format!("give more of it: {}", ids.join(", "));
            Err(Failure::new(Exit::Usage, message).hint(hint))
        }
        (None, _) => {
            let message = format!("no megram is called `{start}`");
            Err(Failure::new(Exit::Usage, message).hint("`wf memory list` has their ids"))
        }
    }
}

/// A tag as somebody gave it.
pub(super) fn tags(space: &str, entity: &str) -> Result<Tags, Failure> {
    Tags::parse(space, entity).map_err(|bad| Failure::new(Exit::Usage, bad.to_string()))
}

/// A table of megrams.
pub(super) fn table(megrams: &[Megram]) -> String {
    let left = |name| (name, Align::Left);
    let mut table = Table::new(&[
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
            (short(&megram.content), plain),
        ]);
    }
    table.render()
}

/// A text on one line, safe to look at.
pub(super) fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    untrusted(&words.join(" ")).to_string()
}

/// The same, without its end if it is long.
pub(super) fn short(text: &str) -> String {
    fit(&line(text), WIDTH)
}

/// How an action looks.
pub(super) fn style(action: Action) -> Style {
    match action {
        Action::Ignore => DIM,
        Action::Exploit => GOOD,
        Action::Avoid => BAD,
        Action::Caution => WARN,
    }
}

/// The word for what does not fade.
pub(super) fn standing(megram: &Megram) -> &'static str {
    match megram.level {
        Level::Thinking => "law",
        _ => megram.sense().map_or("", Sense::as_str),
    }
}

/// A sum with its sign.
pub(super) fn signed(number: f64) -> String {
    // What rounds to nothing has no sign.
    let rounded = (number * 100.0).round() / 100.0 + 0.0;
    format!("{rounded:+.2}")
}

/// The two sums, for a program.
pub(super) fn sums(known: &Potentials) -> serde_json::Value {
    serde_json::json!({ "attention": known.attention, "decision": known.decision })
}

/// A document for a program.
pub(super) fn document(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}
