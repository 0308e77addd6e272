//! The rules after a failed call: what it was, whether and when to call again, and when to leave a model alone.
//!
//! **Invariant:** pure; the time is passed in.

mod breaker;
mod classify;
mod delay;
mod failure;

pub use breaker::CircuitBreaker;
pub use classify::{classify_status, classify_wire, parse_retry_after};
pub use delay::RetryDelays;
pub use failure::{CallFailureClass, ModelFailure, ModelFailureKind};

#[cfg(test)]
mod tests;
