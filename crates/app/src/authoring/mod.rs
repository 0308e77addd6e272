//! Plans written and revised by models (DESIGN section 13): `wf plan`.
//!
//! A perceiver makes a task of the words of a user, a planner writes the plan, and the parser of `wf check` and the
//! memory of the workspace judge it. What `wf_core::agent::authoring` asks and reads, this module calls and checks.
//!
//! **Invariant:** a plan with errors, or with something forbidden by memory, is neither returned nor written.
//! **Invariant:** nothing here runs a plan.
//! **Invariant:** each call is metered, and its exchange is stored before anything relies on it.

mod author;
mod desk;
mod diagnostics;
mod draft;
mod file;
mod notes;
mod perceive;
mod requests;
#[cfg(test)]
mod tests;

pub use author::{AuthoringSettings, PlanAuthor};
pub use draft::DraftPlan;
pub use file::{PlanFile, create_plan, replace_plan, require_new};
pub use requests::PlanningRequests;
