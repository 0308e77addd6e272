//! Pins: the files of the workspace that a plan names, as they were when it was approved.
//!
//! [`files()`] says which those are: what the texts of steps, checks and gates name as it stands, and all files of
//! the skills whose scripts are run. Of a run that is approved in the moment in which it begins they tell a reader of
//! the approval what ran; a run that was approved in advance is bound by the whole tree
//! ([`view`](super::view)).
//!
//! [`Pins`] holds those of skills: they were approved when they were installed, so each is looked at when a process
//! starts, and [`Held`] says afterwards whether one was touched meanwhile.
//!
//! A link is pinned as git keeps it: its content is the path that it leads to.

mod files;
mod held;
mod pins;
#[cfg(test)]
mod tests;
mod trail;

pub use files::{files, named_by, skills};
pub use held::Held;
pub use pins::Pins;
