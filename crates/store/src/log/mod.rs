//! The log as the database has it: the form of its rows, and the hashes that bind each to the one before.
//!
//! `tail` has the end of the log, to which a row is added; `chain` finds altered rows, and has the record of a run;
//! `mark` is the file with the last event, outside of the database; `state_event` has the events of no run.
//!
//! **Invariant:** a row is only ever added. What is removed later is its body, and a later event says so.
//!
//! Start at `tail`, then `chain`.

pub(crate) mod chain;
pub(crate) mod mark;
pub(crate) mod state_event;
pub(crate) mod tail;
