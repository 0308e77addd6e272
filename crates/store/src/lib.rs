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
//! `error`, the failures of all rooms, `column`, the columns of rows, and `query`, the statements of a connection. [`feed`] is
//! apart from all of this: the messages about events, once they are durable.
//!
//! A table, or a few that change together, has one type, such as [`GoalTable`]. Its methods are the queries for a reader,
//! `reader.goals().all()`, and the changes for a store, `store.goals().pause(..)`. They take it by value, so no reference to a reader
//! outlives the call, over an `await`. `access` lists the tables: a reader and a store have no other methods about rows, except those
//! of a store about leases, locks and permits. Within a job there is no reader: rooms use functions over the connection there, and
//! the methods of the tables call these, too.
//!
//! A job or a query fails with a `QueryError`, which names no file. The writer and the reader add the path of their database
//! where it ends.
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

mod access;
mod column;
mod db;
mod error;
mod events;
mod files;
mod lease;
mod log;
mod maintenance;
mod projections;
mod query;
mod tables;
#[cfg(test)]
mod tests;
mod views;

pub use db::{fence::RunFence, reader::StoreReader, store::Store, ticket::WriteTicket};
pub use error::{StoreError, allow_no_state};
pub use events::{
    log_row::{LogRow, LogTable},
    run_events::EventTable,
    verification::{head, verify_chain, verify_chain_after},
};
pub use files::{
    blobs::BlobStore,
    call_bodies::CallBodyStore,
    compared_file::ComparedFile,
    folder::{FileTypeError, RunRetention, StateFolder, StoreDurability, create_in, open_regular, own_file},
    planning::{PlanningLog, PlanningStore},
    reserve::SpaceReserve,
};
pub use lease::{
    locks::{LockAcquisition, LockWait},
    permits::{PermitAnswer, PermitTask},
    process::{ProcessIdentity, ProcessLiveness},
    run_lease::{FencingToken, LEASE, RunLease},
};
pub use log::{
    chain::{BrokenChain, ChainFault},
    state_event::{
        ApprovalUse, ErasedRows, PrunedArtifacts, PrunedRun, RunSummary, StateEvent, StateFact, TableChange,
        WithdrawnApproval,
    },
    tail::LogPosition,
};
pub use maintenance::{
    backup::{ACCEPTANCE_SUFFIX, BackupManifest, backup},
    bodies::BodyFault,
    carry::CarriedUses,
    examine::{SchemaFault, StateFault, examine, examine_after},
    prune::{PRUNED_AT_ONCE, PruneResult},
    restore::{RESTORE_PREFIX, restore},
    upgrade::{OpenRun, StateUpgrade},
};
pub use projections::{
    cache::{CacheEntry, CacheLookup, CacheTable, UnrecordedResult},
    difference::{ColumnDifference, ProjectionDifference},
};
pub use tables::{
    answers::{AnswerEffect, AnswerQuorum, ApprovalAnswer, ApprovalTable, DENIED},
    batch::{AppendResult, EventBatch, NewRun},
    claim::ReconciliationClaim,
    connections::{ConnectionApprovalUse, ConnectionRow, ConnectionTable},
    goals::{GoalRow, GoalTable, LedgerGoal},
    health::CallLedger,
    memory::{MegramSelection, MemoryTable},
    opinions::{RepairFeedback, RepairRow},
    outbox::{NotificationRow, NotificationTable, UndeliveredNotification},
    reconciliations::{ReconciliationEnd, ReconciliationRow, ReconciliationTable},
    run_choice::{ChosenRuns, RunChoice, RunListOrder, RunTrigger},
    sessions::SessionTable,
    slots::{GoalBlock, SlotBlock, SlotRow, SlotTable, SlotTally},
    suggestions::{SUGGESTION, SuggestionTable},
    undo::UNDO_OF,
};
pub use views::{
    idle::IdleInterval,
    leases::LeaseTable,
    reader_pool::{ReaderPool, ViewReader},
    runs::{FindError, RunTable},
    sources::SourceTable,
    tasks::{
        ArtifactPage, ArtifactTable, AttemptTable, CheckTable, ItemGroup, LeftRow, StepOrder, StepPage,
        StepSelection, StepTable, StepTimes,
    },
    view::{
        ArtifactRow, AttemptRow, CheckRow, PlanOutcomeCount, RunFilter, RunOwner, RunRow, RunState, StepRow,
        WorkEnd,
    },
};
