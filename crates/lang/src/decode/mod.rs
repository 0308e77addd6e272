//! The conversion of the spanned tree to typed declarations, collecting every mistake on the way.
//!
//! `record!` makes, from one declaration of a mapping's keys, the type, its [`DecodeSpec`] and its JSON
//! Schema, so that the three cannot diverge. `words!` does the same for a choice of words.

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

pub use argument::ArgumentTemplate;
pub use basic::OneOrMany;
pub use decoder::{DecodeSpec, SpecDecoder};
pub use entries::{EntryKey, OrderedEntries};
pub use fields::{ForeignToolKey, MappingFields, MappingShape};
pub use mistakes::{DiagnosticList, MAX_MISTAKES};
pub use period::DurationText;
pub use record::RecordSchema;
pub use size::ByteSize;
pub use text::{
    FetchHostText, JsonPathText, PathGlob, ReadablePath, RegexPattern, WorkspacePath, WritablePath,
};
pub use words::{one_of, word};

pub(crate) use contract::contract;

pub use record::{finished, key_of, record};
pub use words::words;
