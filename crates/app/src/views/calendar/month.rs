//! Months and days by their numbers, as calendars count them.

use wf_base::time::Moment;

/// A day in milliseconds.
pub(super) const DAY: i64 = 24 * 60 * 60 * 1000;

/// A number of a month since the year 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MonthNumber(i64);

impl MonthNumber {
    /// The first month that a calendar shows.
    pub const FIRST: Self = Self(1970 * 12);

    /// Reads `2026-11`; `None` if it is no month of the years 1970 to 9998.
    pub fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let (year, month): (i64, i64) = (year.parse().ok()?, month.parse().ok()?);
        ((1970..9999).contains(&year) && (1..=12).contains(&month)).then(|| Self(year * 12 + month - 1))
    }

    pub fn text(self) -> String {
        format!("{:04}-{:02}", self.0.div_euclid(12), self.0.rem_euclid(12) + 1)
    }

    /// Returns the month before; `None`: no calendar shows it.
    pub fn before(self) -> Option<Self> {
        Self::parse(&Self(self.0 - 1).text())
    }

    /// Returns the month after; `None`: no calendar shows it.
    pub fn after(self) -> Option<Self> {
        Self::parse(&Self(self.0 + 1).text())
    }

    /// Returns the days from the epoch to the first day.
    pub fn first_day(self) -> i64 {
        // Years begin in March, so that a leap day is the last one.
        let (year, month) = (self.0.div_euclid(12), self.0.rem_euclid(12) + 1);
        let year = if month <= 2 { year - 1 } else { year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * ((month + 9) % 12) + 2) / 5;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    pub fn length(self) -> i64 {
        Self(self.0 + 1).first_day() - self.first_day()
    }
}

/// Returns the days from the epoch to a date: `2026-11-28`; `None` if it is no date of the years 1970 to 9998.
pub(super) fn day_number(date: &str) -> Option<i64> {
    let month = MonthNumber::parse(date.get(..7)?)?;
    let day: i64 = date.strip_prefix(&month.text())?.strip_prefix('-')?.parse().ok()?;
    (1..=month.length()).contains(&day).then(|| month.first_day() + day - 1)
}

/// Returns the number of the Monday of a day.
pub(super) fn monday_before(day: i64) -> i64 {
    // The first day of the epoch was a Thursday.
    day - (day + 3).rem_euclid(7)
}

/// Returns the days from the epoch to the Monday of the week that an instant is in, in UTC.
pub(in crate::views) fn monday_of(at: Moment) -> i64 {
    monday_before(at.millis().div_euclid(DAY))
}

/// Returns the date of a day since the epoch.
pub(in crate::views) fn date_text(day: i64) -> String {
    let text = Moment::from_millis(day.saturating_mul(DAY)).to_string();
    text.get(..10).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{MonthNumber, date_text, day_number};

    #[test]
    fn what_is_no_month_is_none_however_long() {
        for text in
            ["2026-13", "2026-9223372036854775807", "9223372036854775807-1", "1-9223372036854775807", "x", ""]
        {
            assert_eq!(MonthNumber::parse(text), None, "{text}");
        }
        assert_eq!(MonthNumber::parse("2026-11").map(MonthNumber::text), Some("2026-11".into()));
    }

    #[test]
    fn no_month_leads_to_one_that_is_not_shown() {
        let beside = |text: &str| {
            let month = MonthNumber::parse(text).unwrap();
            (month.before().map(MonthNumber::text), month.after().map(MonthNumber::text))
        };
        assert_eq!(beside("1970-01"), (None, Some("1970-02".into())));
        assert_eq!(beside("9998-12"), (Some("9998-11".into()), None));
        assert_eq!(beside("2026-12"), (Some("2026-11".into()), Some("2027-01".into())));
    }

    #[test]
    fn a_date_has_a_number_and_a_number_a_date() {
        for date in ["1970-01-01", "2024-02-29", "2026-11-28", "9998-12-31"] {
            assert_eq!(day_number(date).map(date_text).as_deref(), Some(date));
        }
        for text in ["2026-02-29", "2026-11-31", "2026-11-00", "2026-11-", "2026-11", "x"] {
            assert_eq!(day_number(text), None, "{text}");
        }
    }
}
