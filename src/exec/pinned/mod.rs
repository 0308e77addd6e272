//! Pins: the files of the workspace that a plan executes, as they were when it was approved.
//!
//! [`files()`] says which those are, [`Pins`] holds them, and [`Pins::hold`] looks at them when a
//! process starts: each is found from the workspace's own descriptor, part by part, and read
//! through what was opened. A compiled program is executed through that descriptor too; of what an
//! interpreter opens once more, [`Held`] says afterwards whether it was touched meanwhile.
//!
//! A link is pinned as git keeps it: its content is the path that it leads to.
//!
//! **Invariant:** what a plan executes is found by the same function when it is approved and when
//! a process starts.

mod files;
mod held;
mod pins;
#[cfg(test)]
mod tests;
mod trail;

pub use files::{files, skills};
pub use held::Held;
pub use pins::Pins;
