//! Pins: the files of the workspace a plan names, as they were when it was approved.
//!
//! [`files()`] lists them: the files the texts of steps, checks and gates name literally, and all files of the skills
//! whose scripts are run. For a run approved as it begins, they show a reader of the approval what ran; a run approved
//! in advance is bound by the whole tree ([`view`](super::view)).
//!
//! [`PinnedFiles`] contains those of skills: they were approved when they were installed, so each is checked when a
//! process starts, and [`SkillFileGuard`] reports afterwards whether one was touched meanwhile.
//!
//! A link is pinned as in git: its content is its target path.

mod files;
mod pins;
#[cfg(test)]
mod tests;
mod trail;

pub use files::{files, files_named_by, skills};
pub use pins::{PinnedFiles, SkillFileGuard};
