//! Gates: rules at trigger points that continue, block or ask (DESIGN section 6; Silas 5.4).
//!
//! A [`GateContext`] is the input of a gate; an [`GateAnswer`] is the output of its provider, a
//! [`GateResult`] the record of that, [`GateOutcome`] the outcome of all gates of a trigger point. Pure:
//! running programs and reading files is left to the caller.
//!
//! **Invariant:** a quality gate decides nothing and rewrites nothing. **Invariant:** only the keys
//! in [`ALLOWED_MUTATIONS`] are ever rewritten.

mod computed;
mod escalation;
pub mod guardrail;
pub mod llm;
mod pass;
pub mod predicate;
mod result;
mod ruling;
mod subject;
mod supplement;
#[cfg(test)]
mod tests;

pub use computed::computed_answer;
pub use escalation::{BUILT_IN, ResolvedEscalation, chain, escalation, next_escalation};
pub use pass::GatePass;
pub use result::{ALLOWED_MUTATIONS, GateAction, GateAnswer, GateContext, GateOutcome, GateResult, GateText};
pub use ruling::{GateRuling, asking, ruling};
pub use subject::{no_provider, subject, trigger_subject};
pub use supplement::{CALL_CONTEXT_CHARS, CALL_TEXTS};
