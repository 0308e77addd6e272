//! Deployed goals: a workflow on the server decides about each, from its deployment to its recall.
//!
//! [`keeper`] has the driver of a goal with its permits (`permits`) and its records (`log`), without waits; [`workflow`] waits
//! for it, and `activities` start its runs and send its notifications; `program` answers the commands of the workspace.
//!
//! **Invariant:** a run of a goal starts only under an approval from its deployment, verified again.
//!
//! Start at [`keeper`], then [`workflow`].

pub(crate) mod activities;
pub mod keeper;
pub(crate) mod log;
pub(crate) mod permits;
pub(crate) mod program;
pub mod workflow;
