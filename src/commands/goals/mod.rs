//! The commands about goals: their schedules, the daemon that keeps them, and the queue of what they owe.
//!
//! Start at `goal`, one file for each of its commands.

pub mod daemon;
pub mod goal;
pub mod queue;
