//! The worktrees of agents on hosts: what an agent did survives its host, and its versions reach the workspace.
//!
//! ```text
//! a tool call has ended   save ──▶ a version          files of the repository ──▶ with the report, packed
//! work on another host    files of the repository ──▶ restore: the worktree as it was saved
//! ```

use std::sync::Arc;

use wf_core::machine::Attempt;
use wf_exec::WorkError;

use super::replica::RunReplica;
use crate::files::worktrees::{self, REPOSITORY};

impl RunReplica {
    /// True if the work of an attempt is an agent in a worktree.
    pub fn works_in_worktree(&self, attempt: &Attempt) -> bool {
        worktrees::worktree_of(&self.run, attempt).is_some()
    }

    /// Returns the path of the references to the versions of a task, in the folder of all runs.
    pub fn worktree_references(&self, attempt: &Attempt) -> String {
        let reference = worktrees::attempt_worktree(&self.run, attempt).reference;
        let of_task = reference.rsplit_once('/').map_or(reference.as_str(), |(task, _)| task);
        format!("{}/{REPOSITORY}/{of_task}/", self.id())
    }

    /// Returns the work of making the worktree of an attempt as it was saved, unless it is there.
    pub fn restore_worktree(
        &self,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<(), WorkError>> + Send + use<> {
        let (run, attempt) = (Arc::clone(&self.run), attempt.clone());
        async move { worktrees::begin_worktree(&run, &attempt).await }
    }

    /// Returns the work of saving what an agent has left in its worktree so far.
    pub fn save_worktree(
        &self,
        attempt: &Attempt,
    ) -> impl Future<Output = Result<(), WorkError>> + Send + use<> {
        let run = Arc::clone(&self.run);
        let worktree = worktrees::worktree_of(&run, attempt).filter(|worktree| worktree.folder().exists());
        async move {
            match worktree {
                Some(worktree) => worktree.save(&worktrees::open_git(&run).await?).await,
                None => Ok(()),
            }
        }
    }

    /// Returns the work of packing all versions, so that few files have to be carried.
    pub fn pack_worktrees(&self) -> impl Future<Output = Result<(), WorkError>> + Send + use<> {
        let run = Arc::clone(&self.run);
        async move { worktrees::open_git(&run).await?.pack().await }
    }
}
