//! The decisions of `wf`, as pure functions of their inputs.
//!
//! **Invariant:** no clock, no I/O, no async, no randomness: time, files and answers arrive as data. The same
//! inputs give the same decisions, whatever drives them. Start at [`machine`].

pub mod agent;
pub mod calls;
pub mod connection;
pub mod envelope;
pub mod gate;
pub mod ggs;
pub mod goal;
pub mod health;
pub mod judgement;
pub mod machine;
pub mod memory;
pub mod observe;
pub mod permit;
pub mod risk;
pub mod run_ledgers;
pub mod session;
pub mod suggestion;
pub mod test_report;
pub mod ticket_queue;
pub mod undo;
pub mod verify;
