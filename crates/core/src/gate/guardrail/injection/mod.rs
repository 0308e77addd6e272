//! Markers of texts that instruct a model instead of informing it.
//!
//! A text is matched as words: case, spacing, punctuation and invisible characters do not count.
//! **Invariant:** findings in base64 are reported once; nothing is decoded twice.

mod base64;
mod markers;
mod search;
mod words;

pub use markers::{InjectionMarker, MARKERS};
pub(super) use search::search;
