//! What is wrong with a text, as data. Rendering is the face's business (`cli::render`).
//!
//! **Invariant:** all mistakes of a text are collected; the first never hides the second.

mod code;
mod diagnostic;
mod suggest;

pub use code::Code;
pub use diagnostic::{Diagnostic, Label, Severity};
pub use suggest::nearest;
