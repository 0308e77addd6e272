use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::{BrokenChain, Lease, NotAFile};
use crate::name::RunId;
use crate::time::Moment;

/// Why the state cannot be read or written. [`StoreError::remedy`] says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nothing was ever run here.
    #[error("there is no state in {}", .0.display())]
    NoState(PathBuf),
    /// A file or folder of the state cannot be used.
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// The system's words.
        cause: String,
    },
    /// Something else stands in the place of a file of the state.
    #[error("{0}")]
    NotAFile(NotAFile),
    /// The state may not be written.
    #[error("{} cannot be written", .0.display())]
    ReadOnly(PathBuf),
    /// There is no room.
    #[error("no space is left for {}", .0.display())]
    NoSpace(PathBuf),
    /// The file was removed, or another put in its place, while it was used.
    #[error("{} was removed, or replaced, while it was used", .0.display())]
    Removed(PathBuf),
    /// The file is something else.
    #[error("{} is not a database", .0.display())]
    NotADatabase(PathBuf),
    /// The file is a database of another program.
    #[error("{} is a database of another program", .0.display())]
    Foreign(PathBuf),
    /// The file is damaged.
    #[error("{} is damaged: {cause}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        cause: String,
    },
    /// Events that were acknowledged are gone from the end of the log.
    #[error("{} has lost events: it holds {kept}, and {known} were recorded", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
        /// How many there are.
        kept: u64,
        /// How many there were.
        known: u64,
    },
    /// The log is not what was written.
    #[error("{}: {broken}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        broken: BrokenChain,
    },
    /// What lies beside the log is not what the log says.
    #[error("{}: {what}", path.display())]
    Tampered {
        /// The file.
        path: PathBuf,
        /// What differs, where, and what the log says.
        what: String,
    },
    /// A file is no backup, or not a whole one.
    #[error("{} is not a whole backup: {cause}", path.display())]
    NotABackup {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// What stands there would be lost.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// A migration that was applied is not the one this program knows.
    #[error("{} was made by another build: migration {number} differs", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The migration.
        number: u32,
    },
    /// The state was written by a later version.
    #[error("{} has schema {found}; this wf knows {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The last schema that this program knows.
        known: u32,
    },
    /// Another process holds the database for too long.
    #[error("{} is busy", .0.display())]
    Busy(PathBuf),
    /// A run is worked on by another process.
    #[error("run {} is worked on by {lease}", run.short())]
    Owned {
        /// The run.
        run: RunId,
        /// By whom, and until when.
        lease: Box<Lease>,
    },
    /// A run is no longer its former owner's to write.
    #[error("run {} {}", run.short(), lost(*by))]
    Fenced {
        /// The run.
        run: RunId,
        /// The process that took it over; `None` if it was only given back.
        by: Option<u32>,
    },
    /// Events were given for a run that was never recorded.
    #[error("run {0} is not recorded")]
    UnknownRun(RunId),
    /// A run was recorded twice.
    #[error("run {0} is recorded already")]
    KnownRun(RunId),
    /// Events were given that do not follow those that are recorded.
    #[error("run {0}: the events before these were not recorded")]
    Gap(RunId),
    /// A question was answered otherwise before.
    #[error("question {number} of run {} was answered already: {verdict}", run.short())]
    Conflict {
        /// The run.
        run: RunId,
        /// The number of the question.
        number: u32,
        /// What was decided.
        verdict: String,
    },
    /// An approval was used before, for as much as it allows.
    #[error("the approval was used already, {execution} of {executions} times")]
    UsedUp {
        /// Which use it was to be.
        execution: u32,
        /// How many it allows.
        executions: u32,
    },
    /// An approval was withdrawn.
    #[error("the approval was withdrawn")]
    Withdrawn,
    /// A run was to begin for a slot that is not due: it has begun, or was left out.
    #[error("the slot {} of the goal `{goal}` is not due", slot.to_second())]
    NotDue {
        /// The goal.
        goal: String,
        /// The slot.
        slot: Moment,
    },
    /// A cycle was to go on that has a repair already, or has ended.
    #[error("the cycle {} goes on elsewhere, or has ended", .0.short())]
    NotOpen(RunId),
    /// Another daemon decides about slots now.
    #[error("another daemon took over: process {by}")]
    Superseded {
        /// Its process.
        by: u32,
    },
    /// A stored file does not have the content that its name says.
    #[error("the stored file {} was altered", .0.display())]
    Altered(PathBuf),
    /// The store was closed before it answered.
    #[error("the store is closed")]
    Closed,
    /// Another failure of the database.
    #[error("{}: {cause}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        cause: String,
    },
}

