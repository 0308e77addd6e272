//! Maps wall clock times to instants, in the order of instants.
//!
//! [`jiff`] knows which offsets apply to a clock time. Where clocks went back, it has two instants, and its second
//! comes after the first of later times; so an instant waits until no later time can precede it.

use std::{collections::BTreeMap, ops::Range};

use jiff::{
    SignedDuration,
    civil::DateTime,
    tz::{AmbiguousOffset, Offset, TimeZone},
};

use super::{
    CivilDateTime, CronExpression, ScheduleExclusion,
    dst::{DstGapPolicy, DstNote, DstOverlapPolicy, DstPolicy},
    zone::{FIRST, LAST, timestamp},
};

/// The largest difference between two offsets, in seconds.
const APART: i64 = 2 * 86_400;

/// Wall clock times, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) enum WallClockTimes<'a> {
    Cron(&'a CronExpression),
    Once(CivilDateTime),
}

impl WallClockTimes<'_> {
    /// Returns the first that is not before `from`.
    fn next(&self, from: DateTime) -> Option<DateTime> {
        match self {
            Self::Cron(cron) => cron.next(from),
            Self::Once(civil) => Some(civil.0).filter(|at| *at >= from),
        }
    }

    /// Returns the first after one of them.
    fn after(&self, before: DateTime) -> Option<DateTime> {
        match self {
            Self::Cron(cron) => cron.after(before),
            Self::Once(_) => None,
        }
    }

    /// True if both passes of an overlap count, whatever the policy.
    fn interval(&self) -> bool {
        matches!(self, Self::Cron(cron) if cron.is_interval())
    }
}

/// An instant when a rule is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct DueInstant<'a> {
    /// The instant, in seconds since the epoch.
    pub(super) at: i64,
    /// The effect of a clock change on it.
    pub(super) note: Option<DstNote>,
    /// The exclusion of the time asked for, wherever a clock change moved it; of several skipped times, all
    /// must be excluded.
    pub(super) excluded: Option<&'a ScheduleExclusion>,
}

/// The instants of clock times in a zone: ascending, each once.
#[derive(Debug)]
pub(super) struct ScheduleWalk<'a> {
    times: WallClockTimes<'a>,
    exclude: &'a [ScheduleExclusion],
    zone: &'a TimeZone,
    dst: DstPolicy,
    /// The seconds that are included.
    range: Range<i64>,
    next_time: Option<MappedTime>,
    /// The due instants that have not been returned.
    waiting: BTreeMap<i64, DueInstant<'a>>,
}

/// A clock time and its instants.
#[derive(Clone, Copy, Debug)]
struct MappedTime {
    civil: DateTime,
    offset: AmbiguousOffset,
    /// The first second at which clocks show it, or skip it.
    first: i64,
}

impl MappedTime {
    /// Maps a time; none if it is beyond the supported instants.
    fn of(civil: DateTime, zone: &TimeZone) -> Option<Self> {
        let offset = zone.to_ambiguous_timestamp(civil).offset();
        let first = match offset {
            AmbiguousOffset::Unambiguous { offset } => second(civil, offset)?,
            AmbiguousOffset::Fold { before, .. } => second(civil, before)?,
            AmbiguousOffset::Gap { after, .. } => {
                let mut changes = zone.following(after.to_timestamp(civil).ok()?);
                changes.find(|change| change.offset() == after)?.timestamp().as_second()
            }
        };
        Some(Self { civil, offset, first })
    }
}

/// Returns the second since the epoch when clocks this far from UTC show a time.
fn second(civil: DateTime, offset: Offset) -> Option<i64> {
    offset.to_timestamp(civil).ok().map(jiff::Timestamp::as_second)
}

impl<'a> ScheduleWalk<'a> {
    /// Returns a walk from the second `seconds.start` to the second `seconds.end`, both included.
    pub(super) fn new(
        times: WallClockTimes<'a>,
        zone: &'a TimeZone,
        dst: DstPolicy,
        exclude: &'a [ScheduleExclusion],
        seconds: Range<i64>,
    ) -> Self {
        let range = seconds.start.max(FIRST)..seconds.end.min(LAST);
        let next_time = times.next(first_time(zone, range.start));
        let next_time = next_time.and_then(|civil| MappedTime::of(civil, zone));
        Self { times, exclude, zone, dst, range, next_time, waiting: BTreeMap::new() }
    }

    fn due(&self, civil: DateTime, at: i64, note: Option<DstNote>) -> DueInstant<'a> {
        DueInstant { at, note, excluded: self.exclude.iter().find(|exclusion| exclusion.covers(civil)) }
    }

    /// Adds the instants of a time for which the policies let it be due.
    fn add(&mut self, time: MappedTime) {
        let keeps_overlaps = self.times.interval() || self.dst.overlap == DstOverlapPolicy::Both;
        match time.offset {
            AmbiguousOffset::Unambiguous { .. } => self.add_due(time.civil, time.first, None),
            AmbiguousOffset::Fold { after, .. } => {
                if keeps_overlaps || self.dst.overlap == DstOverlapPolicy::First {
                    self.add_due(time.civil, time.first, Some(DstNote::FirstPass));
                }
                if (keeps_overlaps || self.dst.overlap == DstOverlapPolicy::Last)
                    && let Some(at) = second(time.civil, after)
                {
                    self.add_due(time.civil, at, Some(DstNote::SecondPass));
                }
            }
            AmbiguousOffset::Gap { .. } => {
                if self.dst.gap == DstGapPolicy::RunAtTransition {
                    self.add_due(time.civil, time.first, Some(DstNote::AtTransition));
                }
            }
        }
    }

    /// Adds a due instant. What is due there anyway takes the place of skipped times.
    fn add_due(&mut self, civil: DateTime, at: i64, note: Option<DstNote>) {
        if !(self.range.start..=self.range.end).contains(&at) {
            return;
        }
        let due = self.due(civil, at, note);
        let moved = note == Some(DstNote::AtTransition);
        self.waiting
            .entry(at)
            .and_modify(|other| {
                if !moved || (other.note == note && due.excluded.is_none()) {
                    *other = due;
                }
            })
            .or_insert(due);
    }
}

/// Returns the first clock time that is shown or skipped at a second or later.
fn first_time(zone: &TimeZone, second: i64) -> DateTime {
    let (before, at) = (timestamp(second - 1), timestamp(second));
    let skipped = zone.to_datetime(before).saturating_add(SignedDuration::from_secs(1));
    // Clocks that go back soon show earlier times again.
    let changes = zone.following(at).map(|change| change.timestamp());
    let soon = changes.take_while(|change| change.as_second() < second + APART);
    soon.chain([at]).map(|at| zone.to_datetime(at)).fold(skipped, DateTime::min)
}

impl<'a> Iterator for ScheduleWalk<'a> {
    type Item = DueInstant<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let time = self.next_time.filter(|time| time.first <= self.range.end);
            if let Some(due) = self.waiting.first_entry()
                && time.is_none_or(|time| *due.key() < time.first)
            {
                return Some(due.remove());
            }
            let time = time?;
            let next = self.times.after(time.civil);
            self.next_time = next.and_then(|civil| MappedTime::of(civil, self.zone));
            // Nothing that comes later can be due before it, or take its place.
            let is_plain =
                matches!(time.offset, AmbiguousOffset::Unambiguous { .. }) && self.waiting.is_empty();
            if is_plain && time.first >= self.range.start {
                return Some(self.due(time.civil, time.first, None));
            }
            self.add(time);
        }
    }
}
