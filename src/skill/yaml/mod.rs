//! The front matter of a skill as a tree of texts, lists and mappings.
//!
//! Every scalar is text, as it is for the reference validator. What YAML allows and strict readers
//! refuse is noted as [`Odd`] and does not stop the reading: each reader of skills decides itself.
//!
//! **Bounds:** `MAX_DEPTH` and `MAX_NODES`. An alias is never followed, so a text cannot grow.

mod read;
mod tabs;
mod tree;
mod value;

pub(super) use read::read;
pub(super) use value::{Broken, Document, Entry, Form, Node, Odd, OddKind, Value};
