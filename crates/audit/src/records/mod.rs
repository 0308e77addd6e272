//! The records of the audit log, and the folds over many of them.
//!
//! `record` is one line, with the hash that binds it to the line before; `words` has the kinds of the auditor's own
//! records, and `summary` makes records of messages and of rows of the database. `chain` finds lines altered. `ledger`
//! and `unseen` are folds over records: the state of the log, and the events no auditor heard; the head of a file of the
//! log, in `ledger`, has both, for readers of that file alone.
//!
//! **Invariant:** nothing here reads a file of the log.
//!
//! Start at `record`, then `ledger`.

pub(crate) mod chain;
pub(crate) mod ledger;
pub(crate) mod record;
pub(crate) mod summary;
pub(crate) mod unseen;
pub(crate) mod words;
