//! A week of all goals on one axis, in UTC: their zones may differ.

use serde::Serialize;

use super::{
    days::calendar_zone,
    hours::{HourCell, HourTable},
    month::{DAY, date_text, day_number, monday_before},
    read::SlotLedger,
};
use crate::{
    Caller, CommandError,
    views::{GoalListing, StateReader, goals::goal_listings_of, state_reader},
};
use wf_base::time::Moment;
use wf_model::{Goal, schedule::ScheduleZone};
use wf_report::draw::{WEEK_HOURS, WeekMark, WeekRow, week_svg};

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The first Monday that is shown, in days since the epoch.
const FIRST_MONDAY: i64 = 4;

/// The most hours of a day that are told one by one.
const TOLD_HOURS: usize = 4;

/// The most goals of a page.
const MAX_GOALS: usize = 100;

/// A week of all goals.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct WeekView {
    /// Its Monday: `2026-11-23`.
    pub week: String,
    /// The Monday before; absent: that week cannot be shown.
    pub earlier: Option<String>,
    pub later: Option<String>,
    /// Its days: `Mon 23`.
    pub days: Vec<String>,
    pub svg: Option<String>,
    /// The same in words.
    pub goals: Vec<WeekOfGoal>,
    /// The number of goals that are not shown.
    pub more: usize,
    /// The number of files that cannot be read as goals.
    pub broken: usize,
}

/// A week of a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WeekOfGoal {
    pub id: String,
    pub title: Option<String>,
    /// The zone of its times.
    pub zone: String,
    /// True if it is paused: what is planned does not start.
    pub is_paused: bool,
    /// Its days: each with its slots by state.
    pub days: Vec<HourCell>,
}

/// True if a text names a week: a date in it, or nothing, for the present one.
pub fn is_week(date: &str) -> bool {
    date.is_empty() || day_number(date).is_some()
}

/// Returns the week with a day, by default the present one.
pub fn week_view(caller: &dyn Caller, date: &str) -> Result<WeekView, CommandError> {
    let reader = state_reader(caller)?;
    let store = reader.as_ref().map(StateReader::store);
    let now = caller.host().now();
    let (week, utc) = (Week::of(date, now), ScheduleZone::utc());
    let listings = goal_listings_of(caller, store)?;
    let (mut goals, mut rows, mut broken) = (Vec::new(), Vec::new(), 0);
    for listing in &listings {
        match &listing.file.goal {
            Err(_) => broken += 1,
            Ok(_) if goals.len() == MAX_GOALS => {}
            Ok(goal) => {
                let mut table = HourTable::new(&goal.timing, &utc, now, None);
                week.fill(&mut table, &SlotLedger { reader: store, goal: &goal.id })?;
                rows.push(week.row(goal, &table));
                goals.push(week.of_goal(listing, goal, &table));
            }
        }
    }
    let days: Vec<String> = week.days();
    let monday = |first: i64| Some(date_text(first)).filter(|date| day_number(date).is_some());
    Ok(WeekView {
        week: date_text(week.first),
        earlier: monday(week.first - 7),
        later: monday(week.first + 7),
        svg: week_svg(&days, &rows, week.hour_at(now)),
        days,
        more: listings.len() - broken - goals.len(),
        goals,
        broken,
    })
}

/// A week by the number of its Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Week {
    first: i64,
}

impl Week {
    fn of(date: &str, now: Moment) -> Self {
        let day = day_number(date).unwrap_or_else(|| now.millis().div_euclid(DAY));
        Self { first: monday_before(day).max(FIRST_MONDAY) }
    }

    fn days(self) -> Vec<String> {
        let named = |(at, name): (i64, &&str)| format!("{name} {}", &date_text(self.first + at)[8..]);
        (0..7).zip(&DAYS).map(named).collect()
    }

    /// Returns the hour of the week that an instant is in.
    fn hour_at(self, at: Moment) -> Option<usize> {
        let hour = (at.millis() - self.first * DAY).div_euclid(DAY / 24);
        usize::try_from(hour).ok().filter(|hour| *hour < WEEK_HOURS)
    }

    /// Fills the hours of a goal.
    fn fill(self, table: &mut HourTable<'_>, ledger: &SlotLedger<'_>) -> Result<(), CommandError> {
        let (from, until) =
            (Moment::from_millis(self.first * DAY), Moment::from_millis((self.first + 7) * DAY));
        table.note_first_record(ledger.first()?);
        table.add_hours(from, until);
        for tally in ledger.tallies(from, until)? {
            table.add_tally(&tally);
        }
        table.add_planned(until);
        Ok(())
    }

