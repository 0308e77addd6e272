//! The files of results: the files left by tasks, their state when checked, and their state now.
//!
//! ```text
//! a run begins     the workspace as it is ──▶ a view for its checks
//! work ended       artifacts ──▶ the store, and copies in the folder of the run;  a worktree ──▶ a version, a merge
//! checked          evidence: the digests that were checked, and their changes since
//! another run      recorded results ──▶ compared with what is there now, and reused or made again
//! ```
//!
//! **Invariant:** a file counts for a result as long as it has the digest that was checked.
//!
//! Start at `view`, then `copies` and `reliance`; `recorded_results` and `kept` serve later runs.

pub(crate) mod copies;
pub(crate) mod kept;
pub(crate) mod recorded_results;
pub(crate) mod reliance;
pub(crate) mod view;
pub(crate) mod worktrees;
