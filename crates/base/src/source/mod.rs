//! Texts written by a user, and locations in them.
//!
//! **Invariant:** a [`Span`] lies on character boundaries of the [`SourceText`] it was made for.

mod file;
mod span;

pub use file::{LineColumn, SourceText};
pub use span::{Span, Spanned};
