//! Predicates: rules about a value that need nothing but the value, and for files what is known of
//! them (Silas 5.5.2). The same value always has the same answer.
//!
//! **Invariant:** what does not fit any rule is blocked.

mod file;
mod number;
mod rule;
#[cfg(test)]
mod tests;
mod text;

pub use file::{FileFact, FileFacts, NoFiles};
pub use number::clamped;
pub use rule::predicate;
