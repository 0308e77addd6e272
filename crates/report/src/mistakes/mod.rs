//! Diagnostics as text for terminals, and as JSON, SARIF and annotations for programs.
//!
//! **Invariant:** any diagnostic can be shown, wherever its spans are; the excerpt drawn of a text
//! is bounded.

mod annotate;
mod json;
mod sarif;
#[cfg(test)]
mod tests;
mod text;

pub use annotate::{annotation, annotations};
pub use json::{DIAGNOSTICS_VERSION, json};
pub use sarif::{path_from_top, sarif};
pub use text::{summary, text};
