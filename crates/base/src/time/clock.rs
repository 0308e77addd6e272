use super::Moment;

/// A source of the current time. The engine and the commands hold one; the core never does.
pub trait Clock: Send + Sync {
    /// Returns the current instant.
    fn now(&self) -> Moment;
}

/// The system clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock the others come from")]
    fn now(&self) -> Moment {
        Moment::from_millis(jiff::Timestamp::now().as_millisecond())
    }
}

/// A fixed clock, so a recorded session is the same every time.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Moment);

impl Clock for FixedClock {
    fn now(&self) -> Moment {
        self.0
    }
}
