//! The comparison of a run with its replay.
//!
//! What cannot be the same is left out first: times, ids, durations, signatures and what the machine can do. Then
//! the events of each task are compared in their order; tasks that run at the same time may end in another order.

mod comparable;
mod difference;

pub use comparable::{BodyDigest, comparable_event};
pub use difference::EventDifference;
