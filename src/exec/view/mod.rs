//! The view of a check: the workspace as it was when the run began, and what is declared as made by it.
//!
//! ```text
//! start of the run    View::take ── record ──▶ beside the run's logs
//! before a check      View::look ──▶ Err: something was changed that nothing declares
//!                                ──▶ Sight: what nothing declares and is new, to be hidden
//! after the check     View::recheck ──▶ Err: something was changed meanwhile
//! ```
//!
//! Declared are the `artifacts`, `cache.outputs`, `writes` and `allow.write` of the steps of the run's plan
//! and of all plans that it uses; of what is new also what the check itself names. Never declared for a check is
//! what it lists in `fixed`. The same holds for the programs of gates and for planners.
//!
//! Without a sandbox nothing can be hidden: then only what a check names, or lists in `fixed`, must be as it was.
//!
//! **Invariant:** a check in a sandbox that passed has read, of the workspace, nothing but what was there when the
//! run began, as it was, and what is declared.

mod declared;
mod looking;
mod named;
#[cfg(test)]
mod tests;
mod tree;
mod undeclared;
#[expect(
    clippy::module_inception,
    reason = "the module is named after what it holds"
)]
mod view;

pub(in crate::exec) use declared::{checks, product_globs};
pub use declared::{exactly, family, products};
pub use looking::Looking;
pub(in crate::exec) use named::{in_text as named_in, paths as named};
pub use tree::tree;
pub use undeclared::{Undeclared, undeclared};
pub(in crate::exec) use view::listed;
pub use view::{Sight, View};
