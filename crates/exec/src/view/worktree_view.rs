//! The view of a check in a worktree: the files the worktree began with, plus declared products.

use std::path::{Path, PathBuf};

use wf_model::Check;

use super::{WorkspaceSnapshot, WorkspaceView, remedy, rules::CheckRules};
use crate::{
    manifest::{DifferenceRules as _, ExcludedFiles, ManifestDifference, WorkspaceManifest},
    work_error::WorkError,
    worktree::WorktreeChanges,
};

/// The worktree a check sees in place of the workspace.
#[derive(Clone, Debug)]
pub struct ViewedWorktree {
    pub folder: PathBuf,
    /// The changes of its attempt.
    pub changes: WorktreeChanges,
}

impl ViewedWorktree {
    /// Adds to a look at the workspace what a check sees of it. Fails on undeclared changes.
    pub(super) fn inspect(
        &self,
        view: &WorkspaceView,
        check: &Check,
        products: &[String],
        outer_snapshot: WorkspaceSnapshot,
    ) -> Result<WorkspaceSnapshot, WorkError> {
        let rules = CheckRules::new(view, check, products);
        let now = manifest(&self.folder)?;
        let mut before = now.clone();
        // The place of the repository, which the sandbox shows there.
        before.retain(&|path| self.changes.start.contains(path) || path.starts_with(".git"));
        let difference = ManifestDifference::between(&before, &now, &rules);
        let (mut permitted, mut caches) = (difference.permitted, Vec::new());
        let mut refused = Vec::new();
        for path in &self.changes.changed {
            if rules.may_change(path) {
                permitted.push(path.clone());
            } else if rules.is_cache(path) {
                caches.extend(now.has_file(path).then(|| path.clone()));
            } else {
                refused.push(path.clone());
            }
        }
        if !refused.is_empty() {
            return Err(WorkError::logical(remedy::undeclared("changed", &refused, &view.writers)));
        }
        permitted.sort();
        let mut sight = view.sight(outer_snapshot.manifest, &rules, permitted)?;
        sight.hidden = outer_snapshot.hidden.into_iter().chain(difference.new).collect();
        sight.caches = outer_snapshot.caches.into_iter().chain(caches).collect();
        sight.git_folders = outer_snapshot.git_folders;
        sight.worktree = Some(now);
        Ok(sight)
    }

    /// Inspects it again after a check. Fails if a file it may have read was changed or created.
    pub(super) fn recheck(
        &self,
        view: &WorkspaceView,
        before: &WorkspaceSnapshot,
        check: &Check,
        products: &[String],
    ) -> Result<(), WorkError> {
        let Some(then) = &before.worktree else {
            return Ok(());
        };
        let hidden: Vec<PathBuf> = before.hidden.iter().chain(&before.caches).cloned().collect();
        let rules = CheckRules::new(view, check, products).meanwhile(&hidden);
        let difference = ManifestDifference::between(then, &manifest(&self.folder)?, &rules);
        let paths: Vec<PathBuf> = difference.changed.into_iter().chain(difference.new).collect();
        if paths.is_empty() {
            return Ok(());
        }
        Err(WorkError::environmental(remedy::undeclared(
            "changed while it was checked",
            &paths,
            &view.writers,
        )))
    }
}

fn manifest(folder: &Path) -> Result<WorkspaceManifest, WorkError> {
    WorkspaceManifest::of_workspace(folder, &ExcludedFiles::default())
}
