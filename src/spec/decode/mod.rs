//! From the spanned tree to typed declarations, collecting every mistake on the way.
//!
//! `record!` makes, from one declaration of a mapping's keys, the type, its [`Decode`] and its
//! JSON Schema, so that the three cannot drift apart. `words!` does the same for a choice of words.

mod argument;
mod basic;
mod contract;
mod decoder;
mod entries;
mod fields;
mod mistakes;
mod names;
mod period;
mod record;
mod size;
mod text;
mod words;

pub use argument::Argument;
pub use basic::OneOrMany;
pub use decoder::{Decode, Decoder};
pub use entries::{Entries, Key};
pub use fields::{Fields, Foreign, Shape};
pub use mistakes::{MAX_MISTAKES, Mistakes};
pub use period::Period;
pub use record::RecordSchema;
pub use size::Size;
pub use text::{Glob, JsonPath, OwnPath, Pattern, ReadPath, RelPath};
pub use words::word;

pub(crate) use contract::contract;

pub(crate) use record::{finished, record};
pub(crate) use words::words;
