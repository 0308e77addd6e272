//! Zones of the IANA database: that of the system, or else the built-in one.

use std::fmt;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase, db};
use serde::{Deserialize, Serialize};

use super::around::PeriodOverlaps;
use super::civil::{CivilDateTime, DAY};
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
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScheduleZone {
    name: String,
    clocks: TimeZone,
    /// The latest result about a stretch, shared by all clones of the zone.
    pub(super) latest: Arc<Mutex<Option<Arc<PeriodOverlaps>>>>,
}

/// A time as the clocks of a zone show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZonedTime {
    /// The clock time.
    pub civil: CivilDateTime,
    /// The offset from UTC, in seconds; east is positive.
    pub offset: i64,
}

/// A clock change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockChange {
    /// The instant.
    pub at: Moment,
    /// The number of seconds; forward is positive.
    pub by: i64,
}

/// A period without clock changes, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OffsetPeriod {
    /// The first second; [`i64::MIN`] if there is none.
    pub(super) from: i64,
    /// The second after its last; [`i64::MAX`] if it has none.
    pub(super) until: i64,
    /// The seconds that clocks are ahead of UTC.
    pub(super) offset: i64,
}

impl OffsetPeriod {
    /// Returns the clock times at its start and at its end.
    pub(super) fn local(&self) -> (i64, i64) {
        (self.from.saturating_add(self.offset), self.until.saturating_add(self.offset))
    }
}

impl ScheduleZone {
    /// Finds a zone by its name, like `Europe/Berlin`, in any case of letters.
    pub fn parse(name: &str) -> Result<Self, BadZone> {
        let found = db().get(name).or_else(|_| TimeZoneDatabase::bundled().get(name));
        match found {
            Ok(zone) => Ok(Self {
                name: zone.iana_name().unwrap_or(name).to_owned(),
                clocks: zone,
                latest: Arc::default(),
            }),
            Err(_) => Err(BadZone { name: name.to_owned(), nearest: nearest(name) }),
        }
    }

    /// Returns the zone without clock changes.
    pub fn utc() -> Self {
        Self { name: "UTC".into(), clocks: TimeZone::UTC, latest: Arc::default() }
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

    /// Returns the clock time at an instant.
    pub fn local(&self, at: Moment) -> ZonedTime {
        let seconds = at.millis().div_euclid(1_000);
        let offset = self.offset(seconds);
        let civil = CivilDateTime::of_seconds(seconds.saturating_add(offset));
        ZonedTime { civil, offset }
    }

    /// Returns the clock change on the local day of this instant.
    pub fn change_on(&self, at: Moment) -> Option<ClockChange> {
        let seconds = at.millis().div_euclid(1_000).clamp(FIRST, LAST);
        let here = self.stretch(seconds);
        let day = (seconds + here.offset).div_euclid(DAY);
        let change = |at: i64| {
            let before = self.offset(at - 1);
            let by = self.offset(at) - before;
            let days = [at + before, at + before + by];
            days.into_iter()
                .any(|local| local.div_euclid(DAY) == day)
                .then_some(ClockChange { at: Moment::from_millis(at * 1_000), by })
        };
        let edges = [here.from, here.until];
        edges.into_iter().filter(|at| *at > FIRST && *at < LAST).find_map(change)
    }

    /// Returns the seconds that clocks are ahead of UTC at a second since the epoch.
    pub(super) fn offset(&self, seconds: i64) -> i64 {
        i64::from(self.clocks.to_offset(timestamp(seconds)).seconds())
    }

    /// Returns the stretch that contains a second since the epoch.
    pub(super) fn stretch(&self, seconds: i64) -> OffsetPeriod {
        let offset = self.offset(seconds);
        let from = self
            .clocks
            .preceding(timestamp(seconds + 1))
            .map(|change| change.timestamp().as_second())
            .find(|at| self.offset(at - 1) != offset)
            .unwrap_or(i64::MIN);
        OffsetPeriod { from, until: self.end(seconds, offset), offset }
    }

    /// Returns the next stretch; none if this one has no end.
    pub(super) fn stretch_after(&self, stretch: &OffsetPeriod) -> Option<OffsetPeriod> {
        let from = stretch.until;
        if from == i64::MAX {
            return None;
        }
        let offset = self.offset(from);
        let until = self.end(from, offset);
        Some(OffsetPeriod { from, until, offset })
    }

    /// Returns the end of the offset that is valid at a second.
    fn end(&self, seconds: i64, offset: i64) -> i64 {
        self.clocks
            .following(timestamp(seconds))
            .find(|change| i64::from(change.offset().seconds()) != offset)
            .map_or(i64::MAX, |change| change.timestamp().as_second())
    }
}

/// Returns the timestamp of a second since the epoch; out of range, the nearest.
fn timestamp(seconds: i64) -> Timestamp {
    let seconds = seconds.clamp(FIRST - 4 * DAY, LAST);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Returns the existing name nearest to a name.
fn nearest(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase().replace(' ', "_");
    let limit = (lower.chars().count() / 3).clamp(1, 4);
    let names = ScheduleZone::names();
    let city = |name: &String| name.to_ascii_lowercase().ends_with(&format!("/{lower}"));
    if let Some(found) = names.iter().find(|name| city(name)) {
        return Some(found.clone());
    }
    names
        .into_iter()
        .map(|found| (strsim::damerau_levenshtein(&lower, &found.to_ascii_lowercase()), found))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, found)| found)
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

impl TryFrom<String> for ScheduleZone {
    type Error = BadZone;

    fn try_from(name: String) -> Result<Self, BadZone> {
        Self::parse(&name)
    }
}

impl From<ScheduleZone> for String {
    fn from(zone: ScheduleZone) -> Self {
        zone.name
    }
}

/// Writes RFC 3339 with the offset of the zone: `2026-03-29T03:00:00+02:00`. The seconds of an
/// offset that has some (local mean times before 1972) are left out, as the RFC demands.
impl fmt::Display for ZonedTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.civil.time.seconds();
        let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
        let sign = if self.offset < 0 { '-' } else { '+' };
        let minutes = self.offset.abs() / 60;
        write!(
            f,
            "{}T{hour:02}:{minute:02}:{second:02}{sign}{:02}:{:02}",
            self.civil.date,
            minutes / 60,
            minutes % 60,
        )
    }
}
