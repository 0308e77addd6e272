//! Slots as text and as JSON.

use anstyle::Style;
use serde::Serialize;

use crate::report::{Align, DIM, NAME, Table, WARN};
use crate::schedule::{Change, DstNote, Slot, Timing, Zone};
use crate::time::{Moment, format_duration};

/// A slot for programs.
#[derive(Serialize)]
struct Line<'a> {
    slot: String,
    utc: Moment,
    dst: Option<DstNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<&'a str>,
}

/// A slot as one line of JSON.
pub(super) fn line(timing: &Timing, slot: &Slot) -> String {
    let zone = timing.zone_of(slot);
    let line = Line {
        slot: zone.local(slot.at).to_string(),
        utc: slot.at,
        dst: slot.note,
        excluded: slot.excluded.as_deref(),
    };
    format!("{}\n", serde_json::to_string(&line).unwrap_or_default())
}

/// Slots as a table: when in UTC and in the zone of their rule, and what is special about them. Where
/// rules have several zones, each slot names its own.
pub(super) fn table(timing: &Timing, slots: impl Iterator<Item = Slot>) -> String {
    let left = |name| (name, Align::Left);
    let one = timing.one_zone();
    let name = one.map_or("local", Zone::name);
    let mut table = Table::new(&[left("UTC"), left(name), left("")]);
    for slot in slots {
        let zone = timing.zone_of(&slot);
        let utc = slot.at.to_string().replace(".000Z", "Z");
        let remark = remark(zone, &slot);
        table.row(vec![
            (utc, NAME),
            (local(timing, zone, slot.at), Style::new()),
            (remark, if slot.excluded.is_some() { DIM } else { WARN }),
        ]);
    }
    table.render()
}

/// What clocks of a zone of a timing show at an instant; with its name where there are several.
pub fn local(timing: &Timing, zone: &Zone, at: Moment) -> String {
    let local = zone.local(at);
    match timing.one_zone() {
        Some(_) => local.to_string(),
        None => format!("{local} {zone}"),
    }
}

/// What is special about a slot, in words.
fn remark(zone: &Zone, slot: &Slot) -> String {
    let time = zone.local(slot.at).civil.time;
    let note = slot.note.map(|note| match note {
        DstNote::AtTransition => "in place of a time that clocks pass over".into(),
        DstNote::FirstPass => format!("first {time}"),
        DstNote::SecondPass => format!("second {time}"),
    });
    let change = zone.change_on(slot.at).map(|change| told(zone, change));
    let parts = [slot.excluded.clone(), note, change];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// A change of clocks, in words.
fn told(zone: &Zone, change: Change) -> String {
    let way = if change.by > 0 { "forward" } else { "back" };
    let by = std::time::Duration::from_secs(change.by.unsigned_abs());
    let to = zone.local(change.at).civil.time;
    format!("clocks go {way} {} to {to}", format_duration(by))
}
