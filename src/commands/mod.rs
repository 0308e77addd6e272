//! The commands, one file each: the arguments, and the implementation.
//!
//! The comments on the arguments of a command are its help. The rooms are the groups of `wf help`: `running`, `looking`,
//! `trust`, `goals`, `agents` and `state`. Commands do not start each other; some share questions and texts (`attest`
//! its seals, `goal` its author, `skill` the skills that may be used). Start at `running::run`.
//!
//! **Invariant:** a command returns its outcome; only `start` turns that into an exit code and a message.

pub mod agents;
pub mod goals;
pub mod looking;
pub mod running;
pub mod state;
pub mod trust;
