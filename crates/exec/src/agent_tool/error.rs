use std::io;

use rustix::io::Errno;

use super::answer::quoted;
use crate::disk::confined_dir::PathLookupError;

/// The reason why a request about files was not carried out, in one sentence for the model. Paths are quoted.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileToolError {
    #[error("{path} does not exist")]
    Absent { path: String },
    #[error("{path} is outside of the workspace; only paths below its root can be used")]
    Outside { path: String },
    #[error("{path} is {found}, not {expected}")]
    OtherKind { path: String, found: &'static str, expected: &'static str },
    #[error("{path} cannot be {done}: {reason}")]
    Failed { path: String, done: &'static str, reason: io::Error },
    #[error("{path} is not a text file: {reason}")]
    NotText { path: String, reason: String },
    #[error("{path} has more than {most} bytes; change it with a script")]
    TooLarge { path: String, most: u64 },
    #[error("{path} has {lines}, so there is no line {offset}")]
    NoSuchLine { path: String, lines: String, offset: u64 },
    #[error("{path} cannot be written: the step may write {allowed}")]
    NotWritable { path: String, allowed: String },
    #[error("{path} cannot be written: `.git` and `.wf` belong to git and to wf")]
    OfTools { path: String },
    #[error(
        "{path} cannot be written: {folder} is a git repository, or would be one, and its files belong to git"
    )]
    MakesRepository { path: String, folder: String },
    #[error("`old` does not occur in {path}; read the file and give the text exactly as it is there")]
    NoMatch { path: String },
    #[error("`old` occurs {count} times in {path}; include lines around it, so that it occurs once")]
    ManyMatches { path: String, count: usize },
    #[error("`old` and `new` are the same")]
    SameText,
    #[error("the {name} is not valid: {reason}")]
    BadPattern { name: &'static str, reason: String },
    #[error("the request is none about files")]
    OtherRequest,
}

impl FileToolError {
    /// Explains a failed lookup.
    pub(super) fn lookup(path: &str, lookup_error: PathLookupError) -> Self {
        let shown = quoted(path);
        match lookup_error {
            PathLookupError::Absent => Self::Absent { path: shown },
            PathLookupError::Outside => Self::Outside { path: shown },
            PathLookupError::Failed(error) => Self::failed(path, "found", error.into()),
        }
    }

    /// Explains an error of the system.
    pub(super) fn failed(path: &str, done: &'static str, reason: io::Error) -> Self {
        Self::Failed { path: quoted(path), done, reason }
    }

    /// Explains why a file was not written, where the step may write only some paths.
    pub(super) fn unwritten(path: &str, reason: io::Error, writable: Option<&[String]>) -> Self {
        let allowed = match (is_refusal(&reason), writable) {
            (true, Some([])) => "no file of the workspace (`allow.write` is empty)".to_owned(),
            (true, Some(paths)) => {
                let paths: Vec<String> = paths.iter().map(quoted).collect();
                format!("only {} (`allow.write`)", paths.join(", "))
            }
            _ => return Self::failed(path, "written", reason),
        };
        Self::NotWritable { path: quoted(path), allowed }
    }
}

/// True if the system does not permit what was tried.
pub(super) fn is_refusal(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ROFS | Errno::ACCESS | Errno::PERM))
}
