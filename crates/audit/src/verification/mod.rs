//! The comparison of the audit log with the database, and with the checkpoints that pin both.
//!
//! `audited` is the database as the records describe it, `verify` compares it with the one that is there, `checkpoint` is the
//! state of both at one time, to be signed, and `found` has what a verification can find.
//!
//! **Invariant:** a verification writes nothing.
//!
//! Start at `verify`.

pub(crate) mod audited;
pub(crate) mod checkpoint;
pub(crate) mod found;
pub(crate) mod verify;
