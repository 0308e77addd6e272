//! Judges the findings of a probe: one ruling for one criterion.
//!
//! The probe runs elsewhere; here its exit, its output and the presence of files are compared with
//! the expectations. [`classify()`] assigns failures of checks and of steps to a class.
//!
//! **Invariant:** only this module rules `pass`, and only if every expectation was looked at and
//! met. An expectation that could not be looked at is an `error`, which is never a pass.

mod classify;
mod counted;
mod denial;
mod judge;
mod output;
mod reverified;
mod signs;
#[cfg(test)]
mod tests;

pub use classify::{END, classify};
pub use counted::judge_tests;
pub use denial::SandboxDenial;
pub use judge::{CriterionJudgement, FilePresence, ProbeFindings, judge};
pub use reverified::{CriterionComparison, EvidenceFreshness, ReverifiedResult};
pub use signs::{FAILURE_SIGNS, FailureSign, SignPattern};