    /// Returns the row of a goal: hours in a row with the same state are one mark.
    fn row(self, goal: &Goal, table: &HourTable<'_>) -> WeekRow {
        let mut marks: Vec<WeekMark> = Vec::new();
        let hours = (0..7).flat_map(|day| table.hours(self.first + day));
        for (at, cell) in hours.enumerate().filter(|(_, cell)| cell.has_slots()) {
            match marks.last_mut().filter(|mark| mark.until == at && mark.state == cell.state) {
                Some(mark) => mark.until = at + 1,
                None => {
                    marks.push(WeekMark { from: at, until: at + 1, state: cell.state, words: cell.words });
                }
            }
        }
        let days = self.days();
        for mark in &mut marks {
            let day = days.get(mark.from / 24).map_or("", String::as_str);
            let hour = mark.from % 24;
            let length = mark.until - mark.from;
            mark.words = match length {
                1 => format!("{day}, {hour}:00 UTC: {}", mark.words),
                _ => format!("{day}, {hour}:00 UTC, {length} hours: {}", mark.state),
            };
        }
        let name = goal.title.clone().unwrap_or_else(|| goal.id.to_string());
        WeekRow { name, link: format!("/goals/{}", goal.id), marks }
    }

    /// Returns the week of a goal in words.
    fn of_goal(self, listing: &GoalListing, goal: &Goal, table: &HourTable<'_>) -> WeekOfGoal {
        let days = (self.first..self.first + 7).map(|day| {
            let whole = table.whole_day(day).unwrap_or_default();
            HourCell { words: day_words(&table.hours(day), &whole), ..whole }
        });
        WeekOfGoal {
            id: goal.id.to_string(),
            title: goal.title.clone(),
            zone: calendar_zone(&goal.timing).name().to_owned(),
            is_paused: listing.is_paused(),
            days: days.collect(),
        }
    }
}

/// Returns a day in words: its hours one by one, or the first, the last and all that is in between.
fn day_words(hours: &[HourCell], whole: &HourCell) -> String {
    let told: Vec<(usize, &HourCell)> =
        hours.iter().enumerate().filter(|(_, cell)| cell.has_slots()).collect();
    match (told.first(), told.last()) {
        (Some((first, _)), Some((last, _))) if told.len() > TOLD_HOURS => {
            format!("{first} h to {last} h: {}", whole.words)
        }
        (Some(_), _) => {
            let hours = told.iter().map(|(hour, cell)| format!("{hour} h: {}", cell.words));
            hours.collect::<Vec<_>>().join("; ")
        }
        _ => whole.words.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::{HourCell, Week, day_words};
    use wf_base::time::Moment;

    #[test]
    fn a_week_begins_on_its_monday_and_no_week_is_beyond_the_calendar() {
        let now = Moment::parse("2026-11-28T12:00:00Z").unwrap();
        for (date, monday) in
            [("", 20_780), ("2026-11-23", 20_780), ("2026-11-22", 20_773), ("1970-01-01", 4), ("x", 20_780)]
        {
            assert_eq!(Week::of(date, now).first, monday, "{date}");
        }
        let week = Week::of("", now);
        assert_eq!(week.days(), ["Mon 23", "Tue 24", "Wed 25", "Thu 26", "Fri 27", "Sat 28", "Sun 29"]);
        assert_eq!(week.hour_at(now), Some(5 * 24 + 12));
        assert_eq!(Week::of("2026-11-30", now).hour_at(now), None);
    }

    #[test]
    fn a_day_tells_its_hours_as_long_as_they_are_few() {
        let cell = |words: &str| HourCell { state: "planned".into(), words: words.into(), page: None };
        let hours = |count: usize| -> Vec<HourCell> {
            (0..24).map(|hour| if hour < count { cell("1 planned") } else { HourCell::default() }).collect()
        };
        assert_eq!(day_words(&hours(2), &cell("2 planned")), "0 h: 1 planned; 1 h: 1 planned");
        assert_eq!(day_words(&hours(24), &cell("24 planned")), "0 h to 23 h: 24 planned");
        assert_eq!(day_words(&hours(0), &cell("nothing is due")), "nothing is due");
    }
}
