//! The writers of the audit log: the auditor beside an engine, and the commands that have none.
//!
//! `auditor` is the thread that listens to the bus, `desk` writes down what it hears, and `fill` reads from the database what
//! no auditor heard. `desk` also records what a command did outside of runs; `prune` changes the log as a whole: it removes
//! old segments, and puts back a log from a backup.
//!
//! **Invariant:** nobody waits for the auditor, and it can give no orders.
//! **Invariant:** each event of the database is in the log once, in the order of the database.
//!
//! Start at `auditor`, then `desk`.

pub(crate) mod auditor;
pub(crate) mod desk;
pub(crate) mod fill;
pub(crate) mod prune;
