//! The loop of one run: it waits for the next input, has the machine decide, makes the decision durable, and carries out
//! its effects.
//!
//! ```text
//! begin ──▶ dispatcher: wait ──▶ machine ──▶ commit queue ──▶ durable ──▶ effects ──▶ units of work ──▶ input ──┐
//!                        ▲──────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The dispatcher alone owns the machine; everything else runs in the units it owns.
//! **Invariant:** an effect is carried out only after the events of its turn are durable.
//! **Invariant:** no unit outlives the dispatcher that started it.
//!
//! Start at `dispatcher`, then `effects` and `units`: the latter name the room that does each kind of work. `begin` starts
//! or resumes an outermost run, which `opening` prepares.

pub(crate) mod begin;
pub(crate) mod commit_queue;
pub(crate) mod dispatcher;
mod effects;
mod locks;
pub(crate) mod opening;
mod permits;
pub(crate) mod recovery;
mod session_watch;
mod timers;
pub(crate) mod units;
