//! What the finding of a probe means: one ruling for one criterion.
//!
//! The probe is run elsewhere; here its exit, its output and the presence of files are compared
//! with what was expected. Whose fault a failure is, [`classify()`] says, of checks and of steps.
//!
//! **Invariant:** only this module rules `pass`, and only where every expectation was looked at
//! and holds. What could not be looked at is an `error`, which is never a pass.

mod classify;
mod found;
mod judge;
mod output;
#[cfg(test)]
mod properties;
mod signs;
#[cfg(test)]
mod tests;
mod text;

pub use classify::{END, classify};
pub use found::{FileFound, Found};
pub use judge::{Judgement, judge};
pub use signs::{FAILURE_SIGNS, FailureSign, Sign};
