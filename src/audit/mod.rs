//! The auditor: an observer apart from everything that works, with a log of its own.
//!
//! It listens to the bus and writes one line for each message into `.wf/audit/log.jsonl`, outside
//! of the database, each bound to the line before by its hash and to the database's event by that
//! event's number and hash. So either log tells of what was done to the other. [`verify()`] compares
//! them, a [`Checkpoint`] pins both, and [`stats`] says what patterns there are.
//!
//! **Invariant:** it can instruct nobody (artoo, principle 5 and R6). Its only handle on an engine
//! is a [`Tap`](crate::bus::Tap), which can receive and nothing else; `tests/layers.rs` keeps
//! engines, machines and publishers out of this module.
//! **Invariant:** nobody waits for it while a run goes on.
//! **Invariant:** the log has every event of the database once, in the database's order; what no
//! auditor heard is read in the database, and said to be.

mod act;
mod auditor;
mod chain;
mod checkpoint;
mod desk;
mod fill;
mod found;
mod known;
mod ledger;
mod log;
mod mark;
mod read;
mod record;
mod restore;
mod since;
pub mod stats;
mod summary;
mod tail;
mod verify;
mod view;
mod words;

#[cfg(test)]
mod tests;

pub use act::record as record_act;
pub use auditor::{Auditor, Ended, Start};
pub use chain::{Chain, LogFault};
pub use checkpoint::{Checkpoint, PAYLOAD, TYPE};
pub use found::{Fault, Found, Note};
pub use log::{FOLDER, LOG};
pub use read::{Lines, path};
pub use record::{Entry, LineFault, Record, Source, VERSION};
pub use restore::restore;
pub use verify::verify;
