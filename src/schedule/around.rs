//! What a stretch shares with those around it on the clock, found once for all who ask about the same
//! time: nobody asks about one slot alone.

use std::ops::Range;
use std::sync::{Arc, PoisonError};

use super::civil::DAY;
use super::zone::{FIRST, LAST, Stretch, Zone};

/// No two offsets are further apart, in seconds.
pub(super) const APART: i64 = 2 * DAY;

/// A stretch among others.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) stretch: Stretch,
    /// What clocks showed in earlier stretches and show again in this one.
    pub(super) before: Vec<Range<i64>>,
    /// What they show in this one and in later ones again.
    pub(super) again: Vec<Range<i64>>,
}

impl Zone {
    /// The stretch that has a second since the epoch, and what is around it.
    pub(super) fn around(&self, second: i64) -> Arc<Around> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let has =
            |around: &&Arc<Around>| (around.stretch.from..around.stretch.until).contains(&second);
        if let Some(around) = latest.as_ref().filter(has) {
            return Arc::clone(around);
        }
        let around = Arc::new(Around::of(self, self.stretch(second)));
        *latest = Some(Arc::clone(&around));
        around
    }

    /// The stretches that can show what a while on the clock shows, from UTC of the first on.
    pub(super) fn near(&self, local: &Range<i64>) -> Vec<Stretch> {
        let mut near = Vec::new();
        let mut next = Some(self.stretch(local.start - APART));
        while let Some(stretch) = next.filter(|stretch| stretch.from < local.end + APART) {
            near.push(stretch);
            next = self.stretch_after(&stretch);
        }
        near
    }
}

impl Around {
    /// Finds out what a stretch shares with others on the clock.
    fn of(zone: &Zone, stretch: Stretch) -> Self {
        let (mut before, mut again) = (Vec::new(), Vec::new());
        let here = stretch.local();
        for edge in [stretch.from, stretch.until] {
            if edge <= FIRST || edge >= LAST {
                continue;
            }
            for other in zone.near(&(edge..edge)) {
                let there = other.local();
                let shared = here.0.max(there.0)..here.1.min(there.1);
                let side = if other.from < stretch.from {
                    &mut before
                } else {
                    &mut again
                };
                if other.from != stretch.from
                    && shared.start < shared.end
                    && !side.contains(&shared)
                {
                    side.push(shared);
                }
            }
        }
        Self {
            stretch,
            before,
            again,
        }
    }
}
