//! The records of what outlives a run or is none, and the batch of a run, which touches them. Each file has the jobs and the
//! queries of one table or few.
//!
//! - Goals: `goals`, `slots`, `reconciliations`, `claim`, `backfill`, `deployment`, `outbox`, `opinions`.
//! - Memory: `memory`, `notes`, and `erase`, which removes the texts for good.
//! - People: `answers`, `suggestions`, `sessions`.
//! - Services: `connections`, `health`.
//! - Runs: `batch`, the events of a run and all written with them; `undo`, the runs undoing another one; `run_choice`, the runs of a
//!   list that is filtered and sorted.
//!
//! **Invariant:** the transaction changing a recorded table adds an event about it, which is what later decisions read.
//! Answers and the health of services have tables of their own: an answer is signed, and health only delays calls.
//!
//! Start at `batch`, then `goals` and `claim`.

pub(crate) mod answers;
pub(crate) mod backfill;
pub(crate) mod batch;
pub(crate) mod claim;
pub(crate) mod connections;
pub(crate) mod deployment;
pub(crate) mod erase;
pub(crate) mod goals;
pub(crate) mod health;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod opinions;
pub(crate) mod outbox;
pub(crate) mod reconciliations;
pub(crate) mod run_choice;
pub(crate) mod sessions;
pub(crate) mod slots;
pub(crate) mod suggestions;
pub(crate) mod undo;