fn lost(by: Option<u32>) -> String {
    by.map_or_else(
        || "was given back".into(),
        |pid| format!("was taken over by process {pid}"),
    )
}

impl StoreError {
    /// What to do about it, in one sentence.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoState(_) => "run a plan first, or name the state folder with --state",
            Self::Io { .. } => "check that the folder exists and may be written",
            Self::NotAFile(_) => "move it away; `wf restore` brings back a file that was there",
            Self::ReadOnly(_) => "make it writable, or put the state elsewhere with --state",
            Self::NoSpace(_) => "free some space; what was acknowledged is safe",
            Self::Removed(_) => {
                "nothing of this is recorded, and all that was under way is ended; put a copy back, or \
                 begin anew"
            }
            Self::NotADatabase(_) | Self::Foreign(_) => {
                "move the file away, or put the state elsewhere with --state"
            }
            Self::Corrupt { .. } => {
                "restore a copy with `wf restore`, or move the state folder away to begin anew"
            }
            Self::Lost { .. } => {
                "restore a copy with `wf restore`; or remove state.mark beside it to go on with \
                 what is left: steps that ended in what is lost run again"
            }
            Self::Broken { .. } => {
                "restore a copy with `wf restore`; what is there can still be read"
            }
            Self::Tampered { .. } => {
                "`wf audit verify` names all that differs; restore a copy with `wf restore`"
            }
            Self::NotABackup { .. } => "nothing was changed; use another backup",
            Self::Exists(_) => "nothing was changed; --force replaces it",
            Self::Changed { .. } => "use the wf that made it, or move the state folder away",
            Self::Newer { .. } => "use a newer wf, or put the state elsewhere with --state",
            Self::Busy(_) => "wait for the other process, or end it",
            Self::Owned { .. } => {
                "wait for its end, or cancel the run; if the process is stuck, end it"
            }
            Self::Fenced { .. } => {
                "nothing more was written here; `wf show` says what became of the run"
            }
            Self::Conflict { .. } => "a decision stands; cancel the run to stop it all the same",
            Self::UsedUp { .. } | Self::Withdrawn => "approve it again: wf approve PLAN",
            Self::NotDue { .. } => "`wf goal history` says what became of it",
            Self::NotOpen(_) => "nothing is lost; `wf goal history` says how it went",
            Self::Superseded { .. } => "one daemon is enough; this one does nothing more",
            Self::Altered(_) => "remove the file; the step that made it must run again",
            Self::Gap(_) => "go on with `wf resume`: nothing that was acknowledged is lost",
            Self::UnknownRun(_) | Self::KnownRun(_) | Self::Closed | Self::Sqlite { .. } => {
                "try again; if it stays, report it"
            }
        }
    }

    /// Sorts a failure of the system.
    pub fn io(doing: &'static str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let other = error.get_ref().and_then(|cause| cause.downcast_ref());
        if let Some(found) = other {
            return Self::NotAFile(NotAFile::clone(found));
        }
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::NoSpace(path.into()),
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(path.into()),
            _ => Self::Io {
                doing,
                path: path.into(),
                cause: error.to_string(),
            },
        }
    }

    /// Sorts a failure of SQLite.
    pub(super) fn sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_path_buf();
        let cause = error.to_string();
        if let rusqlite::Error::FromSqlConversionFailure(..) = error {
            return Self::Corrupt { path, cause };
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase(path),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt { path, cause },
            Some(ErrorCode::ReadOnly) => Self::ReadOnly(path),
            Some(ErrorCode::DiskFull) => Self::NoSpace(path),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(&path) => {
                Self::NoSpace(path)
            }
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) if is_read_only(&path) => {
                Self::ReadOnly(path)
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Self::Io {
                doing: "use",
                path,
                cause,
            },
            _ => Self::Sqlite { path, cause },
        }
    }
}

/// A disk with less than this is full: SQLite wants room for its index of the log.
const ROOM: u64 = 64 * 1024;

/// Whether the disk that a file is on has no room. SQLite does not always say so.
fn is_full(path: &Path) -> bool {
    disk(path).is_some_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM)
}

/// Whether a file, or what it is in, may not be written.
fn is_read_only(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let folder = path.parent().unwrap_or(path);
    access(folder, Access::WRITE_OK).is_err() || access(path, Access::WRITE_OK).is_err()
}

fn disk(path: &Path) -> Option<rustix::fs::StatVfs> {
    path.parent()
        .and_then(|folder| rustix::fs::statvfs(folder).ok())
}
