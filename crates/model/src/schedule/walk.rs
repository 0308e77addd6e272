//! Maps wall clock times to instants: stretch by stretch between two clock changes.
//!
//! Inside a stretch the clock and the world run alike. At its start clocks were changed: skipped times
//! ([`DstGapPolicy`]) map to that instant, and repeated times ([`DstOverlapPolicy`]) are looked up in the stretches around it, as
//! far as two offsets can be apart.

use std::ops::Range;
use std::sync::Arc;

use super::around::{APART, PeriodOverlaps};
use super::dst::{DstGapPolicy, DstNote, DstOverlapPolicy, DstPolicy};
use super::zone::{FIRST, LAST, OffsetPeriod, ScheduleZone};
use super::{CivilDateTime, CronExpression, ScheduleExclusion};

/// Wall clock times, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) enum WallClockTimes<'a> {
    Cron(&'a CronExpression),
    Once(CivilDateTime),
}

impl WallClockTimes<'_> {
    /// Returns the first that is not before `from`.
    fn next(&self, from: i64) -> Option<i64> {
        match self {
            Self::Cron(cron) => cron.next(from),
            Self::Once(civil) => Some(civil.seconds()).filter(|at| *at >= from),
        }
    }

    /// Returns the first after one of them.
    fn after(&self, before: i64) -> Option<i64> {
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

/// An instant at which a rule is due.
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
    zone: &'a ScheduleZone,
    dst: DstPolicy,
    /// The last second included.
    until: i64,
    period: OffsetPeriod,
    /// The first of its times that has not been returned.
    next_time: Option<i64>,
    overlaps: Arc<PeriodOverlaps>,
    /// True if the clock change that began the stretch is still to be handled.
    change_pending: bool,
}

impl<'a> ScheduleWalk<'a> {
    /// Returns a walk from the second `from` to the second `until`, both included.
    pub(super) fn new(
        times: WallClockTimes<'a>,
        zone: &'a ScheduleZone,
        dst: DstPolicy,
        exclude: &'a [ScheduleExclusion],
        seconds: Range<i64>,
    ) -> Self {
        let from = seconds.start.max(FIRST);
        let until = seconds.end.min(LAST);
        let around = zone.period_overlaps(from);
        let stretch = around.period;
        Self {
            times,
            exclude,
            zone,
            dst,
            until,
            period: stretch,
            next_time: times.next(from + stretch.offset),
            overlaps: around,
            change_pending: from == stretch.from,
        }
    }

    /// Enters a stretch.
    fn enter_period(&mut self, stretch: OffsetPeriod) {
        self.overlaps = self.zone.period_overlaps(stretch.from);
        self.period = stretch;
        self.next_time = self.times.next(stretch.local().0);
        self.change_pending = true;
    }

    /// Returns the pass of a time of this stretch, and whether the policy lets it count.
    fn dst_pass(&self, at: i64) -> (bool, Option<DstNote>) {
        let was = self.overlaps.repeats_earlier.iter().any(|range| range.contains(&at));
        let comes = self.overlaps.repeated_later.iter().any(|range| range.contains(&at));
        let counts = self.times.interval()
            || match self.dst.overlap {
                DstOverlapPolicy::First => !was,
                DstOverlapPolicy::Last => !comes,
                DstOverlapPolicy::Both => true,
            };
        let note = match (was, comes) {
            (true, _) => Some(DstNote::SecondPass),
            (false, true) => Some(DstNote::FirstPass),
            (false, false) => None,
        };
        (counts, note)
    }

    /// Returns the exclusion of a clock time, if any.
    fn excluded(&self, at: i64) -> Option<&'a ScheduleExclusion> {
        if self.exclude.is_empty() {
            return None;
        }
        let civil = CivilDateTime::of_seconds(at);
        self.exclude.iter().find(|one| one.covers(civil))
    }

    /// Returns what is due at the start of this stretch, if the clock change there skipped one of the times,
    /// no stretch shows that time, and nothing else is due at that instant.
    fn moved_due(&self) -> Option<DueInstant<'a>> {
        if self.dst.gap == DstGapPolicy::Skip || self.period.from <= FIRST {
            return None;
        }
        let start = self.period.from + self.zone.offset(self.period.from - 1);
        let gap = start..self.period.local().0;
        let mut passed = self.times.next(gap.start).filter(|at| gap.contains(at));
        if passed.is_none() || (self.next_time == Some(gap.end) && self.dst_pass(gap.end).0) {
            return None;
        }
        let near = self.zone.periods_near(&gap);
        let shown =
            |at: i64| near.iter().map(OffsetPeriod::local).any(|(from, until)| (from..until).contains(&at));
        let mut due = None;
        while let Some(at) = passed {
            if !shown(at) {
                let one = DueInstant {
                    at: self.period.from,
                    note: Some(DstNote::AtTransition),
                    excluded: self.excluded(at),
                };
                if one.excluded.is_none() {
                    return Some(one);
                }
                due.get_or_insert(one);
            }
            passed = self.times.after(at).filter(|at| gap.contains(at));
        }
        due
    }

    /// Enters the next relevant stretch; false if there is none. Stretches in which nothing can be due are
    /// skipped.
    fn enter_next_period(&mut self) -> bool {
        let end = self.period.local().1;
        let Some(ahead) = self.next_time else {
            // A single time may be repeated, but not much later.
            return match self.times {
                WallClockTimes::Once(civil) if end <= civil.seconds() + APART => self.go_to_next(),
                _ => false,
            };
        };
        let far = ahead - APART;
        // The last clock times may be repeated after the end.
        let nothing_again = || self.times.next(end - APART) == Some(ahead);
        if far <= self.period.until.saturating_add(APART) || !nothing_again() {
            return self.go_to_next();
        }
        let stretch = self.zone.stretch(far);
        if stretch.from > self.until {
            return false;
        }
        self.enter_period(stretch);
        true
    }

    fn go_to_next(&mut self) -> bool {
        match self.zone.stretch_after(&self.period) {
            Some(next) if next.from <= self.until => {
                self.enter_period(next);
                true
            }
            _ => false,
        }
    }
}

impl<'a> Iterator for ScheduleWalk<'a> {
    type Item = DueInstant<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if std::mem::take(&mut self.change_pending)
                && self.period.from <= self.until
                && let Some(due) = self.moved_due()
            {
                return Some(due);
            }
            let Some(at) = self.next_time.filter(|at| *at < self.period.local().1) else {
                if self.enter_next_period() {
                    continue;
                }
                return None;
            };
            let second = at - self.period.offset;
            if second > self.until {
                return None;
            }
            self.next_time = self.times.after(at);
            let (counts, note) = self.dst_pass(at);
            if counts {
                return Some(DueInstant { at: second, note, excluded: self.excluded(at) });
            }
        }
    }
}
