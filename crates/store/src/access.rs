//! The tables a reader reads and a store writes, and what a store does about several of them.

use std::collections::BTreeMap;

use crate::{
    db::{reader::StoreReader, store::Store, ticket::WriteTicket},
    error::StoreError,
    events::{log_row::LogTable, run_events::EventTable},
    files::folder::RunRetention,
    maintenance::prune::{self, PruneResult},
    projections::{cache::CacheTable, rebuild},
    tables::{
        answers::ApprovalTable,
        batch::{self, AppendResult, EventBatch},
        connections::ConnectionTable,
        erase,
        goals::GoalTable,
        health::{self, CallLedger},
        memory::MemoryTable,
        outbox::NotificationTable,
        reconciliations::ReconciliationTable,
        sessions::SessionTable,
        slots::SlotTable,
        suggestions::SuggestionTable,
    },
    views::{
        leases::LeaseTable,
        runs::RunTable,
        sources::SourceTable,
        tasks::{ArtifactTable, AttemptTable, CheckTable, StepTable},
    },
};
use wf_base::time::Moment;
use wf_core::health::{CallTarget, TargetHealth};

/// Gives a reader or a store a method for each table.
macro_rules! tables {
    ($owner:ident { $($name:ident: $table:ident,)* }) => {
        impl $owner {
            $(pub fn $name(&self) -> $table<&Self> {
                $table(self)
            })*
        }
    };
}

tables!(StoreReader {
    approvals: ApprovalTable,
    artifacts: ArtifactTable,
    attempts: AttemptTable,
    cache: CacheTable,
    checks: CheckTable,
    connections: ConnectionTable,
    events: EventTable,
    goals: GoalTable,
    leases: LeaseTable,
    log: LogTable,
    memory: MemoryTable,
    notifications: NotificationTable,
    reconciliations: ReconciliationTable,
    runs: RunTable,
    sessions: SessionTable,
    slots: SlotTable,
    sources: SourceTable,
    steps: StepTable,
    suggestions: SuggestionTable,
});

tables!(Store {
    approvals: ApprovalTable,
    cache: CacheTable,
    connections: ConnectionTable,
    goals: GoalTable,
    memory: MemoryTable,
    notifications: NotificationTable,
    reconciliations: ReconciliationTable,
    sessions: SessionTable,
    slots: SlotTable,
    suggestions: SuggestionTable,
});

impl StoreReader {
    /// Returns the health of all targets called. Kinds a later version adds are left out.
    pub fn health(&self) -> Result<BTreeMap<CallTarget, TargetHealth>, StoreError> {
        health::read_all(self)
    }
}

impl Store {
    /// Returns the ledger of calls. It outlives the store, and then fails.
    pub fn call_ledger(&self) -> CallLedger {
        CallLedger { queue: self.queue() }
    }

    /// Records events; their run too, with the first of them.
    pub fn append(&self, batch: EventBatch) -> WriteTicket<AppendResult> {
        self.job(move |writing| batch::append(writing, batch))
    }

    /// Prunes ended runs beyond the retention: their rows, folders and files; and of runs beyond the limit on stored files
    /// these alone. The log keeps the hashes of their events, and records which runs they were. Runs in use stay, and while
    /// a backup is made all runs do. Blocks the calling thread.
    pub fn prune(&self, retention: RunRetention, now: Moment) -> Result<PruneResult, StoreError> {
        prune::prune(self, retention, now)
    }

    /// Overwrites what is left of deleted rows in the files of the database: in free pages, and in the
    /// write-ahead log. Returns false if another process reads an older state of it, so a part is left.
    /// Blocks the calling thread.
    pub fn scrub(&self) -> Result<bool, StoreError> {
        erase::scrub(self.folder())
    }

    /// Rebuilds the projections from the log, in one transaction verifying all of it: with a fault of the
    /// log, nothing is changed.
    pub fn rebuild(&self) -> WriteTicket<()> {
        self.job(|writing| rebuild::rebuild(writing.connection))
    }

    /// Opens another connection reading from the log: see [`StoreReader::from_log`].
    pub fn log_reader(&self) -> Result<StoreReader, StoreError> {
        StoreReader::from_log(self.folder().path())
    }
}
