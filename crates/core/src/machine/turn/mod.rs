//! The turn: an input goes to the room that it answers, and what follows from it to the rooms that carry it out.
//!
//! **Invariant:** no other room calls across rooms.
//!
//! Start at `machine`, the interface of the engine, which also asks the rooms what may begin now. `inputs` hands each
//! input to its room, and `follow_ups` what the room leaves to others.

pub(super) mod machine;

mod follow_ups;
mod inputs;
