use std::path::{Path, PathBuf};

use super::trail::{Post, follow};
use crate::exec::Unable;

/// The files of skills that a process may read, from its start to its end.
#[derive(Debug)]
pub struct Held {
    root: PathBuf,
    seen: Vec<(String, Vec<Post>)>,
}

impl Held {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            seen: Vec::new(),
        }
    }

    /// Holds a file, as it was when the process started, and the links that led to it.
    pub(super) fn see(&mut self, path: &str, posts: Vec<Post>) {
        self.seen.push((path.to_owned(), posts));
    }

    /// Whether something was touched since, even if it is as it was.
    pub fn disturbed(&self) -> Option<Unable> {
        let mut seen = self.seen.iter();
        let (path, _) = seen.find(|(path, posts)| self.is_touched(path, posts))?;
        let said = format!("approved file was changed while it ran: {path}");
        Some(Unable::logical(said))
    }

    fn is_touched(&self, path: &str, posts: &[Post]) -> bool {
        let Ok((now, _)) = follow(&self.root, path, false) else {
            return true;
        };
        let same =
            |(before, now): (&Post, &Post)| before.path == now.path && before.stamp == now.stamp;
        now.len() != posts.len() || !posts.iter().zip(&now).all(same)
    }
}
