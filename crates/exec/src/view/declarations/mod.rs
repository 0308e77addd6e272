//! The declarations of a plan about files: those its steps make, those its checks name, and undeclared ones.
//!
//! ```text
//! plan ──▶ named: the paths in the text of a check;  declared: the products of steps, without data and caches
//!      ──▶ writers: the files that steps could have written ──▶ undeclared, advice, harness: what a person should know
//! workspace ──▶ ignored: what git ignores of it;  tree: the files that an approval covers
//! ```
//!
//! It takes no view, and knows none: the view of a check, approvals and `wf check` ask it.
//! **Invariant:** a declaration is read in one way, whoever asks.
//!
//! Start at `declared`, then `named` and `writers`.

pub(super) mod advice;
pub(super) mod caches;
pub(super) mod data;
pub(super) mod declared;
pub(super) mod harness;
pub(super) mod ignored;
pub(super) mod named;
pub(super) mod tree;
pub(super) mod writers;
