//! What is kept of runs: SQLite in the state folder, and files under their digests beside it.
//!
//! One thread owns the write connection. Batches of events that wait together are committed
//! together, and their senders are told only then. Readers have connections of their own and
//! never block.
//!
//! **Invariant:** events are only ever added, each bound to the one before by its hash; the
//! tables beside them are projections that can be rebuilt from them.
//! **Invariant:** only this module opens the database.

mod view;

pub use view::{AttemptRow, CheckRow, RunRow, RunState, StepRow};
