//! The fold: the change that each fact makes to the state.
//!
//! **Invariant:** it decides nothing and asks for nothing, so a replay leads to the same state.
//!
//! Start at `events`, which hands each fact on. `task_end` and `reopen` move tasks; the other files are named after the facts
//! that they fold.

pub(in crate::machine) mod compaction;
pub(in crate::machine) mod gates;
pub(in crate::machine) mod guidance;
pub(in crate::machine) mod merges;
pub(in crate::machine) mod reused;
pub(in crate::machine) mod task_end;

pub(in crate::machine::state) mod agents;
pub(in crate::machine::state) mod checks;
pub(in crate::machine::state) mod events;
pub(in crate::machine::state) mod reopen;
