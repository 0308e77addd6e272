//! Gates: rules at trigger points that continue, block or ask (DESIGN section 6; Silas 5.4).
//!
//! A [`Context`] says what a gate is asked about; an [`Answer`] is what its provider says, a
//! [`GateResult`] what is recorded of that, [`Gated`] what comes of all gates of a trigger point.
//! Pure: whoever runs programs and looks at files is elsewhere.
//!
//! **Invariant:** a quality gate decides nothing and rewrites nothing. **Invariant:** only what
//! [`ALLOWED_MUTATIONS`] names is ever rewritten.

mod computed;
mod escalation;
pub mod guardrail;
pub mod llm;
mod pass;
pub mod predicate;
mod result;
mod ruling;
#[cfg(test)]
mod sample;
mod subject;

pub use computed::computed;
pub use escalation::{BUILT_IN, Resolved, after, chain, escalation};
pub use pass::Pass;
pub use result::{ALLOWED_MUTATIONS, Action, Answer, Context, GateResult, Gated};
pub use ruling::{Ruling, ruling};
pub use subject::{about, no_provider, subject};
