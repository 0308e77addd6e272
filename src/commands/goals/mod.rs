//! The commands about goals: their schedules, their daemon, and the queue of their debts.
//!
//! Start at `goal`, one file for each of its commands.

pub mod daemon;
pub mod goal;
pub mod queue;
