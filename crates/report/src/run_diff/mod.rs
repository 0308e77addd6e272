//! The differences between two runs: the differences in its course, and those in its beginning.
//!
//! Each run becomes lists of facts (`facts`), one list for each [`RunPart`]; two lists are compared name by name and
//! field by field (`compare`). Whether a step is the same step is decided by `wf_model::definition` alone.
//!
//! **Invariant:** a run differs in nothing from itself.

mod compare;
mod difference;
mod facts;
#[cfg(test)]
mod tests;
mod text;

pub use compare::run_diff;
pub use difference::{DifferingEntry, DifferingPart, RunDiff, RunIdentity, RunPart, ValueDifference};
pub use facts::RunSubject;
