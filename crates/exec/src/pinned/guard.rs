use std::path::{Path, PathBuf};

use super::trail::{PathEntry, resolve_path};
use crate::work_error::WorkError;

/// The files of skills a process may read, from its start to its exit.
#[derive(Debug)]
pub struct SkillFileGuard {
    root: PathBuf,
    seen_entries: Vec<(String, Vec<PathEntry>)>,
}

impl SkillFileGuard {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), seen_entries: Vec::new() }
    }

    /// Records a file as it was when the process started, and the links that led to it.
    pub(super) fn see(&mut self, path: &str, entries: Vec<PathEntry>) {
        self.seen_entries.push((path.to_owned(), entries));
    }

    /// Returns the reason for a failure if a file was touched since, even if it is unchanged.
    pub fn change_reason(&self) -> Option<WorkError> {
        let mut entries = self.seen_entries.iter();
        let (path, _) = entries.find(|(path, posts)| self.is_touched(path, posts))?;
        let message = format!("approved file changed while the step ran: {path}");
        Some(WorkError::logical(message))
    }

    fn is_touched(&self, path: &str, entries: &[PathEntry]) -> bool {
        let Ok((now, _)) = resolve_path(&self.root, path, false) else {
            return true;
        };
        let same =
            |(before, now): (&PathEntry, &PathEntry)| before.path == now.path && before.stamp == now.stamp;
        now.len() != entries.len() || !entries.iter().zip(&now).all(same)
    }
}
