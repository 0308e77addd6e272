//! The records of what is not a run, or outlives one: each file has the jobs and the queries of one table or few.
//!
//! - Goals: `goals`, `claim`, `cycles`, `backfill`, `deployment`, `outbox`, `opinions`.
//! - Memory: `memory`, `notes`, and `erase`, which removes the texts for good.
//! - People: `answers`, `suggestions`, `sessions`, `undo`.
//! - Services: `connections`, `health`.
//!
//! **Invariant:** what decides is recorded as an event in the transaction that writes the row; only `health` is not.
//!
//! Start at `goals`, then `claim`.

pub(crate) mod answers;
pub(crate) mod backfill;
pub(crate) mod batch;
pub(crate) mod claim;
pub(crate) mod connections;
pub(crate) mod cycles;
pub(crate) mod deployment;
pub(crate) mod erase;
pub(crate) mod goals;
pub(crate) mod health;
pub(crate) mod memory;
pub(crate) mod notes;
pub(crate) mod opinions;
pub(crate) mod outbox;
pub(crate) mod sessions;
pub(crate) mod suggestions;
pub(crate) mod undo;
