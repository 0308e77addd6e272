//! YAML as a tree in which every key and value has its location.
//!
//! One document; text keys; bounded depth and size. An alias is never followed, so a text cannot grow. What YAML
//! allows and `wf` or other strict readers refuse (anchors, tags, merge keys, duplicate keys) does not stop the
//! reading: each is passed on as a [`YamlOddity`], and the caller decides.
//!
//! **Invariant:** only this module names `granit_parser`. **Invariant:** every span lies on character boundaries of
//! the whole text.

mod error;
mod front_matter;
mod node;
mod reader;
mod scalar;
mod tree;

pub use error::{YamlError, YamlErrorKind};
pub use front_matter::{FenceError, FrontMatter};
pub use node::{YamlEntry, YamlNode, YamlNotation, YamlOddity, YamlOddityKind, YamlValue};
pub use reader::{YamlSchema, read};
