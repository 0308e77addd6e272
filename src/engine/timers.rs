use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::machine::Timer;
use crate::time::Moment;

/// How long to sleep at most while an instant on the wall clock is waited for: somebody may set
/// the clock.
const LOOK: Duration = Duration::from_secs(5);

/// The timers of a run, by when they go off. A while is measured by a clock that nobody sets; an
/// instant that a plan names is waited for on the wall clock.
#[derive(Debug, Default)]
pub(super) struct Timers {
    whiles: BTreeMap<(Instant, u64), (Moment, Timer)>,
    instants: BTreeMap<(Moment, u64), (Watched, Timer)>,
    set: u64,
}

/// What the clocks showed when an instant began to be waited for.
#[derive(Clone, Copy, Debug)]
struct Watched {
    wall: Moment,
    due: Instant,
}

impl Watched {
    /// Whether the instant has come. A wall clock that stands still, in a test, holds nothing up.
    fn has_come(&self, at: Moment, wall: Moment) -> bool {
        at <= wall || (wall == self.wall && self.due <= Instant::now())
    }
}

impl Timers {
    /// Sets a timer that goes off at an instant of the run, which is at another one now.
    pub(super) fn set(&mut self, at: Moment, now: Moment, timer: Timer) {
        self.set += 1;
        let due = soon(at.since(now));
        self.whiles.insert((due, self.set), (at, timer));
    }

    /// Sets a timer that goes off when the wall clock shows an instant.
    pub(super) fn set_on_wall(&mut self, at: Moment, wall: Moment, timer: Timer) {
        self.set += 1;
        let due = soon(at.since(wall));
        let watched = Watched { wall, due };
        self.instants.insert((at, self.set), (watched, timer));
    }

    /// How long to sleep until a timer may go off.
    pub(super) fn next(&self, wall: Moment) -> Option<Duration> {
        let now = Instant::now();
        let first = self.whiles.keys().next();
        let first = first.map(|(due, _)| due.saturating_duration_since(now));
        let instant = self.instants.iter().next().map(|((at, _), (watched, _))| {
            if watched.has_come(*at, wall) {
                Duration::ZERO
            } else if wall == watched.wall {
                watched.due.saturating_duration_since(now).min(LOOK)
            } else {
                at.since(wall).min(LOOK)
            }
        });
        first.into_iter().chain(instant).min()
    }

    /// Whether none of them is due, and none lets work begin: all are limits on how long something
    /// may wait.
    pub(super) fn are_patient(&self, wall: Moment) -> bool {
        let patient = |timer: &Timer| {
            matches!(
                timer,
                Timer::Ask { .. } | Timer::Run | Timer::Budget { .. } | Timer::Queue(_)
            )
        };
        let due = self.next(wall).is_some_and(|wait| wait.is_zero());
        !due && self.instants.is_empty() && self.whiles.values().all(|(_, timer)| patient(timer))
    }

    /// A timer that went off, and its instant.
    pub(super) fn pop(&mut self, wall: Moment) -> Option<(Moment, Timer)> {
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

/// An instant after a while; beyond what the clock can show it is far away.
fn soon(wait: Duration) -> Instant {
    let now = Instant::now();
    let far = Duration::from_secs(u64::from(u32::MAX));
    now.checked_add(wait).unwrap_or_else(|| now + far)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LOOK, Timers};
    use crate::machine::Timer;
    use crate::time::Moment;

    const NOON: Moment = Moment::from_millis(1_800_000_000_000);
    const HOUR: Duration = Duration::from_hours(1);

    fn earlier(at: Moment, by: Duration) -> Moment {
        Moment::from_millis(at.millis() - i64::try_from(by.as_millis()).unwrap())
    }

    #[test]
    fn a_while_does_not_care_how_the_clock_is_set() {
        let mut timers = Timers::default();
        timers.set(NOON.after(HOUR), NOON, Timer::Run);
        for wall in [NOON, NOON.after(HOUR * 9), earlier(NOON, HOUR * 9)] {
            assert_eq!(timers.pop(wall), None);
            let next = timers.next(wall).unwrap();
            assert!(next <= HOUR && next + LOOK > HOUR, "{next:?}");
        }
        timers.set(NOON, NOON.after(HOUR), Timer::Run);
        assert_eq!(timers.next(earlier(NOON, HOUR)), Some(Duration::ZERO));
        assert_eq!(timers.pop(earlier(NOON, HOUR)), Some((NOON, Timer::Run)));
        assert!(timers.next(NOON).is_some());
    }

    #[test]
    fn an_instant_is_waited_for_on_the_wall() {
        let mut timers = Timers::default();
        let at = NOON.after(HOUR);
        timers.set_on_wall(at, NOON, Timer::Run);
        assert_eq!(timers.next(NOON), Some(LOOK));
        assert_eq!(timers.pop(earlier(NOON, HOUR)), None);
        assert_eq!(timers.next(earlier(NOON, HOUR)), Some(LOOK));
        assert_eq!(timers.next(at), Some(Duration::ZERO));
        assert_eq!(timers.pop(at), Some((at, Timer::Run)));
        assert_eq!(timers.next(at), None);
        // As it is where the clock stands still.
        let past = earlier(NOON, HOUR);
        timers.set_on_wall(past, NOON, Timer::Run);
        assert_eq!(timers.pop(NOON), Some((past, Timer::Run)));
    }
}
