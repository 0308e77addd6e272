//! YAML as a tree in which every key and value has its location.
//!
//! One document; text keys; no anchors, aliases, tags, merge keys or duplicate keys; bounded depth
//! and size. YAML 1.2 core schema, of which only `true` and `false` are booleans and only `null`,
//! `~` and nothing at all are null.
//!
//! **Invariant:** only this module and [`skill`](wf_skill) name `granit_parser`. **Invariant:** every span lies on
//! character boundaries of the whole file.

mod node;
mod reader;
mod scalar;
mod syntax;
mod tree;

pub use node::{YamlEntry, YamlNode, YamlValue};
pub use reader::{MAX_DEPTH, MAX_NODES, read};
