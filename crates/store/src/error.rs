use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, types::FromSqlError};

use crate::{files::folder::FileTypeError, lease::run_lease::RunLease, log::chain::BrokenChain};
use wf_base::{
    name::{PlanId, RunId},
    program,
    remedy::{Remedy, UserAction},
    time::Moment,
    units::size,
};
use wf_core::{session::SessionRefusal, suggestion::SuggestionRefusal, undo::UndoRefusal};

/// An error in reading or writing the state. [`StoreError::remedy`] returns what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The folder has no state: no run was ever started here.
    #[error("no state in {}", .0.display())]
    NoState(PathBuf),
    /// A file or folder of the state cannot be used.
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io {
        /// The operation tried.
        doing: &'static str,
        path: PathBuf,
        /// The system's error message.
        cause: String,
    },
    /// The path of a state file holds something other than a regular file.
    #[error("{0}")]
    NotAFile(FileTypeError),
    /// The state may not be written.
    #[error("{} is not writable", .0.display())]
    ReadOnly(PathBuf),
    /// There is no space left.
    #[error("no space left to write {}", .0.display())]
    NoSpace(PathBuf),
    /// There is no room for the copy from before an upgrade; nothing was changed.
    #[error("the state cannot be upgraded: {} takes {}, and {} are free", path.display(), size(*needed), size(*free))]
    NoRoom {
        /// The copy.
        path: PathBuf,
        /// Its size, in bytes.
        needed: u64,
        /// The free space on its disk, in bytes.
        free: u64,
    },
    /// The file was removed or replaced while in use.
    #[error("{} was removed or replaced while in use", .0.display())]
    Removed(PathBuf),
    #[error("{} is not a database", .0.display())]
    NotADatabase(PathBuf),
    /// The file is a database of another program.
    #[error("{} belongs to another program", .0.display())]
    Foreign(PathBuf),
    /// The file is damaged.
    #[error("{} is damaged: {cause}", path.display())]
    Corrupt {
        path: PathBuf,
        /// The cause, as SQLite reports it.
        cause: String,
    },
    /// Events that were acknowledged are gone from the end of the log.
    #[error("{} lost events: {kept} of {known} recorded events are present", path.display())]
    Lost {
        path: PathBuf,
        /// The number of events in the log.
        kept: u64,
        /// The number of events recorded.
        known: u64,
    },
    /// The log differs from what was written.
    #[error("{}: {broken}", path.display())]
    Broken {
        path: PathBuf,
        /// The fault, and its position.
        broken: BrokenChain,
    },
    /// The tables, texts or files beside the log do not match it.
    #[error("{}: {what}", path.display())]
    Tampered {
        path: PathBuf,
        /// The difference, its place, and the value by the log.
        what: String,
    },
    /// The tables beside the log do not match it; they can be rebuilt.
    #[error("{}: {what}", path.display())]
    Differs {
        path: PathBuf,
        /// The difference, its place, and the value by the log.
        what: String,
    },
    /// The file is not a backup, or not a complete one.
    #[error("{} is not a complete backup: {cause}", path.display())]
    NotABackup {
        path: PathBuf,
        /// The fault.
        cause: String,
    },
    /// An existing file would be lost.
    #[error("{} already exists", .0.display())]
    Exists(PathBuf),
    /// An applied migration differs from the one this program knows.
    #[error(
        "{} was created by another build{}: migration {number} differs from that of this wf {}",
        path.display(), of_program(program.as_ref()), program::version()
    )]
    Changed {
        path: PathBuf,
        /// The migration.
        number: u32,
        /// The program that opened the state last to write.
        program: Option<String>,
    },
    /// The state was written by a later version.
    #[error(
        "{} has schema {found}{}, but this wf {} supports {known}",
        path.display(), of_program(program.as_ref()), program::version()
    )]
    Newer {
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The last schema this program knows.
        known: u32,
        /// The program that opened the state last to write.
        program: Option<String>,
    },
    /// Another process has held the database for too long.
    #[error("{} is busy", .0.display())]
    Busy(PathBuf),
    /// Another process works on the run.
    #[error("run {} is held by {lease}", run.short())]
    Owned {
        run: RunId,
        /// The lease of the other process.
        lease: Box<RunLease>,
    },
    /// The run may no longer be written by its former owner.
    #[error("run {} {}", run.short(), lease_loss_reason(*by))]
    Fenced {
        run: RunId,
        /// The process that took it over; `None` if it was only released.
        by: Option<u32>,
    },
    /// Events were given for a run that was never recorded.
    #[error("run {0} not found")]
    UnknownRun(RunId),
    /// A run was recorded twice.
    #[error("run {0} already exists")]
    KnownRun(RunId),
    /// Events do not follow the recorded ones.
    #[error("run {0}: earlier events are missing")]
    Gap(RunId),
    /// The question was already answered differently.
    #[error("request {number} of run {} was already answered: {verdict}", run.short())]
    Conflict {
        run: RunId,
        /// The number of the question.
        number: u32,
        /// The decision that stands.
        verdict: String,
    },
    /// All uses the approval allows are spent.
    #[error("the approval is used up: {execution} of {executions} uses")]
    UsedUp {
        /// The number of the use tried.
        execution: u32,
        /// The number of uses the approval allows.
        executions: u32,
    },
    /// An approval was withdrawn.
    #[error("the approval was revoked")]
    Withdrawn,
    /// Nothing may be done in a session, or about it.
    #[error(transparent)]
    Session(SessionRefusal),
    /// The run a new run would undo cannot be undone.
    #[error("run {} {}", .0.short(), .1)]
    Undo(RunId, UndoRefusal),
    /// Nothing is done about a suggestion.
    #[error(transparent)]
    Suggestion(SuggestionRefusal),
    /// The scheduled time of a run is not due: it was started, or skipped.
    #[error("slot {} of goal `{goal}` is not due", slot.to_second())]
    NotDue {
        goal: String,
        /// The scheduled time.
        slot: Moment,
    },
    /// A backend decides about the goal, and starts its runs.
    #[error("goal `{0}` is deployed: its backend starts its runs")]
    Deployed(PlanId),
    /// The reconciliation has a repair already, or has ended.
    #[error("reconciliation {} is running elsewhere, or has finished", .0.short())]
    NotOpen(RunId),
    /// Another daemon decides about scheduled times now.
    #[error("another daemon took over: process {by}")]
    Superseded {
        /// The process of the other daemon.
        by: u32,
    },
    /// A stored file does not match the digest in its name.
    #[error("stored file {} was modified", .0.display())]
    Altered(PathBuf),
    /// The store was closed before it answered.
    #[error("the store is closed")]
    Closed,
    /// Another failure of the database.
    #[error("{}: {cause}", path.display())]
    Sqlite {
        path: PathBuf,
        /// SQLite's error message.
        cause: String,
    },
}

