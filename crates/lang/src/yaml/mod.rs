//! The YAML of files of `wf`: [`wf_base::yaml`] by the core schema.
//!
//! No anchors, aliases, tags, merge keys or duplicate keys: every oddity is a mistake, at its location.

mod mistakes;

pub use mistakes::read;
pub use wf_base::yaml::{YamlEntry, YamlNode, YamlValue};
