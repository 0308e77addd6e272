//! The files of the audit log: how they are locked, added to, read, and begun anew.
//!
//! `audit_log` is the log as one process writes it, under the lock that all writers take; `segments` has the files, `rotate`
//! begins the next one, `read` has their lines as of one instant. So that no process reads all of the log before it writes,
//! `mark` keeps beside it what is `known` of it, and `tail` reads its end. `read` also has the window of a report, read once
//! one is due.
//!
//! **Invariant:** a record is added behind the last one, whoever wrote that.
//! **Invariant:** what is kept beside the log only saves time: without it, the log is read.
//!
//! Start at `audit_log`, then `segments`.

pub(crate) mod audit_log;
pub(crate) mod known;
pub(crate) mod mark;
pub(crate) mod read;
pub(crate) mod rotate;
pub(crate) mod segments;
pub(crate) mod tail;
