//! A wait for an instant of the wall clock.
//!
//! A timer by durations would be wrong after a suspend, and after the clock was set. This one
//! is a `timerfd` on `CLOCK_REALTIME` with an absolute end (`timerfd_create(2)`): the kernel
//! compares it with the clock itself, also when the machine wakes up. `TFD_TIMER_CANCEL_ON_SET`
//! makes it report a change of the clock, so that decisions based on the time can be made anew.
//!
//! Setting the clock needs administrator rights, so no test does it: the tests cover the
//! interpretation of the kernel's answers, and that waits end.

use std::{io, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};
use tokio::io::unix::AsyncFd;

use wf_base::time::Moment;

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlarmWake {
    /// The clock has reached the instant.
    Due,
    /// The clock was set: the current time must be read anew.
    ClockSet,
}

/// A timer waiting for one instant at a time.
#[derive(Debug)]
pub struct WallClockTimer {
    timer: AsyncFd<OwnedFd>,
}

impl WallClockTimer {
    /// Makes one; needs a Tokio runtime with I/O.
    #[expect(deprecated, reason = "its replacement is unsafe; the descriptor is owned, and is never another")]
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
        Ok(Self { timer: AsyncFd::new(timer)? })
    }

    /// Waits until an instant; one that has passed is due at once, `None` never is. If the clock
    /// was set between two waits, the second one reports it.
    pub async fn wait_until(&mut self, at: Option<Moment>) -> io::Result<AlarmWake> {
        let Some(at) = at else {
            return std::future::pending().await;
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        let set = timerfd_settime(self.timer.get_ref(), flags, &one_shot_timer(at));
        if let Some(woken) = wake_of(set.map(|_| 0))?.filter(|woken| *woken == AlarmWake::ClockSet) {
            return Ok(woken);
        }
        loop {
            let mut ready = self.timer.readable().await?;
            let mut count = [0; 8];
            let read = rustix::io::read(self.timer.get_ref(), &mut count);
            match wake_of(read)? {
                Some(woken) => return Ok(woken),
                None => ready.clear_ready(),
            }
        }
    }
}

/// Interprets the kernel's answer; `None`: not yet.
fn wake_of(answer: Result<usize, Errno>) -> io::Result<Option<AlarmWake>> {
    match answer {
        Ok(_) => Ok(Some(AlarmWake::Due)),
        Err(Errno::CANCELED) => Ok(Some(AlarmWake::ClockSet)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns a timer for one end. An end of zero would disarm it, so the epoch and all before are
/// moved to a nanosecond after it.
fn one_shot_timer(at: Moment) -> Itimerspec {
    let millis = at.millis().max(0);
    let nanos = (millis % 1000) * 1_000_000;
    Itimerspec {
        it_interval: Timespec::default(),
        it_value: Timespec { tv_sec: millis / 1000, tv_nsec: if millis == 0 { 1 } else { nanos } },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustix::io::Errno;
    use tokio::time::timeout;

    use super::{AlarmWake, WallClockTimer, one_shot_timer, wake_of};
    use wf_base::time::{Clock as _, Moment, SystemClock};

    const SHORT: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn rings_when_the_clock_is_there_and_not_before() {
        let mut alarm = WallClockTimer::new().unwrap();
        for _ in 0..2 {
            let at = SystemClock.now().after(SHORT);
            assert_eq!(alarm.wait_until(Some(at)).await.unwrap(), AlarmWake::Due);
            assert!(SystemClock.now() >= at);
        }
    }

    #[tokio::test]
    async fn what_has_passed_is_due_at_once() {
        let mut alarm = WallClockTimer::new().unwrap();
        for millis in [i64::MIN, -1, 0, 1, SystemClock.now().millis()] {
            let at = Some(Moment::from_millis(millis));
            let woken = timeout(Duration::from_secs(5), alarm.wait_until(at)).await;
            assert_eq!(woken.unwrap().unwrap(), AlarmWake::Due, "{millis}");
        }
    }

    #[tokio::test]
    async fn what_is_far_or_never_does_not_ring() {
        let mut alarm = WallClockTimer::new().unwrap();
        let hour = SystemClock.now().after(Duration::from_hours(1));
        for at in [None, Some(hour), Some(Moment::from_millis(i64::MAX))] {
            assert!(timeout(SHORT, alarm.wait_until(at)).await.is_err(), "{at:?}");
        }
        // A wait that was dropped leaves nothing behind.
        let moment = Some(Moment::from_millis(1));
        assert_eq!(alarm.wait_until(moment).await.unwrap(), AlarmWake::Due);
        assert!(timeout(SHORT, alarm.wait_until(Some(hour))).await.is_err());
    }

    #[test]
    fn the_answers_of_the_kernel() {
        assert_eq!(wake_of(Ok(8)).unwrap(), Some(AlarmWake::Due));
        assert_eq!(wake_of(Err(Errno::CANCELED)).unwrap(), Some(AlarmWake::ClockSet));
        assert_eq!(wake_of(Err(Errno::AGAIN)).unwrap(), None);
        assert!(wake_of(Err(Errno::BADF)).is_err());
    }

    #[test]
    fn no_instant_switches_the_timer_off() {
        for millis in [i64::MIN, -1, 0, 1, 1000, i64::MAX] {
            let value = one_shot_timer(Moment::from_millis(millis)).it_value;
            assert!(value.tv_sec > 0 || value.tv_nsec > 0, "{millis}");
            assert!((0..1_000_000_000).contains(&value.tv_nsec), "{millis}");
        }
    }
}
