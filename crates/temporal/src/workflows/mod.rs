//! Workflows and activities as the server knows them: of a run, of a piece of its work, of a named lock.
//!
//! They name each other, so they are one room: a workflow orders activities, and an activity asks its workflow. None of them
//! decides anything: a workflow passes occurrences to its driver or its queue, and carries out the commands.
//!
//! **Invariant:** other workers and later versions replay a workflow from its history, so its requests to the server follow
//! from that alone (`pool`).
//!
//! Start at [`workflow`], then `waits`, `activities`; `lock_workflow` has the queue of a named lock.

pub(crate) mod activities;
pub(crate) mod inquiry;
pub(crate) mod lock_workflow;
pub(crate) mod pool;
pub(crate) mod waits;
pub mod workflow;
