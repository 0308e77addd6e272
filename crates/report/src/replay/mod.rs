//! The comparison of a run with its replay.
//!
//! Incomparable values are left out first: times, ids, durations, signatures and the abilities of the machine. Then
//! the events of each task are compared in their order; tasks running at the same time may end in another order.

mod comparable;
mod difference;

pub use comparable::{BodyDigest, comparable_event};
pub use difference::EventDifference;
