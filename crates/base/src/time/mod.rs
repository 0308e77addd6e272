//! Instants and durations as the language writes them.
//!
//! **Invariant:** nothing below layer 4 reads a clock; instants arrive as [`Moment`] values.

mod clock;
mod duration;
mod moment;

pub use clock::{Clock, FixedClock, SystemClock};
pub use duration::{BadDuration, format_duration, parse_duration};
pub use moment::{BadMoment, Moment};
