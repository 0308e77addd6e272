//! Makes a skill of another flavour one of the standard (Silas 10.4.1).
//!
//! [`adapt()`] takes the files of a folder and gives those that are written, and a
//! [`Transformation`]: what became of each field of the front matter, which files were left out,
//! and what a person has to look at. The Markdown and the scripts stay as they are, byte for byte.
//!
//! Pure. **Invariant:** what it gives is valid for the reference validator and is loaded without a
//! warning; and nothing of it that looks like a credential is in it, by name or by content.

mod adapt;
mod files;
mod format;
mod front;
mod name;
mod rules;
#[cfg(test)]
mod tests;
mod transformation;
mod write;

pub use adapt::{Ask, NotAdapted, adapt};
pub use format::Format;
pub use transformation::{Fate, FieldFate, LeftOut, Transformation};
