//! The auditor: an observer apart from all work, with a log of its own.
//!
//! It listens to the bus and writes one line for each message into `.wf/audit/log.jsonl`, outside of
//! the database, each bound to the line before by its hash and to the database's event by that
//! event's number and hash. So either log reveals manipulations of the other. [`verify()`] compares
//! them, a [`Checkpoint`] pins both, and [`stats`] finds patterns.
//!
//! ```text
//! verification, writer ──▶ log ──▶ stats ──▶ records
//! ```
//!
//! Each room uses those to its right, and the first two do not know each other:
//!
//! - `verification`: the comparison with the database, and with checkpoints.
//! - `writer`: the auditor, and the commands that write without one.
//! - `log`: the files of the log, and what is kept beside them.
//! - [`stats`]: the patterns in a stretch of the log.
//! - `records`: the lines, their hashes, and what they come to.
//!
//! Start at [`AuditRecord`], then [`Auditor`] and [`verify()`].
//!
//! **Invariant:** it can give no orders (artoo, principle 5 and R6). Its only handle on an engine is a
//! [`BusSubscription`](wf_store::feed::BusSubscription), which can receive and nothing else; `tests/tidy.rs` keeps
//! engines, machines and publishers out of this crate. **Invariant:** a run never waits for it. **Invariant:** the log
//! has every event of the database once, in the database's order; an event no auditor heard is read from the database,
//! and marked as such.

mod log;
mod records;
pub mod stats;
mod verification;
mod writer;

#[cfg(test)]
mod tests;

pub use log::{
    audit_log::{FOLDER, LOG},
    read::{AuditLogLines, path, range},
};
pub use records::{
    chain::{AuditChainVerifier, LogFault},
    record::{AuditEntry, AuditRecord, AuditSource, LineFault, VERSION},
};
pub use verification::{
    checkpoint::{AuditHead, Checkpoint, PAYLOAD, TYPE},
    found::{AuditFindings, AuditNote, TamperEvidence},
    verify::{verify, verify_since},
};
pub use writer::{
    auditor::{Auditor, AuditorConfig, AuditorOutcome},
    desk::record as record_act,
    prune::{prune, restore},
};
