//! A wait for an instant of the wall clock.
//!
//! A timer that counts time would be wrong after a suspend, and after somebody set the clock. This
//! one is a `timerfd` on `CLOCK_REALTIME` with an absolute end (`timerfd_create(2)`): the kernel
//! compares it with the clock itself, also when the machine wakes up. `TFD_TIMER_CANCEL_ON_SET`
//! makes it tell when the clock was set, so that what follows from the time can be decided anew.
//!
//! Setting the clock needs the rights of an administrator, so no test does it: the meaning of what
//! the kernel answers is tested, and that waits end.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use crate::time::Moment;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The clock has reached the instant.
    Due,
    /// Somebody set the clock: what time it is must be asked anew.
    ClockSet,
}

/// Waits for one instant at a time.
#[derive(Debug)]
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// Makes one; needs a runtime of tokio with I/O.
    #[expect(
        deprecated,
        reason = "its replacement is unsafe; the descriptor is owned, and is never another"
    )]
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        Ok(Self {
            timer: AsyncFd::new(timer)?,
        })
    }

    /// Waits until an instant; one that has passed is due at once, `None` never is. That the clock
    /// was set between two waits is told by the second one.
    pub async fn until(&mut self, at: Option<Moment>) -> io::Result<Woken> {
        let Some(at) = at else {
            return std::future::pending().await;
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        let set = timerfd_settime(self.timer.get_ref(), flags, &once(at));
        if let Some(woken) = meaning(set.map(|_| 0))?.filter(|woken| *woken == Woken::ClockSet) {
            return Ok(woken);
        }
        loop {
            let mut ready = self.timer.readable().await?;
            let mut count = [0; 8];
            let read = rustix::io::read(self.timer.get_ref(), &mut count);
            match meaning(read)? {
                Some(woken) => return Ok(woken),
                None => ready.clear_ready(),
            }
        }
    }
}

/// What the kernel's answer means; `None`: not yet.
fn meaning(answer: Result<usize, Errno>) -> io::Result<Option<Woken>> {
    match answer {
        Ok(_) => Ok(Some(Woken::Due)),
        Err(Errno::CANCELED) => Ok(Some(Woken::ClockSet)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A timer that ends once. An end of zero would switch it off, so the beginning of the epoch, and
/// what was before, is a nanosecond later.
fn once(at: Moment) -> Itimerspec {
    let millis = at.millis().max(0);
    let nanos = (millis % 1000) * 1_000_000;
    Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec {
            tv_sec: millis / 1000,
            tv_nsec: if millis == 0 { 1 } else { nanos },
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::io::Errno;
    use tokio::time::timeout;

    use super::{Alarm, Woken, meaning, once};
    use crate::time::{Clock as _, Moment, SystemClock};

    const SHORT: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn rings_when_the_clock_is_there_and_not_before() {
        let mut alarm = Alarm::new().unwrap();
        for _ in 0..2 {
            let at = SystemClock.now().after(SHORT);
            assert_eq!(alarm.until(Some(at)).await.unwrap(), Woken::Due);
            assert!(SystemClock.now() >= at);
        }
    }

    #[tokio::test]
    async fn what_has_passed_is_due_at_once() {
        let mut alarm = Alarm::new().unwrap();
        for millis in [i64::MIN, -1, 0, 1, SystemClock.now().millis()] {
            let at = Some(Moment::from_millis(millis));
            let woken = timeout(Duration::from_secs(5), alarm.until(at)).await;
            assert_eq!(woken.unwrap().unwrap(), Woken::Due, "{millis}");
        }
    }

    #[tokio::test]
    async fn what_is_far_or_never_does_not_ring() {
        let mut alarm = Alarm::new().unwrap();
        let hour = SystemClock.now().after(Duration::from_hours(1));
        for at in [None, Some(hour), Some(Moment::from_millis(i64::MAX))] {
            assert!(timeout(SHORT, alarm.until(at)).await.is_err(), "{at:?}");
        }
        // A wait that was given up leaves nothing behind.
        let past = Some(Moment::from_millis(1));
        assert_eq!(alarm.until(past).await.unwrap(), Woken::Due);
        assert!(timeout(SHORT, alarm.until(Some(hour))).await.is_err());
    }

    #[test]
    fn the_answers_of_the_kernel() {
        assert_eq!(meaning(Ok(8)).unwrap(), Some(Woken::Due));
        assert_eq!(
            meaning(Err(Errno::CANCELED)).unwrap(),
            Some(Woken::ClockSet)
        );
        assert_eq!(meaning(Err(Errno::AGAIN)).unwrap(), None);
        assert!(meaning(Err(Errno::BADF)).is_err());
    }

    #[test]
    fn no_instant_switches_the_timer_off() {
        for millis in [i64::MIN, -1, 0, 1, 1000, i64::MAX] {
            let value = once(Moment::from_millis(millis)).it_value;
            assert!(value.tv_sec > 0 || value.tv_nsec > 0, "{millis}");
            assert!((0..1_000_000_000).contains(&value.tv_nsec), "{millis}");
        }
    }
}
