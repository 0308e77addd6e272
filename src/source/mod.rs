//! Texts a person wrote, and places in them.
//!
//! **Invariant:** a [`Span`] lies on character boundaries of the [`Source`] it was made for.

mod file;
mod span;

pub use file::{LineColumn, Source};
pub use span::{Span, Spanned};
