//! The sources of values, as far as they bear on trust (Silas 5.12).
//!
//! [`TaintLevel`] is the level of trust, [`PlanFlow`] the flow of values in a plan, [`TaintSummary`] the result.
//! A value is as little trusted as the least trusted value it was computed from. Only a recorded
//! approval makes it trusted again: the values shown in the decision.
//!
//! The outputs of a plan are known without its parameters: each [`MixedTaint`] names the parameters
//! it depends on, so a plan is analysed once, however often it is used.
//!
//! **Invariant:** one more untrusted source never makes anything more trusted.

mod flow;
mod mixed;
mod plan;
mod summary;
#[cfg(test)]
mod tests;

pub use flow::{OutputProducer, PlanFlow, StepFlow};
pub use mixed::{MixedTaint, TaintLevel};
pub use plan::{TaintAnalysis, taints};
pub use summary::{StepTaint, TaintSummary};
