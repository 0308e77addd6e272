//! Zones of the IANA database: the one of the system, or else the one that is built in.

use std::fmt;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase, db};
use serde::{Deserialize, Serialize};

use super::around::Around;
use super::civil::{Civil, DAY};
use crate::time::Moment;

/// The seconds since the epoch between which schedules are looked at: the years 1 to 9999 in
/// every zone.
pub(super) const FIRST: i64 = -62_135_510_400;
pub(super) const LAST: i64 = 253_402_128_000;

/// No zone has such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no zone is called `{name}`")]
pub struct BadZone {
    /// What was asked for.
    pub name: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
}

/// A zone: how far clocks are from UTC, and when that changes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Zone {
    name: String,
    clocks: TimeZone,
    /// What was last found out about a stretch; the same answer for whoever asks.
    pub(super) latest: Arc<Mutex<Option<Arc<Around>>>>,
}

/// A time as clocks of a zone show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// What they show.
    pub civil: Civil,
    /// How far they are from UTC, in seconds; east is positive.
    pub offset: i64,
}

/// Clocks are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When.
    pub at: Moment,
    /// By how many seconds; forward is positive.
    pub by: i64,
}

/// A while in which clocks are not changed, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Its first second; [`i64::MIN`] if it has none.
    pub(super) from: i64,
    /// The second after its last; [`i64::MAX`] if it has none.
    pub(super) until: i64,
    /// Seconds that clocks are ahead of UTC.
    pub(super) offset: i64,
}

impl Stretch {
    /// What clocks show at its beginning and at its end.
    pub(super) fn local(&self) -> (i64, i64) {
        (
            self.from.saturating_add(self.offset),
            self.until.saturating_add(self.offset),
        )
    }
}

impl Zone {
    /// Finds a zone by its name, like `Europe/Berlin`; in any case of letters.
    pub fn parse(name: &str) -> Result<Self, BadZone> {
        let found = db()
            .get(name)
            .or_else(|_| TimeZoneDatabase::bundled().get(name));
        match found {
            Ok(zone) => Ok(Self {
                name: zone.iana_name().unwrap_or(name).to_owned(),
                clocks: zone,
                latest: Arc::default(),
            }),
            Err(_) => Err(BadZone {
                name: name.to_owned(),
                nearest: nearest(name),
            }),
        }
    }

    /// The zone without changes.
    pub fn utc() -> Self {
        Self {
            name: "UTC".into(),
            clocks: TimeZone::UTC,
            latest: Arc::default(),
        }
    }

    /// Its name in the database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of all zones, in order.
    pub fn names() -> Vec<String> {
        let bundled = TimeZoneDatabase::bundled();
        let mut names: Vec<String> = db()
            .available()
            .chain(bundled.available())
            .map(|name| name.as_str().to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// What its clocks show at an instant.
    pub fn local(&self, at: Moment) -> Local {
        let seconds = at.millis().div_euclid(1_000);
        let offset = self.offset(seconds);
        let civil = Civil::of_seconds(seconds.saturating_add(offset));
        Local { civil, offset }
    }

    /// The change of clocks that is on the same day there as this instant.
    pub fn change_on(&self, at: Moment) -> Option<Change> {
        let seconds = at.millis().div_euclid(1_000).clamp(FIRST, LAST);
        let here = self.stretch(seconds);
        let day = (seconds + here.offset).div_euclid(DAY);
        let change = |at: i64| {
            let before = self.offset(at - 1);
            let by = self.offset(at) - before;
            let days = [at + before, at + before + by];
            days.into_iter()
                .any(|local| local.div_euclid(DAY) == day)
                .then_some(Change {
                    at: Moment::from_millis(at * 1_000),
                    by,
                })
        };
        let edges = [here.from, here.until];
        edges
            .into_iter()
            .filter(|at| *at > FIRST && *at < LAST)
            .find_map(change)
    }

    /// How many seconds clocks are ahead of UTC at a second since the epoch.
    pub(super) fn offset(&self, seconds: i64) -> i64 {
        i64::from(self.clocks.to_offset(stamp(seconds)).seconds())
    }

    /// The stretch that has a second since the epoch.
    pub(super) fn stretch(&self, seconds: i64) -> Stretch {
        let offset = self.offset(seconds);
        let from = self
            .clocks
            .preceding(stamp(seconds + 1))
            .map(|change| change.timestamp().as_second())
            .find(|at| self.offset(at - 1) != offset)
            .unwrap_or(i64::MIN);
        Stretch {
            from,
            until: self.end(seconds, offset),
            offset,
        }
    }

    /// The stretch after one; none if that has no end.
    pub(super) fn stretch_after(&self, stretch: &Stretch) -> Option<Stretch> {
        let from = stretch.until;
        if from == i64::MAX {
            return None;
        }
        let offset = self.offset(from);
        let until = self.end(from, offset);
        Some(Stretch {
            from,
            until,
            offset,
        })
    }

    /// When the offset that holds at a second ends.
    fn end(&self, seconds: i64, offset: i64) -> i64 {
        self.clocks
            .following(stamp(seconds))
            .find(|change| i64::from(change.offset().seconds()) != offset)
            .map_or(i64::MAX, |change| change.timestamp().as_second())
    }
}

/// A second since the epoch; beyond what can be told, the nearest.
fn stamp(seconds: i64) -> Timestamp {
    let seconds = seconds.clamp(FIRST - 4 * DAY, LAST);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The name nearest to one that does not exist.
fn nearest(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase().replace(' ', "_");
    let limit = (lower.chars().count() / 3).clamp(1, 4);
    let names = Zone::names();
    let city = |name: &String| name.to_ascii_lowercase().ends_with(&format!("/{lower}"));
    if let Some(found) = names.iter().find(|name| city(name)) {
        return Some(found.clone());
    }
    names
        .into_iter()
        .map(|found| {
            (
                strsim::damerau_levenshtein(&lower, &found.to_ascii_lowercase()),
                found,
            )
        })
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, found)| found)
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({})", self.name)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl TryFrom<String> for Zone {
    type Error = BadZone;

    fn try_from(name: String) -> Result<Self, BadZone> {
        Self::parse(&name)
    }
}

impl From<Zone> for String {
    fn from(zone: Zone) -> Self {
        zone.name
    }
}

/// RFC 3339 with the offset of the zone: `2026-03-29T03:00:00+02:00`. The seconds of an offset
/// that has some (local mean times before 1972) are left out, as the RFC demands.
impl fmt::Display for Local {
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
