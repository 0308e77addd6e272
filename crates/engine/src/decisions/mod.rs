//! The decisions that others make about a run: gates, approvers and planners.
//!
//! The machine asks, and decides what an answer means. **Invariant:** an answer counts only as far as its context shows
//! what it is about: approvers sign the request with its evidence, and planners are read before they are believed.
//!
//! Start at `gating`; `asking` looks for answers of people, `planning` and `guidance` call a planner.

pub(crate) mod asking;
pub(crate) mod gating;
pub(crate) mod guidance;
pub(crate) mod planning;
