use std::path::{Component, Path};

use serde_json::Value;

use crate::gate::Answer;

/// What is known of files of the workspace.
pub trait FileFacts {
    /// What a path means, relative to the workspace.
    fn look(&self, path: &str) -> FileFact;
}

/// What a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFact {
    /// A file.
    File {
        /// In bytes.
        size: u64,
        /// Where it is, relative to the workspace, when all links are followed.
        place: String,
    },
    /// There is nothing, or something that is no file.
    Absent,
    /// It leads out of the workspace.
    Outside,
    /// It could not be looked at; why.
    Unknown(String),
}

/// No files at all: for rules that look at none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl FileFacts for NoFiles {
    fn look(&self, _: &str) -> FileFact {
        FileFact::Unknown("files are not looked at here".into())
    }
}

/// How it is told that a path may not be used (Silas 5.5.2).
const OUTSIDE: &str = "Path outside permitted directories";

/// A file in one of some folders, and not too large. Links must not lead out of them either.
pub(super) fn valid(
    value: &Value,
    permitted: &[String],
    most: Option<u64>,
    files: &dyn FileFacts,
) -> Answer {
    let Value::String(path) = value else {
        return Answer::block("The value is no path");
    };
    if !is_permitted(path, permitted) {
        return Answer::block(OUTSIDE);
    }
    match files.look(path) {
        FileFact::Outside => Answer::block(OUTSIDE),
        FileFact::File { place, .. } if !is_permitted(&place, permitted) => Answer::block(OUTSIDE),
        FileFact::Absent => Answer::block("File not found"),
        FileFact::Unknown(why) => Answer::block(format!("The file cannot be looked at: {why}")),
        FileFact::File { size, .. } => match most {
            Some(most) if size > most => {
                Answer::block(format!("File of {size} bytes, at most {most} are allowed"))
            }
            _ => Answer::pass(),
        },
    }
}

/// Whether a path is relative, never goes up, and begins with one of the folders; without folders,
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
