use std::fs;
use std::path::{Path, PathBuf};

use super::layout::{FoundRepository, GIT};
use super::put_aside;
use super::walk::{Repositories, RepositoryWalk};
use crate::work_error::WorkError;

/// The repositories in folders an attempt may write, as they were when it began.
#[derive(Debug)]
pub(crate) struct RepositoryGuard {
    root: PathBuf,
    /// The folders it may write, relative to the root; none inside another.
    folders: Vec<PathBuf>,
    /// The folders no attempt sees.
    excluded: Vec<PathBuf>,
    /// The paths permitting a repository by its exact name.
    named: Vec<PathBuf>,
    before: Repositories,
}

impl RepositoryGuard {
    /// Finds the repositories of a root that exist in these folders. `hidden` folders, absolute, are not looked at.
    pub(crate) fn record(root: &Path, folders: &[PathBuf], named: Vec<PathBuf>, hidden: &[PathBuf]) -> Self {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let (shown, root) = (root, real(root));
        let below = |path: &PathBuf| {
            // A folder that does not exist yet is below the root by its name.
            let below = path.strip_prefix(shown).map(|below| root.join(below));
            let path = real(&below.unwrap_or_else(|_| path.clone()));
            Some(path.strip_prefix(&root).ok()?.to_path_buf())
        };
        let excluded: Vec<PathBuf> = hidden.iter().filter_map(below).collect();
        let is_inner = |folder: &&PathBuf| {
            let is_around = |other: &PathBuf| other != *folder && folder.starts_with(other);
            // What is in a repository that is named is for git.
            !folders.iter().any(is_around) && folder.iter().all(|part| part != GIT)
        };
        let mut folders: Vec<PathBuf> = folders.iter().filter(is_inner).cloned().collect();
        folders.sort();
        folders.dedup();
        let walk = RepositoryWalk { root: &root, excluded: &excluded, enters: &|_| false };
        let before = walk.find(&folders);
        Self { root, folders, excluded, named, before }
    }

    /// Returns those that exist and are not named: they are to be read-only.
    pub(crate) fn unnamed(&self) -> Result<Vec<String>, WorkError> {
        let unnamed = self.before.repositories.iter().map(FoundRepository::control);
        let unnamed = unnamed.filter(|control| !control.as_os_str().is_empty() && !self.is_named(control));
        let text = |path: PathBuf| {
            path.into_os_string().into_string().map_err(|path| {
                WorkError::logical(format!(
                    "the path of the repository `{}` is not UTF-8, so it cannot be protected from a step that may \
                     write there: rename it",
                    path.display()
                ))
            })
        };
        unnamed.map(text).collect()
    }

    /// Returns the reason why the work does not count, if there are others now. They are put aside.
    pub(crate) fn violation(&self) -> Option<String> {
        let is_new = |found: &FoundRepository| {
            let is_same = |other_repository: &FoundRepository| {
                other_repository.is_bare == found.is_bare
                    && (other_repository.folder == found.folder
                        || other_repository.identity == found.identity)
            };
            !self.before.repositories.iter().any(is_same) && !self.is_named(&found.mark())
        };
        let walk = RepositoryWalk { root: &self.root, excluded: &self.excluded, enters: &is_new };
        let after = walk.find(&self.folders);
        let new_repositories: Vec<&FoundRepository> =
            after.repositories.iter().filter(|found| is_new(found)).collect();
        // One inside of another has a path only until that is moved.
        let moved: Vec<Option<PathBuf>> =
            new_repositories.iter().rev().map(|found| put_aside(&self.root, &found.mark())).collect();
        if let (Some(found), Some(aside)) = (new_repositories.first(), moved.last()) {
            let is_inner = |one: &FoundRepository| new_repositories.iter().any(|other| other.contains(one));
            let more = new_repositories.iter().filter(|one| !is_inner(one)).count() - 1;
            return Some(told(found, aside.as_deref(), more));
        }
        let mut closed = after.closed.iter().filter(|folder| !self.before.closed.contains(folder));
        closed.next().map(|folder| {
            format!(
                "`{}` cannot be listed, so nobody can say whether a git repository was created in it: a step must \
                 leave no such folder where it may write; remove it",
                folder.display()
            )
        })
    }

    /// True if a path is permitted by its exact name, or by that of something in it.
    fn is_named(&self, path: &Path) -> bool {
        self.named.iter().any(|named| named.starts_with(path))
    }
}

/// Returns the message about a repository an attempt created.
fn told(found: &FoundRepository, aside: Option<&Path>, more: usize) -> String {
    let mark = found.mark();
    let mark = mark.display();
    let makes = if found.is_bare {
        format!(", which makes `{}` a git repository", found.folder.display())
    } else {
        String::new()
    };
    let moved = match aside {
        Some(aside) => format!("and was moved to `{}`", aside.display()),
        None => "and could not be moved aside: remove it".to_owned(),
    };
    let more = if more == 0 { String::new() } else { format!(", with {more} more like it") };
    format!(
        "`{mark}` was created{makes}, {moved}{more}: git starts programs that the settings of a repository name; let \
         the step remove it before it ends, or, if it must create it, list `{mark}` in `allow.write`"
    )
}
