//! The decisions others make about a run: gates, approvers and planners.
//!
//! The machine asks, and decides the meaning of an answer. **Invariant:** an approval counts only for the request and
//! the evidence that were signed. **Invariant:** the plans in a proposal are read before it is accepted.
//!
//! Start at `gating`; `asking` looks for answers of people, `planning` and `guidance` call a planner.

pub(crate) mod asking;
pub(crate) mod gating;
pub(crate) mod guidance;
pub(crate) mod planning;
