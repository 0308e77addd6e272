//! Times on a wall clock become instants: stretch by stretch between two changes of clocks.
//!
//! Inside a stretch the clock and the world go alike. At its beginning clocks were changed: what
//! was passed over ([`Gap`]) belongs to that instant, and what is shown again ([`Fold`]) is
//! looked up in the stretches around it, as far as two offsets can be apart.

use std::ops::Range;
use std::sync::Arc;

use super::around::{APART, Around};
use super::dst::{Dst, DstNote, Fold, Gap};
use super::zone::{FIRST, LAST, Stretch, Zone};
use super::{Civil, Cron, Exclusion};

/// Times on a wall clock, in ascending order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times<'a> {
    Cron(&'a Cron),
    Once(Civil),
}

impl Times<'_> {
    /// The first that is not before `from`.
    fn next(&self, from: i64) -> Option<i64> {
        match self {
            Self::Cron(cron) => cron.next(from),
            Self::Once(civil) => Some(civil.seconds()).filter(|at| *at >= from),
        }
    }

    /// The first after one of them.
    fn after(&self, before: i64) -> Option<i64> {
        match self {
            Self::Cron(cron) => cron.after(before),
            Self::Once(_) => None,
        }
    }

    /// Whether both passes of an overlap count, whatever the policy.
    fn interval(&self) -> bool {
        matches!(self, Self::Cron(cron) if cron.is_interval())
    }
}

/// An instant at which a rule is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due<'a> {
    /// When, in seconds since the epoch.
    pub(super) at: i64,
    /// What a change of clocks has to do with it.
    pub(super) note: Option<DstNote>,
    /// What excludes the time that was asked for, wherever clocks moved it to; of several that were
    /// passed over, all of them.
    pub(super) excluded: Option<&'a Exclusion>,
}

/// The instants of times in a zone: ascending, each once.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    times: Times<'a>,
    exclude: &'a [Exclusion],
    zone: &'a Zone,
    dst: Dst,
    /// The last second that counts.
    until: i64,
    stretch: Stretch,
    /// Its first time that has not been told.
    ahead: Option<i64>,
    around: Arc<Around>,
    /// Whether the change that began the stretch is still to be looked at.
    fresh: bool,
}

impl<'a> Walk<'a> {
    /// Walks from the second `from` to the second `until`, both included.
    pub(super) fn new(
        times: Times<'a>,
        (zone, dst): (&'a Zone, Dst),
        exclude: &'a [Exclusion],
        seconds: Range<i64>,
    ) -> Self {
        let from = seconds.start.max(FIRST);
        let until = seconds.end.min(LAST);
        let around = zone.around(from);
        let stretch = around.stretch;
        Self {
            times,
            exclude,
            zone,
            dst,
            until,
            stretch,
            ahead: times.next(from + stretch.offset),
            around,
            fresh: from == stretch.from,
        }
    }

    /// Goes on to a stretch.
    fn enter(&mut self, stretch: Stretch) {
        self.around = self.zone.around(stretch.from);
        self.stretch = stretch;
        self.ahead = self.times.next(stretch.local().0);
        self.fresh = true;
    }

    /// The pass of a time of this stretch, and whether the policy lets it count.
    fn pass(&self, at: i64) -> (bool, Option<DstNote>) {
        let was = self.around.before.iter().any(|range| range.contains(&at));
        let comes = self.around.again.iter().any(|range| range.contains(&at));
        let counts = self.times.interval()
            || match self.dst.overlap {
                Fold::First => !was,
                Fold::Last => !comes,
                Fold::Both => true,
            };
        let note = match (was, comes) {
            (true, _) => Some(DstNote::SecondPass),
            (false, true) => Some(DstNote::FirstPass),
            (false, false) => None,
        };
        (counts, note)
    }

    /// What excludes a time on the clock, if anything does.
    fn excluded(&self, at: i64) -> Option<&'a Exclusion> {
        if self.exclude.is_empty() {
            return None;
        }
        let civil = Civil::of_seconds(at);
        self.exclude.iter().find(|one| one.covers(civil))
    }

    /// What is due where this stretch begins, if the change that began it passed over one of the times,
    /// which is shown nowhere, and nothing else is due at that instant.
    fn moved(&self) -> Option<Due<'a>> {
        if self.dst.gap == Gap::Skip || self.stretch.from <= FIRST {
            return None;
        }
        let start = self.stretch.from + self.zone.offset(self.stretch.from - 1);
        let gap = start..self.stretch.local().0;
        let mut passed = self.times.next(gap.start).filter(|at| gap.contains(at));
        if passed.is_none() || (self.ahead == Some(gap.end) && self.pass(gap.end).0) {
            return None;
        }
        let near = self.zone.near(&gap);
        let shown = |at: i64| {
            near.iter()
                .map(Stretch::local)
                .any(|(from, until)| (from..until).contains(&at))
        };
        let mut due = None;
        while let Some(at) = passed {
            if !shown(at) {
                let one = Due {
                    at: self.stretch.from,
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

    /// Goes to the next stretch that matters; false if there is none. Stretches in which nothing
    /// can be are passed over.
    fn on(&mut self) -> bool {
        let end = self.stretch.local().1;
        let Some(ahead) = self.ahead else {
            // What comes only once may be shown again, but not much later.
            return match self.times {
                Times::Once(civil) if end <= civil.seconds() + APART => self.go_to_next(),
                _ => false,
            };
        };
        let far = ahead - APART;
        // What clocks showed last may be shown again after the end.
        let nothing_again = || self.times.next(end - APART) == Some(ahead);
        if far <= self.stretch.until.saturating_add(APART) || !nothing_again() {
            return self.go_to_next();
        }
        let stretch = self.zone.stretch(far);
        if stretch.from > self.until {
            return false;
        }
        self.enter(stretch);
        true
    }

    fn go_to_next(&mut self) -> bool {
        match self.zone.stretch_after(&self.stretch) {
            Some(next) if next.from <= self.until => {
                self.enter(next);
                true
            }
            _ => false,
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Due<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if std::mem::take(&mut self.fresh)
                && self.stretch.from <= self.until
                && let Some(due) = self.moved()
            {
                return Some(due);
            }
            let Some(at) = self.ahead.filter(|at| *at < self.stretch.local().1) else {
                if self.on() {
                    continue;
                }
                return None;
            };
            let second = at - self.stretch.offset;
            if second > self.until {
                return None;
            }
            self.ahead = self.times.after(at);
            let (counts, note) = self.pass(at);
            if counts {
                return Some(Due {
                    at: second,
                    note,
                    excluded: self.excluded(at),
                });
            }
        }
    }
}
