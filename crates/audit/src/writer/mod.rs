//! The writers of the audit log: the auditor beside an engine, and the commands that have none.
//!
//! `auditor` is the thread that listens to the bus, `desk` writes down what it hears, and `fill` reads from the database what
//! no auditor heard. `act` records what a command did outside of runs; `prune` and `restore` change the log as a whole.
//!
//! **Invariant:** nobody waits for the auditor, and it can give no orders.
//! **Invariant:** each event of the database is in the log once, in the order of the database.
//!
//! Start at `auditor`, then `desk`.

pub(crate) mod act;
pub(crate) mod auditor;
pub(crate) mod desk;
pub(crate) mod fill;
pub(crate) mod prune;
pub(crate) mod restore;
