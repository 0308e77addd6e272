//! Plans written and revised by models (DESIGN section 13): `wf plan`.
//!
//! A perceiver makes a task of the words of a user, a planner writes the plan, and the parser of `wf check` and the
//! memory of the workspace judge it. What `wf_core::agent::authoring` asks and reads, this module calls and checks.
//!
//! **Invariant:** a plan that has errors, or uses what memory forbids, is neither returned nor written.
//! **Invariant:** nothing here runs a plan.

mod author;
mod diagnostics;
mod draft;
mod file;
#[cfg(test)]
mod tests;

pub use author::{AuthoringUsage, PlanAuthor};
pub use draft::DraftPlan;
pub use file::{PlanFile, create_plan, replace_plan, require_new};
