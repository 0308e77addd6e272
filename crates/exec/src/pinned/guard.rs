use std::path::{Path, PathBuf};

use super::trail::{PathEntry, resolve_path};
use crate::work_error::WorkError;

/// The files of skills a process may read, from its start to its exit.
#[derive(Debug)]
pub struct SkillFileGuard {
    root: PathBuf,
    seen: Vec<(String, Vec<PathEntry>)>,
}

impl SkillFileGuard {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_path_buf(), seen: Vec::new() }
    }

    /// Records a file as it was when the process started, and the links that led to it.
    pub(super) fn see(&mut self, path: &str, posts: Vec<PathEntry>) {
        self.seen.push((path.to_owned(), posts));
    }

    /// Returns the reason for a failure if a file was touched since, even if it is unchanged.
    pub fn change_reason(&self) -> Option<WorkError> {
        let mut seen = self.seen.iter();
        let (path, _) = seen.find(|(path, posts)| self.is_touched(path, posts))?;
        let said = format!("approved file changed while the step ran: {path}");
        Some(WorkError::logical(said))
    }

    fn is_touched(&self, path: &str, posts: &[PathEntry]) -> bool {
        let Ok((now, _)) = resolve_path(&self.root, path, false) else {
            return true;
        };
        let same =
            |(before, now): (&PathEntry, &PathEntry)| before.path == now.path && before.stamp == now.stamp;
        now.len() != posts.len() || !posts.iter().zip(&now).all(same)
    }
}
