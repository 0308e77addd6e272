//! Zones of the IANA database: that of the system, or else the built-in one.

use std::{fmt, str::FromStr};

use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{Offset, TimeZone, TimeZoneDatabase, TimeZoneTransition, db},
};
use wf_base::text_form;

use super::ClockTime;
use wf_base::time::Moment;

/// The range of seconds since the epoch supported by schedules: the years 1 to 9999 in every zone.
pub(super) const FIRST: i64 = -62_135_510_400;
pub(super) const LAST: i64 = 253_402_128_000;

/// A name that is not a zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown time zone `{name}`")]
pub struct BadZone {
    /// The name asked for.
    pub name: String,
    /// The name probably meant.
    pub nearest: Option<String>,
}

/// A zone: the offset of its clocks from UTC, and its changes.
#[derive(Clone)]
pub struct ScheduleZone {
    name: String,
    pub(super) clocks: TimeZone,
}

/// A time as the clocks of a zone show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedTime {
    civil: DateTime,
    offset: Offset,
}

/// A clock change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockChange {
    pub at: Moment,
    /// The number of seconds; forward is positive.
    pub by: i64,
}

impl ZonedTime {
    /// Returns the time of day.
    pub fn clock_time(&self) -> ClockTime {
        self.civil.time().into()
    }
}

impl ScheduleZone {
    /// Finds a zone by its name, like `Europe/Berlin`, in any case of letters.
    pub fn parse(name: &str) -> Result<Self, BadZone> {
        let time_zone = db().get(name).or_else(|_| TimeZoneDatabase::bundled().get(name));
        match time_zone {
            Ok(zone) => Ok(Self { name: zone.iana_name().unwrap_or(name).to_owned(), clocks: zone }),
            Err(_) => Err(BadZone { name: name.to_owned(), nearest: nearest(name) }),
        }
    }

    /// Returns the zone without clock changes.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), clocks: TimeZone::UTC }
    }

    /// Returns its name in the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of all zones, in order.
    pub fn names() -> Vec<String> {
        let bundled = TimeZoneDatabase::bundled();
        let mut names: Vec<String> =
            db().available().chain(bundled.available()).map(|name| name.as_str().to_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns the clock time at an instant, in whole seconds.
    pub fn local(&self, at: Moment) -> ZonedTime {
        let at = timestamp(at.millis().div_euclid(1_000));
        let offset = self.clocks.to_offset(at);
        ZonedTime { civil: offset.to_datetime(at), offset }
    }

    /// Returns the clock change on the local day of this instant.
    pub fn change_on(&self, at: Moment) -> Option<ClockChange> {
        let day = self.local(at).civil.date();
        let second = at.millis().div_euclid(1_000);
        let before =
            self.clocks.preceding(timestamp(second + 1)).find_map(|transition| self.change(&transition));
        let after = self.clocks.following(timestamp(second)).find_map(|one| self.change(&one));
        [before, after].into_iter().flatten().find(|change| {
            let second = change.at.millis() / 1_000;
            let (old, new) = (timestamp(second - 1), timestamp(second));
            let old = self.clocks.to_offset(old).to_datetime(new);
            [old, self.clocks.to_datetime(new)].iter().any(|local| local.date() == day)
        })
    }

    /// Returns the clock change of a transition; none if the offset stays as it was.
    fn change(&self, transition: &TimeZoneTransition<'_>) -> Option<ClockChange> {
        let at = transition.timestamp().as_second();
        let by = transition.offset().seconds() - self.clocks.to_offset(timestamp(at - 1)).seconds();
        (by != 0).then(|| ClockChange { at: Moment::from_millis(at * 1_000), by: by.into() })
    }
}

/// Returns the timestamp of a second since the epoch; out of range, the nearest.
pub(super) fn timestamp(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds.clamp(FIRST - 4 * 86_400, LAST)).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the existing name nearest to a name.
fn nearest(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase().replace(' ', "_");
    let limit = (lower.chars().count() / 3).clamp(1, 4);
    let names = ScheduleZone::names();
    let city = |name: &String| name.to_ascii_lowercase().ends_with(&format!("/{lower}"));
    if let Some(same_city) = names.iter().find(|name| city(name)) {
        return Some(same_city.clone());
    }
    names
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, nearest_name)| nearest_name)
}

impl PartialEq for ScheduleZone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ScheduleZone {}

impl fmt::Debug for ScheduleZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}

impl fmt::Display for ScheduleZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl FromStr for ScheduleZone {
    type Err = BadZone;

    fn from_str(name: &str) -> Result<Self, BadZone> {
        Self::parse(name)
    }
}

text_form!(ScheduleZone);

/// Writes RFC 3339 with the offset of the zone: `2026-03-29T03:00:00+02:00`. The seconds of an
/// offset that has some (local mean times before 1972) are left out, as the RFC demands.
impl fmt::Display for ZonedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.offset.is_negative() { '-' } else { '+' };
        let minutes = self.offset.seconds().abs() / 60;
        write!(f, "{}{sign}{:02}:{:02}", self.civil, minutes / 60, minutes % 60)
    }
}
