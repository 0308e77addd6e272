//! The timers of a run: they are set by the machine, and fire in its loop.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;

use wf_base::time::Moment;
use wf_core::machine::TimerKind;

/// The maximum sleep while waiting for an instant on the wall clock, which may be set meanwhile.
const MAX_WALL_SLEEP: Duration = Duration::from_secs(5);

/// The timers of a run, by the time they go off. A duration is measured by a clock that cannot be set; an instant a
/// plan names is waited for on the wall clock.
#[derive(Debug, Default)]
pub(super) struct RunTimers {
    whiles: BTreeMap<(Instant, u64), (Moment, TimerKind)>,
    instants: BTreeMap<(Moment, u64), (ClockReadings, TimerKind)>,
    set: u64,
}

/// The readings of the clocks when the wait for an instant began.
#[derive(Clone, Copy, Debug)]
struct ClockReadings {
    wall: Moment,
    due: Instant,
}

impl ClockReadings {
    /// True if the instant has come. A wall clock standing still, in a test, holds nothing up.
    fn has_come(&self, at: Moment, wall: Moment) -> bool {
        at <= wall || (wall == self.wall && self.due <= Instant::now())
    }
}

impl RunTimers {
    /// Sets a timer going off at an instant of the run, given its current instant.
    pub(crate) fn set(&mut self, at: Moment, now: Moment, timer: TimerKind) {
        self.set += 1;
        let due = soon(at.since(now));
        self.whiles.insert((due, self.set), (at, timer));
    }

    /// Sets a timer going off when the wall clock shows an instant.
    pub(super) fn set_on_wall(&mut self, at: Moment, wall: Moment, timer: TimerKind) {
        self.set += 1;
        let due = soon(at.since(wall));
        let watched = ClockReadings { wall, due };
        self.instants.insert((at, self.set), (watched, timer));
    }

    /// Returns the time to sleep until a timer may go off.
    pub(super) fn next_wait(&self, wall: Moment) -> Option<Duration> {
        let now = Instant::now();
        let first = self.whiles.keys().next();
        let first = first.map(|(due, _)| due.saturating_duration_since(now));
        let instant = self.instants.iter().next().map(|((at, _), (watched, _))| {
            if watched.has_come(*at, wall) {
                Duration::ZERO
            } else if wall == watched.wall {
                watched.due.saturating_duration_since(now).min(MAX_WALL_SLEEP)
            } else {
                at.since(wall).min(MAX_WALL_SLEEP)
            }
        });
        first.into_iter().chain(instant).min()
    }

    /// True if no timer is due, and none lets work begin: all are limits on waits.
    pub(super) fn are_patient(&self, wall: Moment) -> bool {
        let patient = |timer: &TimerKind| {
            matches!(
                timer,
                TimerKind::Ask { .. }
                    | TimerKind::Agent(_)
                    | TimerKind::Run
                    | TimerKind::Budget { .. }
                    | TimerKind::Queue(_)
            )
        };
        let due = self.next_wait(wall).is_some_and(|wait| wait.is_zero());
        !due && self.instants.is_empty() && self.whiles.values().all(|(_, timer)| patient(timer))
    }

    /// Removes a timer that went off, and returns it with its instant.
    pub(crate) fn pop(&mut self, wall: Moment) -> Option<(Moment, TimerKind)> {
        if let Some(first) = self.whiles.first_entry()
            && first.key().0 <= Instant::now()
        {
            return Some(first.remove());
        }
        let first = self.instants.first_entry()?;
        let at = first.key().0;
        let come = first.get().0.has_come(at, wall);
        come.then(|| (at, first.remove().1))
    }
}

/// Returns the instant after a duration; beyond the range of the clock, one far away.
fn soon(wait: Duration) -> Instant {
    let now = Instant::now();
    let far = Duration::from_secs(u64::from(u32::MAX));
    now.checked_add(wait).unwrap_or_else(|| now + far)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MAX_WALL_SLEEP, RunTimers};
    use wf_base::time::Moment;
    use wf_core::machine::TimerKind;

    const NOON: Moment = Moment::from_millis(1_800_000_000_000);
    const HOUR: Duration = Duration::from_hours(1);

    fn earlier(at: Moment, by: Duration) -> Moment {
        Moment::from_millis(at.millis() - i64::try_from(by.as_millis()).unwrap())
    }

    #[test]
    fn a_while_does_not_care_how_the_clock_is_set() {
        let mut timers = RunTimers::default();
        timers.set(NOON.after(HOUR), NOON, TimerKind::Run);
        for wall in [NOON, NOON.after(HOUR * 9), earlier(NOON, HOUR * 9)] {
            assert_eq!(timers.pop(wall), None);
            let next = timers.next_wait(wall).unwrap();
            assert!(next <= HOUR && next + MAX_WALL_SLEEP > HOUR, "{next:?}");
        }
        timers.set(NOON, NOON.after(HOUR), TimerKind::Run);
        assert_eq!(timers.next_wait(earlier(NOON, HOUR)), Some(Duration::ZERO));
        assert_eq!(timers.pop(earlier(NOON, HOUR)), Some((NOON, TimerKind::Run)));
        assert!(timers.next_wait(NOON).is_some());
    }

    #[test]
    fn an_instant_is_waited_for_on_the_wall() {
        let mut timers = RunTimers::default();
        let at = NOON.after(HOUR);
        timers.set_on_wall(at, NOON, TimerKind::Run);
        assert_eq!(timers.next_wait(NOON), Some(MAX_WALL_SLEEP));
        assert_eq!(timers.pop(earlier(NOON, HOUR)), None);
        assert_eq!(timers.next_wait(earlier(NOON, HOUR)), Some(MAX_WALL_SLEEP));
        assert_eq!(timers.next_wait(at), Some(Duration::ZERO));
        assert_eq!(timers.pop(at), Some((at, TimerKind::Run)));
        assert_eq!(timers.next_wait(at), None);
        // As with a clock that stands still.
        let past = earlier(NOON, HOUR);
        timers.set_on_wall(past, NOON, TimerKind::Run);
        assert_eq!(timers.pop(NOON), Some((past, TimerKind::Run)));
    }
}
