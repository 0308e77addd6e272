//! Asks gates: predicates and guardrails are computed, programs are run as checks are, and a model
//! is not there yet.
//!
//! ```text
//! Pass::ask ──▶ ask ──▶ gate::predicate, gate::guardrail     compute
//!                  └──▶ script ──▶ Hands ──▶ said            what the program printed
//! ```
//!
//! **Invariant:** what a gate is asked about reaches its program through the environment alone,
//! without secrets. **Invariant:** a program whose files are not what they were when the run began
//! gives no answer.

mod ask;
mod probe;
mod said;
mod script;
#[cfg(test)]
mod tests;

pub use ask::{Site, ask};
pub use probe::as_check;
pub(super) use probe::hide;
pub(super) use script::{Given, run_viewed};
