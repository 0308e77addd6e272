//! The content of a workspace when a run began, as far as something has it: checks see a file that somebody changes
//! beside the run as it was.
//!
//! ```text
//! start of the run   Originals::collect ──▶ bytes ──▶ in the record of the workspace
//!                      git's own moving files (index, HEAD, refs …), and files that git does not have as they are
//! a check            Originals::contents ──▶ those bytes, or the object that the index of that time names
//!                    Originals::copies   ──▶ files that a sandbox shows in place of the present ones
//! ```
//!
//! Git has the content of a file if its index had the file's size and times when the run began: that is how git itself
//! knows that a file is not changed. Others are copied, as far as they are few and small.
//!
//! A repository keeps its objects by the digests of their content, so they are as they were, whatever is added or
//! packed anew. The answers of git follow from the kept files: a `git commit` beside a run is not there for its checks.
//! Where its folders are outside of the workspace, a sandbox shows them with these files.

mod git_part;
mod index;
mod outside;
mod store;
#[cfg(test)]
mod tests;

pub use git_part::GitPart;
pub use store::{Originals, WorkspaceRepository};
