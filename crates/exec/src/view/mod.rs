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
//! Declared are the `artifacts`, `cache.outputs`, `writes` and `allow.write` of the steps of the run's plan and of all
//! plans it uses, and new files the check itself names, but never files it lists in `fixed`. The same applies to the
//! programs of gates and to planners.
//!
//! Without a sandbox nothing is hidden: only files a check names or lists in `fixed` must be unchanged.
//!
//! **Invariant:** a sandboxed check that passed has read nothing of the workspace except unchanged
//! files from the start of the run, and declared ones.
//!
//! Start at `view`, then `inspection` and `rules`. The declarations of a plan about files are the room `declarations`,
//! without knowledge of views.

mod declarations;
mod inspection;
mod kept_files;
mod remedy;
mod rules;
#[cfg(test)]
mod tests;
#[expect(clippy::module_inception, reason = "the module is named after what it holds")]
mod view;
mod viewed_check;
mod worktree_view;

pub use declarations::{
    advice::{ProductAdvice, product_advice},
    data::{DataFiles, is_program},
    declared::{declared_by, exactly, family, is_everything, products},
    tree::tree,
    writers::{UndeclaredFile, undeclared_files},
};
pub(crate) use declarations::{
    declared::{checks, product_globs},
    named::{in_text as named_in, paths as named},
};
pub use kept_files::{KeptFiles, files_to_keep};
pub(crate) use remedy::first_paths;
pub use remedy::paste_line;
pub use view::{WorkspaceSnapshot, WorkspaceView};
pub use viewed_check::{CheckPatience, ViewedCheck};
pub use worktree_view::ViewedWorktree;
