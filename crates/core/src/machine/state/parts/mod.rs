//! The parts of the state: each is changed by its own methods, and read by questions.
//!
//! **Invariant:** the fields of a part are private to its file. Its changes are visible in the state, whose fold calls them,
//! and nowhere else; a room has its questions.
//!
//! Start at `task_record`, the part of one task, with `history`, the results of its attempts. `gates`, `proof`, `agents`
//! and `control` are the parts of the run, by room.

pub(in crate::machine) mod agents;
pub(in crate::machine) mod control;
pub(in crate::machine) mod gates;
pub(in crate::machine) mod history;
pub(in crate::machine) mod proof;
pub(in crate::machine) mod task_record;
