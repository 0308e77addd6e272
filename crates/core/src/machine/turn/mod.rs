//! The turn: an input goes to the room that it answers, and what follows from it to the rooms that carry it out.
//!
//! **Invariant:** no other room calls across rooms.
//!
//! Start at `machine`, the interface of the engine; `inputs` hands each input to its room.

pub(super) mod machine;

mod inputs;
