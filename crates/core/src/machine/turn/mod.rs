//! The turn: an input goes to its room, and its follow-ups to theirs.
//!
//! **Invariant:** no other room calls across rooms.
//!
//! Start at `machine`, the interface of the engine; it also asks the rooms for the next work. `inputs` hands each
//! input to its room, and `follow_ups` each follow-up.

pub(super) mod machine;

mod follow_ups;
mod inputs;
