//! The last ninety days of a goal, each by the worst that happened.

use serde::Serialize;

use wf_base::time::Moment;
use wf_model::schedule::GoalSchedule;
use wf_report::draw::{StripCell, state_strip};
use wf_store::SlotTally;

use super::{
    days::calendar_zone,
    hours::HourTable,
    month::{DAY, date_text, day_number},
};

/// The days that are shown.
const DAYS: i64 = 90;

/// The last days of a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecentDays {
    /// The days as a picture; each leads to its month.
    pub svg: Option<String>,
    /// The same in words, newest first: the days with slots.
    pub days: Vec<RecentDay>,
    /// The first day and the last one.
    pub first: String,
    pub last: String,
}

/// A day with slots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecentDay {
    pub date: String,
    /// The worst state of its slots.
    pub state: String,
    /// Its slots by state.
    pub words: String,
}

/// Returns the time of the last days of a goal, in its zone and a little more.
pub(in crate::views) fn recent_span(now: Moment) -> (Moment, Moment) {
    let today = now.millis().div_euclid(DAY);
    (Moment::from_millis((today - DAYS - 1) * DAY), Moment::from_millis((today + 2) * DAY))
}

/// Returns the last days of a goal. The tallies are those of the ledger in [`recent_span`].
pub(in crate::views) fn recent_days(
    schedule: &GoalSchedule,
    now: Moment,
    tallies: &[SlotTally],
    recorded_since: Option<Moment>,
) -> Option<RecentDays> {
    let zone = calendar_zone(schedule);
    let mut table = HourTable::new(schedule, zone, now, recorded_since);
    let (from, until) = recent_span(now);
    table.add_hours(from, until);
    for tally in tallies {
        table.add_tally(tally);
    }
    let today = day_number(zone.local(now).to_string().get(..10)?)?;
    let dated = |day: i64| Some((date_text(day), table.past_day(day)?));
    let cells: Vec<_> = (today - DAYS + 1..=today).filter_map(dated).collect();
    let strip_cells: Vec<StripCell> = cells
        .iter()
        .map(|(date, cell)| StripCell {
            state: cell.state.clone(),
            words: format!("{date}: {}", cell.words),
            link: date.get(..7).map(|month| format!("?month={month}#calendar")),
        })
        .collect();
    let days = cells.iter().rev().filter(|(_, cell)| cell.has_slots()).map(|(date, cell)| RecentDay {
        date: date.clone(),
        state: cell.state.clone(),
        words: cell.words.clone(),
    });
    Some(RecentDays {
        svg: state_strip("The last 90 days, oldest first", &strip_cells),
        days: days.collect(),
        first: cells.first()?.0.clone(),
        last: cells.last()?.0.clone(),
    })
}
