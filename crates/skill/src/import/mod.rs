//! Converts a skill of another flavour to the standard (Silas 10.4.1).
//!
//! [`adapt()`] takes the files of a folder and returns the files to write, and a
//! [`SkillConversion`]: the fate of each field of the front matter, the files left out, and the
//! points for the user to review. The Markdown and the scripts stay as they are, byte for byte.
//!
//! Pure. **Invariant:** the result is valid for the reference validator and loads without a
//! warning; and it contains nothing that looks like a credential, by name or by content.

mod adapt;
mod files;
mod format;
mod front;
mod rules;
#[cfg(test)]
mod tests;
mod transformation;
mod write;

pub use adapt::{ConversionOptions, SkillConversionError, adapt};
pub use format::SkillFormat;
pub use transformation::{ConvertedField, FieldOutcome, OmittedFile, SkillConversion};
