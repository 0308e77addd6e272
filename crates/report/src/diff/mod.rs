//! The changes in meaning between two versions of a plan, for a reviewer.
//!
//! Two [`Consent`](super::consent::PlanSummary)s are compared line by line, so an approver and a
//! reviewer cannot see different things. Changes of a file's formatting change no line.
//!
//! **Invariant:** a change that lets more happen, or more pass, is marked as such ([`ChangeDirection::Looser`])
//! and comes first; where the direction is unknown, it is a plain change, never a narrowing.

mod change;
mod find;
#[cfg(test)]
mod tests;
mod text;

pub use change::{ChangeDirection, PartChange, PlanDiff, SummaryChange};
pub use find::diff;
