//! The messages between the driver of a run, its workflow and the workers, and those of a deployed goal.
//!
//! Histories keep them for workers of later versions: a field is added with a default, and none changes its meaning.
//!
//! **Invariant:** a large part goes by digest, and not through a history.
//!
//! Start at [`order`]: the orders of work and the reports on it. [`command`] has the input and the output of a driver,
//! [`goal_order`] the messages of a goal.

pub mod command;
pub mod goal_order;
pub mod order;
