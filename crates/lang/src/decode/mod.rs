//! The conversion of the spanned tree to typed declarations, collecting every mistake on the way.
//!
//! `record!` makes, from one declaration of a mapping's keys, the type, its [`DecodeSpec`] and its JSON
//! Schema, so the three cannot diverge. `words!` does the same for a choice of words. A declaration with the parts of its
//! model [lowers](LowerSpec) to it without code of its own.

mod basic;
mod contract;
mod decoder;
mod entries;
mod fields;
mod mistakes;
mod model;
mod names;
mod record;
mod text;
mod values;
mod words;

pub use basic::OneOrMany;
pub use decoder::{DecodeSpec, SpecDecoder};
pub use entries::{EntryKey, OrderedEntries};
pub use fields::{ForeignToolKey, MappingFields, MappingShape};
pub use mistakes::{DiagnosticList, MAX_MISTAKES};
pub use model::{CompleteSpec, LowerSpec};
pub use record::RecordSchema;
pub use text::{
    FetchHostText, JsonPathText, PathGlob, ReadablePath, RegexPattern, TextFormError, WorkspacePath,
    WritablePath,
};
pub use values::{ArgumentTemplate, ByteSize, DurationText};
pub use words::{one_of, word};

pub(crate) use contract::contract;

pub use model::lowers;
pub use record::{finished, key_of, record};
pub use words::words;
