//! Markers of texts that want to instruct a model instead of informing it.
//!
//! A text is looked at as words: case, spacing, punctuation and characters that nobody sees do not
//! count. **Invariant:** what is found in base64 is found once; nothing is decoded twice.

mod base64;
mod markers;
mod search;
mod words;

pub use markers::{MARKERS, Marker};
pub(super) use search::search;
