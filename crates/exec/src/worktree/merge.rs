//! The merge of a worktree's version: computed by git, without a change of the workspace.

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use wf_core::machine::MergePlan;

use super::{
    change::FileChange,
    git::WorktreeGit,
    tree::{self, AttemptWorktree},
};
use crate::work_error::WorkError;

/// A computed merge; no file of the workspace was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComputedMerge {
    /// The attempt changed nothing.
    Unchanged,
    /// The merge, and the files with conflicts.
    Changed {
        plan: MergePlan,
        /// The files with conflicts: empty if there are none.
        conflicts: Vec<String>,
    },
}

/// The changes of an attempt in its worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeChanges {
    /// The files it began with.
    pub start: BTreeSet<PathBuf>,
    /// The files among them that it changed or removed.
    pub changed: Vec<PathBuf>,
}

impl WorktreeGit {
    /// Returns what an attempt has changed in its worktree so far.
    pub async fn changes_in(&self, worktree: &AttemptWorktree) -> Result<WorktreeChanges, WorkError> {
        worktree.save(self).await?;
        let base = self.commit_of(&worktree.commit_name("base")).await?;
        let result = self.commit_of(&worktree.commit_name("result")).await?;
        let listed = self.answer(&["ls-tree", "-r", "-z", "--name-only", &base], None).await?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let start = paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
        let changes = self.changes(&base, &result).await?.into_iter();
        let changed = changes.filter(|change| change.before.is_some()).map(|change| change.path.into());
        Ok(WorktreeChanges { start, changed: changed.collect() })
    }

    /// Computes the merge of what an attempt left into the workspace as it is now.
    pub async fn prepare(&self, worktree: &AttemptWorktree) -> Result<ComputedMerge, WorkError> {
        let base = self.commit_of(&worktree.commit_name("base")).await?;
        let result = self.commit_of(&worktree.commit_name("result")).await?;
        let changes = self.changes(&base, &result).await?;
        if changes.is_empty() {
            return Ok(ComputedMerge::Unchanged);
        }
        let now = tree::snapshot_workspace(self, &worktree.home).await?;
        let before = self.keep(&now, None, &worktree.commit_name("before")).await?;
        let (tree, conflicts) = self.merge_trees(&base, &before, &result).await?;
        let after = self.keep(&tree, Some(&before), &worktree.commit_name("after")).await?;
        let files = changes.into_iter().map(|change| change.path).collect();
        let plan = MergePlan { base, result, before, after, repository: self.shown_path(), files };
        Ok(ComputedMerge::Changed { plan, conflicts })
    }

    /// Returns the changes between two commits as a text.
    pub async fn diff(&self, from: &str, to: &str) -> Result<String, WorkError> {
        let args = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", from, to];
        Ok(String::from_utf8_lossy(&self.answer(&args, None).await?).into_owned())
    }

    /// Returns the files differing between two commits.
    pub(super) async fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, WorkError> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", from, to];
        FileChange::parse(&self.answer(&args, None).await?)
    }

    /// Merges two commits; returns the tree, and the files with conflicts, which have markers in it.
    async fn merge_trees(
        &self,
        base: &str,
        ours: &str,
        theirs: &str,
    ) -> Result<(String, Vec<String>), WorkError> {
        let merge_base = format!("--merge-base={base}");
        let args =
            ["merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", &merge_base, ours, theirs];
        let answer = self.run_git(&args, None, None).await?;
        let text = String::from_utf8_lossy(&answer.out).into_owned();
        if !matches!(answer.code, 0 | 1) || answer.code == 1 && !text.contains('\0') {
            let reason = text.lines().next().unwrap_or_default().to_owned();
            return Err(WorkError::environmental(format!("git merge-tree failed: {reason}")));
        }
        let mut fields = text.split('\0').filter(|field| !field.is_empty()).map(str::to_owned);
        let tree = fields.next().unwrap_or_default();
        let mut conflicts: Vec<String> = if answer.code == 1 { fields.collect() } else { Vec::new() };
        conflicts.dedup();
        Ok((tree, conflicts))
    }
}