fn of_program(program: Option<&String>) -> String {
    program.map_or_else(String::new, |program| format!(" of wf {program}"))
}

fn lease_loss_reason(by: Option<u32>) -> String {
    by.map_or_else(|| "was released".into(), |pid| format!("was taken over by process {pid}"))
}

/// A failure of a job or a query, before it is known in which database.
#[derive(Debug)]
pub(crate) enum QueryError {
    Sqlite(rusqlite::Error),
    /// An event differs from what was written.
    Broken(BrokenChain),
    /// Another error, which names its database itself if it is about one.
    Store(StoreError),
}

/// The result of a job or a query.
pub(crate) type QueryResult<T> = Result<T, QueryError>;

impl QueryError {
    /// Returns the error as one of the database at a path.
    pub(crate) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Sqlite(error) => StoreError::sqlite(path, &error),
            Self::Broken(broken) => StoreError::Broken { path: path.into(), broken },
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for QueryError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<FromSqlError> for QueryError {
    fn from(error: FromSqlError) -> Self {
        Self::Sqlite(error.into())
    }
}

impl From<BrokenChain> for QueryError {
    fn from(broken: BrokenChain) -> Self {
        Self::Broken(broken)
    }
}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl StoreError {
    /// Returns what to do about the error, in one sentence.
    pub fn remedy(&self) -> Remedy {
        self.remedy_with_acts().unwrap_or_else(|| self.plain_remedy().into())
    }

    /// Returns the remedy for an error about which the program can do something.
    fn remedy_with_acts(&self) -> Option<Remedy> {
        let restore = || Remedy::from("restore a copy with ").quoted(UserAction::RestoreBackup);
        let differences = || Remedy::from("list all differences with ").quoted(UserAction::VerifyHistory);
        Some(match self {
            Self::NotAFile(_) => Remedy::from("move it away; ")
                .quoted(UserAction::RestoreBackup)
                .text(" restores the previous file"),
            Self::Corrupt { .. } => restore().text(", or move the state folder away to start over"),
            Self::Lost { .. } => restore().text(
                "; or remove state.mark beside it to continue with the remaining events: steps whose results are \
                 lost run again",
            ),
            Self::Broken { .. } => restore().text("; the remaining data can still be read"),
            Self::Tampered { .. } => {
                differences().text("; restore a copy with ").quoted(UserAction::RestoreBackup)
            }
            Self::Differs { .. } => {
                differences().text("; rebuild the tables from the log with ").quoted(UserAction::RebuildTables)
            }
            Self::Changed { .. } => Remedy::from("use that program, or save the state with ")
                .quoted(UserAction::BackUp)
                .text(" and move its folder away"),
            Self::Newer { .. } => Remedy::from(
                "use that program; to go back to this one, restore the copy from before the upgrade, in the folder \
                 `upgrades` beside it, with `",
            )
            .action(UserAction::RestoreBackup)
            .text(" --force`"),
            Self::Fenced { .. } => {
                Remedy::from("nothing more was written here; see the result with ").quoted(UserAction::ShowThatRun)
            }
            Self::UsedUp { .. } | Self::Withdrawn => {
                Remedy::from("approve it again: ").action(UserAction::ApprovePlan("PLAN".into()))
            }
            Self::Session(refusal) => refusal.remedy(),
            Self::Undo(_, refusal) => refusal.remedy(),
            Self::Suggestion(refusal) => refusal.remedy(),
            Self::NotDue { .. } => {
                Remedy::from("see its result with ").quoted(UserAction::ShowThatGoalHistory)
            }
            Self::Deployed(_) => Remedy::from("take it back with ").quoted(UserAction::RecallThatGoal),
            Self::NotOpen(_) => Remedy::from("nothing is lost; see its result with ")
                .quoted(UserAction::ShowThatGoalHistory),
            Self::Gap(_) => Remedy::from("resume with ")
                .quoted(UserAction::TakeOver)
                .text(": no acknowledged work is lost"),
            _ => return None,
        })
    }

    /// Returns the remedy for another error.
    fn plain_remedy(&self) -> &'static str {
        match self {
            Self::NoState(_) => "run a plan first, or set the state folder with --state",
            Self::Io { .. } => "check that the folder exists and is writable",
            Self::ReadOnly(_) => "make it writable, or choose another state folder with --state",
            Self::NoSpace(_) => "free some space; acknowledged work is safe",
            Self::NoRoom { .. } => {
                "nothing was changed; free some space, or continue with the earlier program"
            }
            Self::Removed(_) => {
                "nothing of this was recorded, and running work was cancelled; restore a copy, \
                 or start over"
            }
            Self::NotADatabase(_) | Self::Foreign(_) => {
                "move the file away, or choose another state folder with --state"
            }
            Self::NotABackup { .. } => "nothing was modified; use another backup",
            Self::Exists(_) => "nothing was modified; --force replaces it",
            Self::Busy(_) => "wait for the other process, or stop it",
            Self::Owned { .. } => "wait for it, or cancel the run; if the process is stuck, kill it",
            Self::Conflict { .. } => "decisions are final; to stop the run, cancel it",
            Self::Superseded { .. } => "only one daemon is active; this one stays idle",
            Self::Altered(_) => "remove the file; the step that created it must run again",
            _ => "try again; if it persists, report it as a bug",
        }
    }

