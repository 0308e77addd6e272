//! The clock times that a stretch shares with the stretches around it. Found once for all callers that ask
//! about the same time, since callers rarely ask about one scheduled time alone.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use super::civil::DAY;
use super::zone::{FIRST, LAST, OffsetPeriod, ScheduleZone};

/// The largest difference between two offsets, in seconds.
pub(super) const APART: i64 = 2 * DAY;

/// A stretch and the clock times it shares with others.
#[derive(Debug)]
pub(super) struct PeriodOverlaps {
    pub(super) period: OffsetPeriod,
    /// The clock times of earlier stretches that this one repeats.
    pub(super) repeats_earlier: Vec<Range<i64>>,
    /// The clock times of this stretch that later ones repeat.
    pub(super) repeated_later: Vec<Range<i64>>,
}

impl ScheduleZone {
    /// Returns the stretch that contains a second since the epoch, and its surroundings.
    pub(super) fn period_overlaps(&self, second: i64) -> Arc<PeriodOverlaps> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |around: &&Arc<PeriodOverlaps>| (around.period.from..around.period.until).contains(&second);
        if let Some(around) = latest.as_ref().filter(has) {
            return Arc::clone(around);
        }
        let around = Arc::new(PeriodOverlaps::of(self, self.stretch(second)));
        *latest = Some(Arc::clone(&around));
        around
    }

    /// Returns the stretches that can show a range of clock times, in ascending order.
    pub(super) fn periods_near(&self, local: &Range<i64>) -> Vec<OffsetPeriod> {
        let mut near = Vec::new();
        let mut next = Some(self.stretch(local.start - APART));
        while let Some(stretch) = next.filter(|stretch| stretch.from < local.end + APART) {
            near.push(stretch);
            next = self.stretch_after(&stretch);
        }
        near
    }
}

impl PeriodOverlaps {
    /// Finds the clock times that a stretch shares with others.
    fn of(zone: &ScheduleZone, stretch: OffsetPeriod) -> Self {
        let (mut before, mut again) = (Vec::new(), Vec::new());
        let here = stretch.local();
        for edge in [stretch.from, stretch.until] {
            if edge <= FIRST || edge >= LAST {
                continue;
            }
            for other in zone.periods_near(&(edge..edge)) {
                let there = other.local();
                let shared = here.0.max(there.0)..here.1.min(there.1);
                let side = if other.from < stretch.from { &mut before } else { &mut again };
                if other.from != stretch.from && shared.start < shared.end && !side.contains(&shared) {
                    side.push(shared);
                }
            }
        }
        Self { period: stretch, repeats_earlier: before, repeated_later: again }
    }
}
