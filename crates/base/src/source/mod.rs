//! Texts written by a user, and locations in them.
//!
//! **Invariant:** a [`Span`] lies on character boundaries of the [`SourceText`] it was made for.

mod file;
mod sites;
mod span;

pub use file::{LineColumn, SourceText};
pub use sites::{DeclarationSite, DeclarationSites};
pub use span::{Span, Spanned};
