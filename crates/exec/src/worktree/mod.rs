//! Worktrees: copies of the workspace where agents work beside each other, and the merge of what they did.
//!
//! Versions are git commits in a repository of the run, under `refs/wf/STEP/ATTEMPT/…`. In the repository of the
//! workspace nothing is written. A snapshot has every file that git tracks or does not ignore, also
//! what is not committed.
//!
//! ```text
//! begin    workspace ──▶ base ──▶ a folder that the sandbox shows in place of the workspace
//! end      the folder ──▶ result
//! prepare  workspace ──▶ before;  before + (base ──▶ result) ──▶ after, or files with conflicts
//! apply    before ──▶ after, one file after the other, each replaced as a whole
//! ```
//!
//! **Invariant:** a file of the workspace is replaced only if it is as in `before`; so an interrupted merge is made
//! again, and a person's changes meanwhile stay. **Invariant:** git runs no hook, filter or other program that files of
//! the worktree name: an agent wrote them.

mod apply;
mod change;
mod folder;
mod git;
mod merge;
mod tracked;
mod tree;

pub use git::WorktreeGit;
pub use merge::{ComputedMerge, WorktreeChanges};
pub use tree::AttemptWorktree;
