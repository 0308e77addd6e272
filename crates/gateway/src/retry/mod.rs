//! The rules after a failed call: what it was, whether and when to call again, and for how long to wait before that.
//!
//! **Invariant:** pure; the time is passed in.

mod classify;
mod delay;
mod failure;

pub use classify::{classify_status, classify_wire};
pub use delay::RetryDelays;
pub use failure::{CallFailureClass, ModelFailure, ModelFailureKind};

#[cfg(test)]
mod tests;
