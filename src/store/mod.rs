//! What is kept of runs: SQLite in the state folder, and files under their digests beside it.
//!
//! One thread owns the write connection. Batches of events that wait together are committed
//! together, and their senders are told only then. Readers have connections of their own and
//! never block.
//!
//! **Invariant:** events are only ever added, each bound to the one before by its hash; the
//! tables beside them are projections that can be rebuilt from them.
//! **Invariant:** whoever decides or signs reads projections that were made from the log
//! ([`Reader::from_log`]), and none that lie beside it.
//! **Invariant:** nothing is written of a run but under the token of the lease that is its newest.
//! **Invariant:** only this module opens the database.

mod answers;
mod append;
mod backfill;
mod backup;
mod batch;
mod blobs;
mod bodies;
mod cache;
mod carry;
mod chain;
mod column;
mod connect;
mod connections;
mod cycles;
mod difference;
mod error;
mod examine;
mod fence;
mod find;
mod findings;
#[cfg(test)]
mod fixture;
mod fold;
mod folder;
mod from_log;
mod goals;
mod holder;
mod idle;
mod lease;
mod leases;
mod locks;
mod log;
mod log_row;
mod mark;
mod memory;
mod migrate;
mod opinions;
mod own_file;
mod owners;
mod process;
mod project;
mod prune;
mod queue;
mod reader;
mod rebuild;
mod restore;
mod rows;
mod schema;
mod state_event;
#[expect(
    clippy::module_inception,
    reason = "the module is named after its handle"
)]
mod store;
#[cfg(test)]
mod tests;
mod texts;
mod ticket;
mod tree;
mod uses;
mod view;
mod writer;

pub use answers::{Answer, DENIED, Enough, Taken};
pub use backup::{Manifest, backup};
pub use batch::{Appended, Batch, LogPlace, NewRun};
pub use blobs::Blobs;
pub use bodies::BodyFault;
pub use cache::{CacheEntry, CacheLookup, KeptFile};
pub use carry::Carried;
pub use chain::{BrokenChain, ChainFault, head, verify_chain};
pub use connections::{ConnectionRow, ConnectionState, Use};
pub use cycles::{Claim, CycleEnd, CycleRow, NoticeRow};
pub use difference::{ColumnDifference, Difference};
pub use error::StoreError;
pub use examine::{StateFault, examine};
pub use fence::{Fence, Token};
pub use find::FindError;
pub use folder::Folder;
pub use goals::{GoalNote, GoalRow, SlotRow};
pub use lease::{LEASE, Lease};
pub use locks::Taking;
pub use log_row::LogRow;
pub use memory::Which;
pub use opinions::{Feedback, RepairRow};
pub use own_file::{NotAFile, own_file};
pub use process::{Process, Seen};
pub use prune::Pruned;
pub use reader::Reader;
pub use restore::restore;
pub use schema::SchemaFault;
pub use state_event::{ApprovalUse, PrunedRun, StateEvent, StateFact, WithdrawnApproval};
pub use store::{Durability, Retention, Store};
pub use ticket::Ticket;
pub use view::{ArtifactRow, AttemptRow, CheckRow, Owner, RunFilter, RunRow, RunState, StepRow};
