//! The state of runs: SQLite in the state folder, and files under their digests beside it.
//!
//! One thread owns the write connection. Batches of events that wait together are committed
//! together, and their senders get their answers only then. Readers have connections of their own
//! and never block; those of pages stay open ([`ReaderPool`]).
//!
//! **Invariant:** events are only ever added, each bound to the one before by its hash; the
//! tables beside them are projections that can be rebuilt from them.
//! **Invariant:** decisions and signatures rest on projections built from the log
//! ([`StoreReader::from_log`]), never on the tables beside it.
//! **Invariant:** a run is written only under the token of its newest lease.
//! **Invariant:** only this module opens the database.

pub mod feed;

mod answers;
mod artifact_limit;
mod backfill;
mod backup;
mod batch;
mod bodies;
mod carry;
mod claim;
mod column;
mod connections;
mod cycles;
mod db;
mod deployment;
mod erase;
mod error;
mod events;
mod examine;
mod files;
mod goals;
mod health;
mod lease;
mod log;
mod memory;
mod needed;
mod notes;
mod opinions;
mod outbox;
mod projections;
mod prune;
mod restore;
mod schema;
mod sessions;
mod suggestions;
#[cfg(test)]
mod tests;
mod undo;
mod upgrade;
mod views;

pub use answers::{AnswerEffect, AnswerQuorum, ApprovalAnswer, DENIED};
pub use backup::{ACCEPTANCE_SUFFIX, BackupManifest, backup};
pub use batch::{AppendResult, EventBatch, LogPosition, NewRun};
pub use bodies::BodyFault;
pub use carry::CarriedUses;
pub use claim::ReconciliationClaim;
pub use connections::{ConnectionApprovalUse, ConnectionRow, ConnectionState};
pub use cycles::{GoalBlock, NotificationRow, ReconciliationEnd, ReconciliationRow, SlotBlock};
pub use db::fence::{FencingToken, RunFence};
pub use db::reader::StoreReader;
pub use db::store::{RunRetention, Store, StoreDurability};
pub use db::ticket::WriteTicket;
pub use erase::ErasedRows;
pub use error::{StoreError, allow_no_state};
pub use events::log_row::LogRow;
pub use examine::{StateFault, examine, examine_after};
pub use files::blobs::BlobStore;
pub use files::call_bodies::CallBodyStore;
pub use files::folder::StateFolder;
pub use files::own_file::{FileTypeError, open_regular, own_file};
pub use files::planning::{PlanningLog, PlanningStore};
pub use files::reserve::SpaceReserve;
pub use goals::{GoalRow, LedgerGoal, SlotRow};
pub use health::CallLedger;
pub use lease::locks::{LockAcquisition, LockWait};
pub use lease::permits::{PermitAnswer, PermitTask};
pub use lease::process::{ProcessIdentity, ProcessLiveness};
pub use lease::run_lease::{LEASE, RunLease};
pub use log::chain::{BrokenChain, ChainFault, head, verify_chain, verify_chain_after};
pub use log::state_event::{
    ApprovalUse, PrunedArtifacts, PrunedRun, StateEvent, StateFact, TableChange, WithdrawnApproval,
};
pub use memory::MegramSelection;
pub use opinions::{RepairFeedback, RepairRow};
pub use outbox::UndeliveredNotification;
pub use projections::cache::{CacheEntry, CacheLookup, UnrecordedResult};
pub use projections::difference::{ColumnDifference, ProjectionDifference};
pub use prune::{PRUNED_AT_ONCE, PruneResult};
pub use restore::{RESTORE_PREFIX, restore};
pub use schema::SchemaFault;
pub use suggestions::SUGGESTION;
pub use undo::UNDO_OF;
pub use upgrade::{OpenRun, StateUpgrade};
pub use views::find::FindError;
pub use views::left::LeftRow;
pub use views::page::{ArtifactPage, StepPage, StepSelection, StepTimes};
pub use views::reader_pool::{ReaderPool, ViewReader};
pub use views::summary::RunSummary;
pub use views::view::{ArtifactRow, AttemptRow, CheckRow, RunFilter, RunOwner, RunRow, RunState, StepRow};
