//! The state of runs: SQLite in the state folder, and files under their digests beside it.
//!
//! One thread owns the write connection. Batches of events waiting together are committed together, and their
//! senders get their answers only then. Readers have connections of their own and never block; those of pages
//! stay open ([`ReaderPool`]).
//!
//! The rooms, each of which names only rooms below it:
//!
//! ```text
//! room         what it is                                              what it names, besides `files`
//! maintenance  pruning, backups, upgrades, the search for damage       all below
//! tables       goals, memory, people, services; the batch of a run     all below
//! views        the queries about runs, as reports and pages show them  db events log lease
//! projections  the tables that follow from the log, and their rebuild  db events log
//! events       the events of the log, added and read                   db log
//! db           schema, connections, the thread that writes, readers    log lease
//! log          the form of the log: hashes, its mark, facts            lease
//! lease        which process works on what: leases, locks, permits     -
//! files        the state folder, and the files beside the database     -
//! ```
//!
//! One name leads back up: a reader holds the projections it folded (`db::reader` names `projections`). All rooms use
//! `error`, the failures of all rooms, and `column`, the columns of rows. [`feed`] is apart from all of this: the messages
//! about events, once they are durable.
//!
//! Start at [`Store`] and [`StoreReader`] in `db`, then follow a batch: `tables::batch`, `log::tail`,
//! `projections::project`. Most other files are one table or one query, and read alone.
//!
//! **Invariant:** events are only ever added, each bound to the one before by its hash; the
//! tables beside them are projections that can be rebuilt from them.
//! **Invariant:** decisions and signatures rest on projections built from the log
//! ([`StoreReader::from_log`]), never on the tables beside it.
//! **Invariant:** a run is written only under the token of its newest lease.
//! **Invariant:** only this crate opens the database.

pub mod feed;

mod column;
mod db;
mod error;
mod events;
mod files;
mod lease;
mod log;
mod maintenance;
mod projections;
mod tables;
#[cfg(test)]
mod tests;
mod views;

pub use db::fence::RunFence;
pub use db::reader::StoreReader;
pub use db::store::Store;
pub use db::ticket::WriteTicket;
pub use error::{StoreError, allow_no_state};
pub use events::log_row::LogRow;
pub use events::verification::{head, verify_chain, verify_chain_after};
pub use files::blobs::BlobStore;
pub use files::call_bodies::CallBodyStore;
pub use files::folder::StateFolder;
pub use files::own_file::{FileTypeError, open_regular, own_file};
pub use files::planning::{PlanningLog, PlanningStore};
pub use files::reserve::SpaceReserve;
pub use files::settings::{RunRetention, StoreDurability};
pub use lease::locks::{LockAcquisition, LockWait};
pub use lease::permits::{PermitAnswer, PermitTask};
pub use lease::process::{ProcessIdentity, ProcessLiveness};
pub use lease::run_lease::{FencingToken, LEASE, RunLease};
pub use log::chain::{BrokenChain, ChainFault};
pub use log::state_event::{
    ApprovalUse, ErasedRows, PrunedArtifacts, PrunedRun, RunSummary, StateEvent, StateFact, TableChange,
    WithdrawnApproval,
};
pub use log::tail::LogPosition;
pub use maintenance::backup::{ACCEPTANCE_SUFFIX, BackupManifest, backup};
pub use maintenance::bodies::BodyFault;
pub use maintenance::carry::CarriedUses;
pub use maintenance::examine::{StateFault, examine, examine_after};
pub use maintenance::prune::{PRUNED_AT_ONCE, PruneResult};
pub use maintenance::restore::{RESTORE_PREFIX, restore};
pub use maintenance::schema::SchemaFault;
pub use maintenance::upgrade::{OpenRun, StateUpgrade};
pub use projections::cache::{CacheEntry, CacheLookup, UnrecordedResult};
pub use projections::difference::{ColumnDifference, ProjectionDifference};
pub use tables::answers::{AnswerEffect, AnswerQuorum, ApprovalAnswer, DENIED};
pub use tables::batch::{AppendResult, EventBatch, NewRun};
pub use tables::claim::ReconciliationClaim;
pub use tables::connections::{ConnectionApprovalUse, ConnectionRow};
pub use tables::cycles::{GoalBlock, ReconciliationEnd, ReconciliationRow, SlotBlock};
pub use tables::goals::{GoalRow, LedgerGoal, SlotRow};
pub use tables::health::CallLedger;
pub use tables::memory::MegramSelection;
pub use tables::opinions::{RepairFeedback, RepairRow};
pub use tables::outbox::{NotificationRow, UndeliveredNotification};
pub use tables::suggestions::SUGGESTION;
pub use tables::undo::UNDO_OF;
pub use views::find::FindError;
pub use views::left::LeftRow;
pub use views::page::{ArtifactPage, StepPage, StepSelection, StepTimes};
pub use views::reader_pool::{ReaderPool, ViewReader};
pub use views::view::{ArtifactRow, AttemptRow, CheckRow, RunFilter, RunOwner, RunRow, RunState, StepRow};
