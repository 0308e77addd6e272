//! Instants and durations as the language writes them.
//!
//! **Invariant:** nothing below layer 4 reads a clock; instants arrive as [`Moment`] values.

mod clock;
mod duration;
mod moment;
mod retry_after;

pub use clock::{Clock, FixedClock, SystemClock};
pub use duration::{BadDuration, format_duration, parse_duration};
pub use moment::{BadMoment, Moment};
pub use retry_after::parse_retry_after;
