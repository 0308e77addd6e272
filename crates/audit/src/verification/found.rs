use crate::{records::chain::LogFault, verification::checkpoint::Checkpoint};
use wf_base::time::Moment;
use wf_store::{BrokenChain, StateFault};

/// The findings of a verification.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditFindings {
    /// The number of events in the database.
    pub events: u64,
    /// The number of records in the audit log.
    pub records: u64,
    /// The signs of tampering.
    pub evidence: Vec<TamperEvidence>,
    /// The irregularities with an explanation.
    pub notes: Vec<AuditNote>,
    /// The heads of both logs.
    pub checkpoint: Checkpoint,
    /// The checkpoint from which on the logs were verified; `None`: they were verified as a whole.
    pub since_checkpoint: Option<Checkpoint>,
}

/// A sign of tampering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TamperEvidence {
    /// The chain of the database's log is broken.
    #[error("{0} in the database")]
    Database(BrokenChain),
    /// The state beside the database's log does not match it.
    #[error("{0}")]
    State(StateFault),
    /// The database has lost events from its end.
    #[error("the database lost events: {kept} of {known} recorded events are present")]
    Lost {
        /// The number of events there.
        kept: u64,
        /// The number of events recorded.
        known: u64,
    },
    /// The chain of the audit log is broken.
    #[error("{0}")]
    Log(LogFault),
    /// A file of the audit log does not continue the one before.
    #[error(
        "record {0} of the audit log, the first of its file, says something else than the records before it"
    )]
    OtherSegment(u64),
    /// The beginning of the audit log is gone, though what it is about is not.
    #[error(
        "records 1 to {to} of the audit log were removed as pruned, but the database has a run from that time \
         (event {run}): the audit log was cut off at its beginning"
    )]
    PrunedTooFar {
        /// The last record gone.
        to: u64,
        /// The event recording the run.
        run: u64,
    },
    /// There is no audit log.
    #[error("no audit log, but the database has {0} events")]
    NoLog(u64),
    /// The audit log began after the first events.
    #[error("the audit log starts with event {} of the database: no auditor ran before", .0 + 1)]
    BeganLate(u64),
    /// The end of the audit log is gone.
    #[error("the audit log is truncated: it has {has} of {had} records written")]
    LogCut {
        /// The number of records written.
        had: u64,
        /// The number of records there.
        has: u64,
    },
    /// The audit log was replaced by another.
    #[error("record {0} of the audit log differs from the one written: the log was replaced")]
    LogReplaced(u64),
    /// An event is not in the audit log.
    #[error("event {0} of the database is missing in the audit log")]
    LeftOut(u64),
    /// The database continues beyond the end of the audit log.
    #[error(
        "the audit log ends at event {has} without a crash, but the database continues to \
         {events}: the audit log was replaced by an older copy, or truncated"
    )]
    LogOlder {
        /// The last event of the audit log.
        has: u64,
        /// The last one of the database.
        events: u64,
    },
    /// The database ends before the audit log does.
    #[error(
        "the database ends at event {has}, but the auditor saw {saw}: it was replaced by an \
         older copy"
    )]
    RolledBack {
        /// The last event of the database.
        has: u64,
        /// The last event the auditor saw.
        saw: u64,
    },
    /// The database went back, and continued from there.
    #[error(
        "the database went back from event {} to {} (record {n} of the audit log): it was \
         replaced by an older copy",
        .what.0, .what.1
    )]
    Rewound {
        /// The record of it.
        n: u64,
        /// The event it went back from, and the event it went back to.
        what: (u64, u64),
    },
    /// An event differs from the one the auditor saw.
    #[error(
        "event {0} of the database differs from the one the auditor saw: the history was \
         rewritten from there"
    )]
    Rewritten(u64),
    /// Events came into the database without an engine.
    #[error("{} entered the database unseen by the auditor", list_events(.0))]
    Behind(Vec<u64>),
    /// The restored backup has another history.
    #[error("the restored backup (record {0} of the audit log) belongs to another history")]
    OtherBackup(u64),
    /// The audit log does not match the checkpoint.
    #[error(
        "the audit log does not contain record {0} of the checkpoint: it was replaced, or reset \
         to an earlier state"
    )]
    LogNotOfCheckpoint(u64),
    /// The database does not match the checkpoint.
    #[error(
        "the database does not contain event {0} of the checkpoint: it was replaced, or reset to \
         an earlier state"
    )]
    DatabaseNotOfCheckpoint(u64),
}

/// An irregularity with an explanation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuditNote {
    /// A backup was restored.
    #[error("restored at {at} from a backup: the database went back to event {to} of {from}")]
    Restored {
        at: Moment,
        /// The last event before the restore.
        from: u64,
        /// The last event of the backup.
        to: u64,
    },
    /// An incomplete line was removed.
    #[error(
        "record {0} of the audit log reports a removed partial line: a process died while \
         writing it"
    )]
    Torn(u64),
    /// The last line is incomplete.
    #[error(
        "the last line of the audit log is incomplete: a process died while writing it; the next \
         command removes it"
    )]
    HalfLine,
    /// The machine was rebooted before the end of the audit log was on the disk.
    #[error(
        "the machine rebooted before the end of the audit log was on disk; the missing part was \
         read from the database (record {0})"
    )]
    PowerLost(u64),
    /// Some events are not in the audit log yet.
    #[error(
        "events not in the audit log yet: {0}; a process is running or died, or nothing has run since, \
         and the next command that runs something adds them"
    )]
    Pending(u64),
    /// Some events were read from the database, and an auditor may still confirm them.
    #[error("{0} events were read from the database before their processes reported them")]
    Unconfirmed(usize),
    /// The beginning of the audit log was pruned.
    #[error("records 1 to {0} of the audit log were pruned, with the runs that they are about")]
    Pruned(u64),
    /// The record of the checkpoint was pruned.
    #[error(
        "record {0} of the checkpoint was pruned from the audit log; only the database is compared with the checkpoint"
    )]
    CheckpointPruned(u64),
    /// A checkpoint vouches for events not watched.
    #[error("no auditor ran before event {}; the checkpoint covers it", .0 + 1)]
    VouchedFor(u64),
}

impl TamperEvidence {
    /// True if a checkpoint made now covers all the fault leaves open: the beginning was not watched, and
    /// cannot be changed from then on.
    pub fn is_pinned_by_a_checkpoint(&self) -> bool {
        matches!(self, Self::BeganLate(_))
    }
}

fn list_events(events: &[u64]) -> String {
    match events {
        [] => "no event".into(),
        [one] => format!("event {one}"),
        [first, .., last] => format!("{} events ({first} to {last})", events.len()),
    }
}