    /// Classifies an error of the system.
    pub fn io(doing: &'static str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let other = error.get_ref().and_then(|cause| cause.downcast_ref());
        if let Some(found) = other {
            return Self::NotAFile(FileTypeError::clone(found));
        }
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::NoSpace(path.into()),
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly(path.into()),
            _ => Self::Io { doing, path: path.into(), cause: error.to_string() },
        }
    }

    /// Classifies an error of SQLite.
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
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(&path) => Self::NoSpace(path),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) if is_read_only(&path) => {
                Self::ReadOnly(path)
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                Self::Io { doing: "use", path, cause }
            }
            _ => Self::Sqlite { path, cause },
        }
    }
}

/// Returns what was opened; `None` if there is no state.
pub fn allow_no_state<T>(opened: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(StoreError::NoState(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A disk with less free space than this is full: SQLite needs room for the index of its log.
const ROOM: u64 = 64 * 1024;

/// True if the disk of a file has no free space. SQLite does not always report it.
fn is_full(path: &Path) -> bool {
    disk(path).is_some_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < ROOM)
}

/// True if a file, or the folder it is in, may not be written.
fn is_read_only(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let folder = path.parent().unwrap_or(path);
    access(folder, Access::WRITE_OK).is_err() || access(path, Access::WRITE_OK).is_err()
}

fn disk(path: &Path) -> Option<rustix::fs::StatVfs> {
    path.parent().and_then(|folder| rustix::fs::statvfs(folder).ok())
}
