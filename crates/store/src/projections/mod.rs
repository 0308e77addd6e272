//! The tables following from the log, and what builds and compares them.
//!
//! ```text
//! event ──▶ project, uses ──▶ the tables of runs
//!       ──▶ row_log, row_snapshot  ──▶ the recorded tables: goals, memory, connections, sessions, suggestions
//! ```
//!
//! A writer applies each event in the transaction that adds it; `rebuild` applies all of them anew, `fold` into temporary
//! tables of a reader, and `difference` compares. `from_log` has the readers that believe only what they folded, and the trees of approved runs.
//! `cache` has the results for reuse, each compared with its event.
//!
//! **Invariant:** the tables hold nothing that does not follow from events, and can be removed and rebuilt.
//!
//! Start at `project`, then `fold` and `row_log`.

pub(crate) mod cache;
pub(crate) mod difference;
pub(crate) mod fold;
pub(crate) mod from_log;
pub(crate) mod project;
pub(crate) mod rebuild;
pub(crate) mod row_log;
pub(crate) mod row_snapshot;
pub(crate) mod uses;
