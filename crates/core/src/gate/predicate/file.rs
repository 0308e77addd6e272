use std::path::{Component, Path};

use serde_json::Value;

use crate::gate::GateAnswer;

/// The access of rules to files of the workspace.
pub trait FileInspector {
    /// Looks up a path, relative to the workspace.
    fn status(&self, path: &str) -> FileStatus;
}

/// The meaning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStatus {
    /// A regular file.
    File {
        /// The size in bytes.
        size: u64,
        /// The path relative to the workspace, with all links followed.
        place: String,
    },
    /// Nothing, or something other than a file.
    Absent,
    /// A path out of the workspace.
    Outside,
    /// A failed lookup, with the reason.
    Unknown(String),
}

/// No files at all, for rules that use none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFileAccess;

impl FileInspector for NoFileAccess {
    fn status(&self, _: &str) -> FileStatus {
        FileStatus::Unknown("files are not available here".into())
    }
}

/// The message about a path that may not be used (Silas 5.5.2).
const OUTSIDE: &str = "Path outside permitted directories";

/// Passes a file in one of some folders, and not too large. Links must not lead out of them either.
pub(super) fn check_file(
    value: &Value,
    permitted: &[String],
    most: Option<u64>,
    files: &dyn FileInspector,
) -> GateAnswer {
    let Value::String(path) = value else {
        return GateAnswer::block("The value is not a path");
    };
    if !is_permitted(path, permitted) {
        return GateAnswer::block(OUTSIDE);
    }
    match files.status(path) {
        FileStatus::Outside => GateAnswer::block(OUTSIDE),
        FileStatus::File { place, .. } if !is_permitted(&place, permitted) => GateAnswer::block(OUTSIDE),
        FileStatus::Absent => GateAnswer::block("File not found"),
        FileStatus::Unknown(reason) => GateAnswer::block(format!("The file cannot be read: {reason}")),
        FileStatus::File { size, .. } => match most {
            Some(most) if size > most => {
                GateAnswer::block(format!("The file has {size} bytes; at most {most} are allowed"))
            }
            _ => GateAnswer::pass(),
        },
    }
}

/// True if a path is relative, never goes up, and begins with one of the folders; without folders,
/// with any.
fn is_permitted(path: &str, permitted: &[String]) -> bool {
    let path = Path::new(path);
    let mut parts = path.components();
    let stays = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let plain = |path: &Path| -> std::path::PathBuf {
        let parts = path.components();
        parts.filter(|part| *part != Component::CurDir).collect()
    };
    let below = |folder: &String| plain(path).starts_with(plain(Path::new(folder)));
    stays
        && !path.as_os_str().is_empty()
        && !path.to_string_lossy().contains('\0')
        && (permitted.is_empty() || permitted.iter().any(below))
}
