//! The fold: the change that each fact makes to the state.
//!
//! **Invariant:** it decides nothing and asks for nothing, so a replay leads to the same state.
//!
//! Start at `events`: it gives each fact to the parts, then to the files of facts about more than one part. `task_end` and
//! `reopen` move tasks; the other files are named after their facts.

pub(in crate::machine) mod reused;
pub(in crate::machine) mod task_end;

pub(in crate::machine::state) mod agents;
pub(in crate::machine::state) mod events;
pub(in crate::machine::state) mod evidence;
pub(in crate::machine::state) mod gates;
pub(in crate::machine::state) mod guidance;
pub(in crate::machine::state) mod merges;
pub(in crate::machine::state) mod reopen;
