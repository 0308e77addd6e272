//! Evaluates gates: predicates and guardrails are computed, programs are run like checks; models
//! are not supported yet.
//!
//! ```text
//! Pass::ask ──▶ ask ──▶ gate::predicate, gate::guardrail     compute
//!                  └──▶ script ──▶ ProcessExecutor ──▶ output    the program's output
//! ```
//!
//! **Invariant:** the context of a gate reaches its program through the environment alone, without
//! secrets. **Invariant:** a program whose files have changed since the run began gives no answer.

mod ask;
mod output;
pub mod planner;
mod probe;
mod script;
#[cfg(test)]
mod tests;

pub use ask::{GateEnvironment, ask};
pub use probe::as_check;
pub(super) use script::{ScriptInput, run_viewed};
