//! Scheduled times as text and as JSON.

use anstyle::Style;
use serde::Serialize;

use wf_base::{
    time::{Moment, format_duration},
    untrusted::{DIM, NAME, WARN},
};
use wf_model::schedule::{ClockChange, DstNote, GoalSchedule, ScheduleZone, Slot};
use wf_report::{ColumnAlign, TextTable};

/// A scheduled time for programs.
#[derive(Serialize)]
struct SlotLine<'a> {
    slot: String,
    utc: Moment,
    dst: Option<DstNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excluded: Option<&'a str>,
}

/// A scheduled time as one line of JSON.
pub(super) fn line(schedule: &GoalSchedule, slot: &Slot) -> String {
    let zone = schedule.zone_of(slot);
    let line = SlotLine {
        slot: zone.local(slot.at).to_string(),
        utc: slot.at,
        dst: slot.note,
        excluded: slot.excluded.as_deref(),
    };
    format!("{}\n", serde_json::to_string(&line).unwrap_or_default())
}

/// Scheduled times as a table: the time in UTC and in the zone of their rule, and remarks. Where
/// rules have several zones, each line names its own.
pub(super) fn table(schedule: &GoalSchedule, slots: impl Iterator<Item = Slot>) -> String {
    let left = |name| (name, ColumnAlign::Left);
    let single_zone = schedule.one_zone();
    let name = single_zone.map_or("local", ScheduleZone::name);
    let mut table = TextTable::new(&[left("UTC"), left(name), left("")]);
    for slot in slots {
        let zone = schedule.zone_of(&slot);
        let utc = slot.at.to_string().replace(".000Z", "Z");
        let remark = remark(zone, &slot);
        table.row(vec![
            (utc, NAME),
            (local(schedule, zone, slot.at), Style::new()),
            (remark, if slot.excluded.is_some() { DIM } else { WARN }),
        ]);
    }
    table.render()
}

/// The local time in a zone of a timing at an instant; with the zone's name where there are several.
pub fn local(schedule: &GoalSchedule, zone: &ScheduleZone, at: Moment) -> String {
    let local = zone.local(at);
    match schedule.one_zone() {
        Some(_) => local.to_string(),
        None => format!("{local} {zone}"),
    }
}

/// The remark on a scheduled time, in words.
fn remark(zone: &ScheduleZone, slot: &Slot) -> String {
    let time = zone.local(slot.at).clock_time();
    let note = slot.note.map(|note| match note {
        DstNote::AtTransition => "replaces a time skipped by the clock change".into(),
        DstNote::FirstPass => format!("first {time}"),
        DstNote::SecondPass => format!("second {time}"),
    });
    let change = zone.change_on(slot.at).map(|change| clock_change_text(zone, change));
    let parts = [slot.excluded.clone(), note, change];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// A clock change, in words.
fn clock_change_text(zone: &ScheduleZone, change: ClockChange) -> String {
    let direction = if change.by > 0 { "forward" } else { "back" };
    let by = std::time::Duration::from_secs(change.by.unsigned_abs());
    let to = zone.local(change.at).clock_time();
    format!("clocks go {direction} {} to {to}", format_duration(by))
}
