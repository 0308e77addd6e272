//! The view of a check: the workspace as it was when the run began, plus its declared products.
//!
//! ```text
//! start of the run    WorkspaceView::take, with_originals ── record ──▶ beside the run's logs
//! before a check      inspect ──▶ Err: a step changed a file undeclared
//!                             ──▶ WorkspaceSnapshot: new undeclared files, to be hidden,
//!                                 and files that changed beside the run, to be shown as they were
//! after the check     recheck ──▶ Err: a change meanwhile; the check is made again
//! ```
//!
//! Declared are the `artifacts`, `cache.outputs`, `writes` and `allow.write` of the steps of the
//! run's plan and of all plans that it uses, and new files that the check itself names, but never
//! files that it lists in `fixed`. The same applies to the programs of gates and to planners.
//!
//! Without a sandbox nothing is hidden: only files that a check names or lists in `fixed` must be unchanged.
//!
//! **Invariant:** a sandboxed check that passed has read nothing of the workspace except unchanged
//! files from the start of the run, and declared ones.

mod advice;
mod caches;
mod data;
mod declared;
mod git_check;
mod harness;
mod ignored;
mod inspection;
mod kept_files;
mod named;
mod record;
mod remedy;
mod rules;
#[cfg(test)]
mod tests;
mod tree;
mod undeclared;
#[expect(clippy::module_inception, reason = "the module is named after what it holds")]
mod view;
mod viewed_check;
mod worktree_view;
mod writers;

pub use advice::{ProductAdvice, product_advice};
pub use data::{DataFiles, is_program};
pub(crate) use declared::{checks, product_globs};
pub use declared::{declared_by, exactly, family, is_everything, products};
pub use kept_files::{KeptFiles, files_to_keep};
pub(crate) use named::{in_text as named_in, paths as named};
pub(crate) use remedy::first_paths;
pub use remedy::paste_line;
pub use tree::tree;
pub use undeclared::{UndeclaredFile, undeclared_files};
pub use view::{WorkspaceSnapshot, WorkspaceView};
pub use viewed_check::ViewedCheck;
pub use worktree_view::ViewedWorktree;
