use super::chain::LogFault;
use super::checkpoint::Checkpoint;
use crate::store::{BrokenChain, StateFault};
use crate::time::Moment;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// How many events the database has.
    pub events: u64,
    /// How many records the audit log has.
    pub records: u64,
    /// What was tampered with.
    pub faults: Vec<Fault>,
    /// What is not as usual, and explained.
    pub notes: Vec<Note>,
    /// The heads of both logs.
    pub heads: Checkpoint,
}

/// What was tampered with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The chain of the database's log is broken.
    #[error("{0} in the database")]
    Database(BrokenChain),
    /// What lies beside the database's log is not what the log says.
    #[error("{0}")]
    State(StateFault),
    /// The database has lost events from its end.
    #[error("the database has lost events: it holds {kept}, and {known} were recorded")]
    Lost {
        /// How many there are.
        kept: u64,
        /// How many there were.
        known: u64,
    },
    /// The chain of the audit log is broken.
    #[error("{0}")]
    Log(LogFault),
    /// There is no audit log.
    #[error("there is no audit log, and the database has {0} events")]
    NoLog(u64),
    /// The audit log began when there were events already.
    #[error("the audit log begins with event {} of the database: nobody watched before", .0 + 1)]
    BeganLate(u64),
    /// The end of the audit log is gone.
    #[error("the end of the audit log was cut off: it holds {has} records, and {had} were written")]
    LogCut {
        /// How many there were.
        had: u64,
        /// How many there are.
        has: u64,
    },
    /// The audit log is another than the one that was written.
    #[error("record {0} of the audit log is not the one that was written: the log was replaced")]
    LogReplaced(u64),
    /// An event is not in the audit log.
    #[error("event {0} of the database was left out of the audit log")]
    LeftOut(u64),
    /// The database goes on where the audit log ends.
    #[error(
        "the audit log ends at event {has}, and nobody died; the database goes on to {events}: an older copy of the audit log was put in its place, or its end was cut off"
    )]
    LogOlder {
        /// The last event of the audit log.
        has: u64,
        /// The last one of the database.
        events: u64,
    },
    /// The database ends before the audit log does.
    #[error(
        "the database ends at event {has}, and the auditor saw {saw}: an older copy was put in its place"
    )]
    RolledBack {
        /// The last event of the database.
        has: u64,
        /// The last one that the auditor saw.
        saw: u64,
    },
    /// The database went back, and went on from there.
    #[error(
        "the database went back from event {} to {} (record {n} of the audit log): an older copy was put in its place",
        .what.0, .what.1
    )]
    Rewound {
        /// The record that tells of it.
        n: u64,
        /// From which event to which.
        what: (u64, u64),
    },
    /// An event is another than the auditor saw.
    #[error(
        "event {0} of the database is not the one that the auditor saw: the history was rewritten from there"
    )]
    Rewritten(u64),
    /// Events came into the database without an engine.
    #[error("{} came into the database behind the auditor's back", listed(.0))]
    Behind(Vec<u64>),
    /// A backup is of another history.
    #[error("the backup that was restored (record {0} of the audit log) is of another history")]
    OtherBackup(u64),
    /// The audit log is not the one of the checkpoint.
    #[error(
        "the audit log is not the one of the checkpoint, which has record {0}: it was replaced, or put back to before that"
    )]
    LogNotOfCheckpoint(u64),
    /// The database is not the one of the checkpoint.
    #[error(
        "the database is not the one of the checkpoint, which has event {0}: it was replaced, or put back to before that"
    )]
    DatabaseNotOfCheckpoint(u64),
}

/// What is not as usual, and explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Note {
    /// A backup was restored.
    #[error("restored at {at} from a backup: the database went back to event {to} of {from}")]
    Restored {
        /// When.
        at: Moment,
        /// The last event before.
        from: u64,
        /// The last event of the backup.
        to: u64,
    },
    /// Half a line was taken away.
    #[error(
        "record {0} of the audit log tells of half a line that was taken away: a process died while it wrote"
    )]
    Torn(u64),
    /// The last line is half a line.
    #[error(
        "the last line of the audit log is half a line: a process died while it wrote; the next command takes it away"
    )]
    HalfLine,
    /// The machine went down before the end of the audit log was on the disk.
    #[error(
        "the machine was started anew before the end of the audit log was on the disk; what was missing was read in the database (record {0})"
    )]
    PowerLost(u64),
    /// Some events are not in the audit log yet.
    #[error(
        "{0} events of the database are not in the audit log yet: a process works, or died; the next command adds them"
    )]
    Pending(u64),
    /// Some events were read in the database, and somebody may still say that it heard of them.
    #[error("{0} events were read in the database before those who work there told of them")]
    Unconfirmed(usize),
    /// A checkpoint vouches for what nobody watched.
    #[error("nobody watched before event {}; the checkpoint vouches for it", .0 + 1)]
    VouchedFor(u64),
}

impl Fault {
    /// Whether a checkpoint that is made now speaks of everything that is left of it: nobody
    /// watched the beginning, and from now on it cannot be changed.
    pub fn is_pinned_by_a_checkpoint(&self) -> bool {
        matches!(self, Self::BeganLate(_))
    }
}

fn listed(events: &[u64]) -> String {
    match events {
        [] => "no event".into(),
        [one] => format!("event {one}"),
        [first, .., last] => format!("{} events ({first} to {last})", events.len()),
    }
}
