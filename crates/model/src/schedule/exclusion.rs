use std::{
    fmt,
    ops::{Range, RangeInclusive},
};

use jiff::civil::{Date, DateTime};
use serde::{Deserialize, Serialize};
use wf_base::{keyword::Keyword, keywords};

use super::civil::{CivilDate, ClockTime, DAY};

keywords! {
    listed
    /// A day of the week.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Weekday {
        Mon = "MON",
        Tue = "TUE",
        Wed = "WED",
        Thu = "THU",
        Fri = "FRI",
        Sat = "SAT",
        Sun = "SUN",
    }
}

impl Weekday {
    /// Returns the day before.
    pub(super) fn previous_day(self) -> Self {
        Self::ALL.get((self as usize + 6) % 7).copied().unwrap_or(self)
    }

    /// Returns the day of the week of a date.
    pub(super) fn from_date(date: Date) -> Self {
        match date.weekday() {
            jiff::civil::Weekday::Sunday => Self::Sun,
            jiff::civil::Weekday::Monday => Self::Mon,
            jiff::civil::Weekday::Tuesday => Self::Tue,
            jiff::civil::Weekday::Wednesday => Self::Wed,
            jiff::civil::Weekday::Thursday => Self::Thu,
            jiff::civil::Weekday::Friday => Self::Fri,
            jiff::civil::Weekday::Saturday => Self::Sat,
        }
    }
}

/// Times when nothing is started, matched in the zone of a rule against the time it asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleExclusion {
    /// A whole day.
    Date(CivilDate),
    /// Whole days, the first and the last included.
    Dates {
        /// The first.
        from: CivilDate,
        /// The last.
        until: CivilDate,
    },
    /// A window on every day, or on some.
    Daily {
        /// The start.
        from: ClockTime,
        /// The end; that instant is outside. If it is not after `from`, it is on the next day; so a
        /// window from a time to the same time lasts 24 hours.
        until: ClockTime,
        /// The days on which the window starts; every day if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        on: Vec<Weekday>,
    },
}

impl ScheduleExclusion {
    /// True if it excludes this clock time.
    pub(super) fn covers(&self, at: DateTime) -> bool {
        let second = ClockTime::from(at.time()).seconds();
        let mut windows = self.windows(Weekday::from_date(at.date())).into_iter().flatten();
        self.dates().is_some_and(|dates| dates.contains(&at.date()))
            || windows.any(|window| window.contains(&second))
    }

    /// Returns the dates it excludes whole.
    pub(super) fn dates(&self) -> Option<RangeInclusive<Date>> {
        match self {
            Self::Date(date) => Some(date.0..=date.0),
            Self::Dates { from, until } => Some(from.0..=until.0),
            Self::Daily { .. } => None,
        }
    }

    /// Returns the windows that reach into a day, in seconds from its midnight: the one starting on this day,
    /// and the one started on the day before.
    pub(super) fn windows(&self, weekday: Weekday) -> [Option<Range<i32>>; 2] {
        let Self::Daily { from, until, on } = self else {
            return [None, None];
        };
        let (from, until) = (from.seconds(), until.seconds());
        let until = if until > from { until } else { until + DAY };
        let window = |weekday: Weekday, ago: i32| {
            (on.is_empty() || on.contains(&weekday)).then_some(from - ago..until - ago)
        };
        [window(weekday, 0), window(weekday.previous_day(), DAY)]
    }
}

/// Describes the exclusion in words.
impl fmt::Display for ScheduleExclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date(date) => write!(f, "{date} is excluded"),
            Self::Dates { from, until } => write!(f, "{from} to {until} is excluded"),
            Self::Daily { from, until, on } => {
                write!(f, "{from} to {until}")?;
                for (at, day) in on.iter().enumerate() {
                    let before = if at == 0 { " on" } else { "," };
                    write!(f, "{before} {}", day.as_str().to_lowercase())?;
                }
                f.write_str(" is excluded")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ScheduleExclusion, Weekday};
    use crate::schedule::CivilDateTime;

    fn covers(exclusion: &ScheduleExclusion, at: &str) -> bool {
        exclusion.covers(at.parse::<CivilDateTime>().unwrap().0)
    }

    fn daily(from: &str, until: &str, on: &[Weekday]) -> ScheduleExclusion {
        ScheduleExclusion::Daily {
            from: from.parse().unwrap(),
            until: until.parse().unwrap(),
            on: on.to_vec(),
        }
    }

    #[test]
    fn days_are_excluded_whole() {
        let day = ScheduleExclusion::Date("2026-12-25".parse().unwrap());
        assert!(covers(&day, "2026-12-25T00:00") && covers(&day, "2026-12-25T23:59:59"));
        assert!(!covers(&day, "2026-12-24T23:59:59") && !covers(&day, "2026-12-26T00:00"));
        let days = ScheduleExclusion::Dates {
            from: "2026-12-24".parse().unwrap(),
            until: "2027-01-01".parse().unwrap(),
        };
        assert!(covers(&days, "2026-12-24T00:00") && covers(&days, "2027-01-01T23:59"));
        assert!(!covers(&days, "2026-12-23T23:59") && !covers(&days, "2027-01-02T00:00"));
    }

    #[test]
    fn a_window_may_go_over_midnight() {
        let night = daily("22:00", "06:00", &[]);
        for (at, inside) in
            [("21:59:59", false), ("22:00", true), ("00:00", true), ("05:59:59", true), ("06:00", false)]
        {
            assert_eq!(covers(&night, &format!("2026-12-01T{at}")), inside, "{at}");
        }
        // 2026-12-04 is a Friday: its night includes the morning of Saturday, not its own.
        let friday = daily("22:00", "06:00", &[Weekday::Fri]);
        assert!(covers(&friday, "2026-12-04T22:00") && covers(&friday, "2026-12-05T05:00"));
        assert!(!covers(&friday, "2026-12-04T05:00") && !covers(&friday, "2026-12-05T22:00"));
        let weekend = daily("00:00", "24:00", &[Weekday::Sat, Weekday::Sun]);
        assert!(covers(&weekend, "2026-12-05T00:00") && covers(&weekend, "2026-12-06T23:59"));
        assert!(!covers(&weekend, "2026-12-07T00:00"));
        assert!(covers(&daily("09:00", "09:00", &[]), "2026-12-05T08:59"));
    }

    #[test]
    fn they_say_what_they_exclude_and_are_read_back() {
        let friday = daily("22:00", "06:00", &[Weekday::Fri, Weekday::Sat]);
        assert_eq!(friday.to_string(), "22:00 to 06:00 on fri, sat is excluded");
        let text = serde_json::to_string(&friday).unwrap();
        let written = r#"{"daily":{"from":"22:00","until":"06:00","on":["fri","sat"]}}"#;
        assert_eq!(text, written);
        assert_eq!(serde_json::from_str::<ScheduleExclusion>(&text).unwrap(), friday);
    }
}
