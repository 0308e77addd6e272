//! Plans a run makes, inside the envelope the approved plan declares.
//!
//! ```text
//! text of an output ──▶ parsed, checked, lowered ──▶ [`breaches`] ──▶ PlanGenerated ──▶ nested run
//!                          (as `wf check` does)          │
//!                                                        └── any: the attempt fails, with all of them
//! ```
//!
//! A generated plan is a workflow file only the run knows. Nobody has approved it, so an approver approves what it may
//! be: [`PlanEnvelope`](wf_model::PlanEnvelope). The envelope is closed: every key of a plan, a step, a check and an
//! agent is either compared with it, or harmless inside it, or refused. [`breaches`] takes these types apart completely,
//! so a new key does not compile until it is one of the three.
//!
//! What runs is [`bounded()`]: the gates of the plan declaring the envelope hold in it, too, its budget is at most that of
//! the envelope and of that plan, and it has no more attempts at a time than that plan.
//!
//! **Invariant:** the text is stored, and its digest is in a durable event, before anything of it begins. After a crash
//! the text with this digest goes on; it is never computed again.
//! **Invariant:** a plan with a breach never begins; one without begins once.
//! **Invariant:** the checks of the step are the only judges of it, however the nested run ends that it was.

mod breach;
mod work;

pub use breach::{EnvelopeBreach, bounded, breaches, misfit_params, missing_outputs};

/// The maximum size of the text of a generated plan, in bytes.
pub const MAX_PLAN_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests;
