//! Mistakes in a text, as data. The command line renders them (`cli::render`).
//!
//! **Invariant:** all mistakes of a text are collected; the first never hides the others.

mod checked;
mod code;
mod diagnostic;
mod suggest;

pub use checked::CheckedFile;
pub use code::Code;
pub use diagnostic::{Diagnostic, DiagnosticLabel, Severity};
pub use suggest::nearest;
