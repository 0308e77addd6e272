//! Predicates: rules about a value needing nothing but the value, and for files their metadata (Silas 5.5.2).
//! The same value always has the same answer.
//!
//! **Invariant:** a value fitting no rule is blocked.

mod file;
mod number;
mod rule;
#[cfg(test)]
mod tests;
mod text;

pub use file::{FileInspector, FileStatus, NoFileAccess};
pub use number::clamped;
pub use rule::judge_predicate;
