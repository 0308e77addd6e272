//! Fixed files: what checks rely on, as it was when their run began.
//!
//! The text of a check says which files it executes (`needs`, pure); they are found, and their
//! digests taken (`look`); [`Fixed`] compares what is there with what was recorded.
//!
//! **Invariant:** what a check relies on is found by the same function before and after, so the
//! two lists differ only if files do.

mod git;
mod look;
mod mark;
mod needs;
mod python;
mod record;
mod table;
#[cfg(test)]
mod tests;
mod undeclared;
mod words;

pub use look::Site;
pub(in crate::exec) use look::{Looked, Role, Said, executed};
pub(in crate::exec) use needs::tidy;
pub use record::{Fixed, Glimpse};
pub(in crate::exec) use record::{checks, family, globs, product_globs};
pub use undeclared::{Undeclared, undeclared};
